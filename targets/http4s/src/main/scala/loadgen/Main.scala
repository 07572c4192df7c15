package loadgen

import cats.effect.{ExitCode, IO, IOApp, Resource}
import cats.effect.metrics.CpuStarvationWarningMetrics
import com.comcast.ip4s.{Host, Port}
import fs2.io.net.SocketsWithBacklog
import org.http4s.ember.server.EmberServerBuilder
import scala.concurrent.duration.*

/** Implements the contract with http4s and its server Ember. */
object Main extends IOApp:
  private val backlog = 2048
  // Ember's default is 1,024.
  private val maxConnections = 16_384

  /** Runs the server until SIGTERM, and then gives open requests one second. */
  def run(arguments: List[String]): IO[ExitCode] =
    val options = parse(arguments)
    server(options).useForever.as(ExitCode.Success)

  private def server(options: Map[String, String]) =
    for
      backends <- Backends.open(options("pool-size").toInt * options("workers").toInt)
      sockets <- Resource.eval(SocketsWithBacklog(backlog))
      server <- EmberServerBuilder
        .default[IO]
        .withHostOption(Host.fromString(options("host")))
        .withPort(Port.fromString(options("port")).get)
        .withSocketGroup(sockets)
        .withMaxConnections(maxConnections)
        .withIdleTimeout(75.seconds)
        .withShutdownTimeout(1.second)
        .withHttpApp(routes(backends))
        .build
    yield server

  private def parse(arguments: List[String]): Map[String, String] =
    val defaults = Map("host" -> "127.0.0.1", "port" -> "8000", "workers" -> "1", "pool-size" -> "10")
    arguments.flatMap(_.split("=", 2)).grouped(2).foldLeft(defaults):
      case (options, List(s"--$name", value)) if options.contains(name) => options.updated(name, value)
      case (_, words) => sys.error(s"${words.mkString(" ")} is not an option with its value")

  // As many threads as processors, which -XX:ActiveProcessorCount sets. The default is at least two.
  override protected def computeWorkerThreadCount: Int = Runtime.getRuntime.availableProcessors

  // Under load, the default writes warnings to the log.
  override protected def onCpuStarvationWarn(metrics: CpuStarvationWarningMetrics): IO[Unit] = IO.unit

  // skunk reports lost connections here. The request that meets the lost connection fails, too.
  override protected def reportFailure(error: Throwable): IO[Unit] = IO.unit
