package loadgen

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import dev.profunktor.redis4cats.{Redis, RedisCommands}
import dev.profunktor.redis4cats.connection.RedisClient
import dev.profunktor.redis4cats.data.RedisCodec
import dev.profunktor.redis4cats.effect.Log.NoOp.given
import io.lettuce.core.ClientOptions
import java.net.URI
import java.util.UUID
import org.typelevel.keypool.{KeyPool, Reusable}
import org.typelevel.otel4s.metrics.Meter.Implicits.noop
import org.typelevel.otel4s.trace.Tracer.Implicits.noop
import scala.concurrent.duration.*
import skunk.{Codec, Command, Session}
import skunk.codec.all.*
import skunk.data.{Arr, Completion, Type}
import skunk.implicits.*

type RedisPool = KeyPool[IO, Unit, RedisCommands[IO, String, String]]
type PostgresPool = Resource[IO, Session[IO]]

/** A pool of connections to each configured backend. The pools connect when they are first used, and serve callers in
  * the order of their calls.
  */
final class Backends(redis: Option[RedisPool], postgres: Option[PostgresPool]):
  import Backends.*

  /** Returns whether each configured backend responds. */
  def healthy: IO[Boolean] =
    (redis.traverse_(_.call(_.ping)) >> postgres.traverse_(_.use(_.unique(sql"SELECT 1".query(int4)))))
      .as(true)
      // Does not wait for the end of the canceled check: skunk resets the session first, which a backend can delay.
      .timeoutAndForget(healthTimeout)
      .handleError(_ => false)

  /** Reads the three keys one after another, in three round trips on one connection. */
  def readValues: IO[List[Option[String]]] =
    configured(redis, "REDIS_URL").flatMap(_.call(commands => redisKeys.traverse(commands.get)))

  /** Stores the items in one statement, which is a separate transaction, and returns the number of stored items. */
  def insert(items: List[Item]): IO[Int] =
    val columns = (array(items)(_.sku), array(items)(_.name), array(items)(_.quantity), array(items)(_.priceCents))
    configured(postgres, "DATABASE_URL").flatMap(_.use(_.execute(insertItems)(columns))).flatMap:
      case Completion.Insert(number) => IO.pure(number)
      case other                     => IO.raiseError(RuntimeException(s"PostgreSQL completed $other"))

object Backends:
  private val healthTimeout = 2.seconds
  private val idleTimeout = 5.minutes
  private val redisKeys = List("loadgen:1", "loadgen:2", "loadgen:3")

  // skunk lacks the array of this type.
  private val _uuid = Codec.array[UUID](_.toString, text => Right(UUID.fromString(text)), Type._uuid)

  private val insertItems: Command[(Arr[UUID], Arr[String], Arr[Int], Arr[Int])] = sql"""
    INSERT INTO items (sku, name, quantity, price_cents)
    SELECT * FROM unnest(${_uuid}, ${_text}, ${_int4}, ${_int4})
  """.command

  def open(poolSize: Int): Resource[IO, Backends] =
    // An empty variable counts as unset: compose.yaml can't leave out a variable.
    def url(variable: String) = sys.env.get(variable).filter(_.nonEmpty)
    for
      redis <- url("REDIS_URL").traverse(openRedis(_, poolSize))
      postgres <- url("DATABASE_URL").traverse(openPostgres(_, poolSize))
    yield Backends(redis, postgres)

  private def openRedis(url: String, poolSize: Int): Resource[IO, RedisPool] =
    // By default, lettuce tries again until Redis is up, and requests wait as long.
    val options = ClientOptions.builder.autoReconnect(false).build
    RedisClient[IO]
      .withOptions(url, options)
      .flatMap(Redis[IO].customPooled(_, RedisCodec.Utf8, Redis.Pool.Settings(poolSize, poolSize, idleTimeout)))

  private def openPostgres(url: String, poolSize: Int): Resource[IO, PostgresPool] =
    val uri = URI(url)
    val (user, password) = uri.getUserInfo.split(":", 2) match
      case Array(user, password) => (user, password)
      case Array(user)           => (user, "")
    Session
      .Builder[IO]
      .withHost(uri.getHost)
      .withPort(if uri.getPort < 0 then 5432 else uri.getPort)
      .withUserAndPassword(user, password)
      .withDatabase(uri.getPath.stripPrefix("/"))
      .pooled(poolSize)

  extension (pool: RedisPool)
    /** Calls a function with a pooled connection, which the pool closes if the function fails. */
    private def call[A](function: RedisCommands[IO, String, String] => IO[A]): IO[A] =
      pool.take(()).use: managed =>
        function(managed.value).onError(_ => managed.canBeReused.set(Reusable.DontReuse))

  private def array[A](items: List[Item])(column: Item => A): Arr[A] = Arr.fromFoldable(items.map(column))

  private def configured[A](backend: Option[A], variable: String): IO[A] =
    IO.fromOption(backend)(RuntimeException(s"$variable is not set"))
