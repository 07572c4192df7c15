package loadgen

import cats.effect.IO
import io.circe.Json
import io.circe.syntax.*
import org.http4s.*
import org.http4s.circe.*
import org.http4s.dsl.io.*
import org.http4s.headers.Allow

def routes(backends: Backends): HttpApp[IO] = HttpRoutes
  .of[IO]:
    case GET -> Root =>
      Ok(Json.obj("message" -> "Hello world".asJson))

    case GET -> Root / "health" =>
      backends.healthy.flatMap:
        case true  => Ok(Json.obj("status" -> "ok".asJson))
        case false => ServiceUnavailable(Json.obj("status" -> "unavailable".asJson))

    case GET -> Root / "redis3" =>
      backends.readValues.flatMap(values => Ok(Json.obj("values" -> values.asJson)))

    case request @ POST -> Root / "items" =>
      request.as[Array[Byte]].map(Item.parse).flatMap:
        case Left(error)  => BadRequest(Json.obj("error" -> error.getMessage.asJson))
        case Right(items) => backends.insert(items).flatMap(number => Created(Json.obj("inserted" -> number.asJson)))

    case _ -> Root | _ -> Root / ("health" | "redis3") => MethodNotAllowed(Allow(GET))
    case _ -> Root / "items"                           => MethodNotAllowed(Allow(POST))
  .orNotFound
