package loadgen

import io.circe.{Decoder, Error, jawn}
import io.circe.derivation.{Configuration, ConfiguredDecoder}
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}
import java.util.UUID

/** One row of the table `items`, as a client sends the row. */
final case class Item(sku: UUID, name: String, quantity: Int, priceCents: Int)

object Item:
  // PostgreSQL's int has 32 bits. circe's own decoder also accepts numbers in strings.
  private given Decoder[Int] = Decoder[io.circe.Json].emap: json =>
    json.asNumber.flatMap(_.toInt).filter(_ >= 0).toRight("a number from 0 to 2147483647 is expected")

  // PostgreSQL's text holds no NUL character. JSON can have a surrogate without its other half, Unicode cannot.
  private given Decoder[String] = Decoder.decodeString.ensure(
    text => text.indexOf('\u0000') < 0 && StandardCharsets.UTF_8.newEncoder.canEncode(text),
    "a text has a character that PostgreSQL cannot store",
  )

  // UUID.fromString also accepts groups of other lengths.
  private given Decoder[UUID] = Decoder.decodeString.emapTry: text =>
    scala.util.Try(UUID.fromString(text)).filter(_.toString.equalsIgnoreCase(text))

  private given Configuration = Configuration.default.withSnakeCaseMemberNames.withStrictDecoding

  private given Decoder[Item] = ConfiguredDecoder.derived

  /** Parses a JSON array. The decoder of http4s would replace invalid UTF-8. */
  def parse(body: Array[Byte]): Either[Error | CharacterCodingException, List[Item]] =
    try jawn.decode[List[Item]](StandardCharsets.UTF_8.newDecoder.decode(ByteBuffer.wrap(body)).toString)
    catch case error: CharacterCodingException => Left(error)
