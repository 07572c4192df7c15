package fs2.io.net

import cats.effect.{IO, Poll, Resource, Selector}
import com.comcast.ip4s.{Host, IpAddress, Port, SocketAddress}
import fs2.Stream
import java.net.InetSocketAddress
import java.nio.channels.{SelectionKey, ServerSocketChannel, SocketChannel}

/** Opens a server's port with a chosen backlog. fs2 has no option for the backlog, and Java's default of 50 connections
  * is soon full when many users connect at once. The class is in fs2's package, to which fs2's sockets are private.
  */
final class SocketsWithBacklog private (selector: Selector, backlog: Int) extends SocketGroup[IO]:
  def client(to: SocketAddress[Host], options: List[SocketOption]): Resource[IO, Socket[IO]] =
    Network[IO].connect(to, options)

  def server(address: Option[Host], port: Option[Port], options: List[SocketOption]): Stream[IO, Socket[IO]] =
    Stream.resource(serverResource(address, port, options)).flatMap(_._2)

  def serverResource(
      address: Option[Host],
      port: Option[Port],
      options: List[SocketOption],
  ): Resource[IO, (SocketAddress[IpAddress], Stream[IO, Socket[IO]])] =
    val open = IO.blocking:
      val channel = selector.provider.openServerSocketChannel()
      channel.configureBlocking(false)
      channel.bind(InetSocketAddress(address.fold("0.0.0.0")(_.toString), port.fold(0)(_.value)), backlog)
    Resource
      .fromAutoCloseable(open)
      .map: channel =>
        (ip(channel.getLocalAddress), accept(channel, options))

  private def accept(listener: ServerSocketChannel, options: List[SocketOption]): Stream[IO, Socket[IO]] =
    Stream
      .bracketFull[IO, SocketChannel](poll => next(listener, poll))((channel, _) => IO(channel.close()))
      .repeat
      .evalMap: channel =>
        channel.configureBlocking(false)
        options.foreach(option => channel.setOption(option.key, option.value))
        SelectingSocket[IO](selector, channel, ip(channel.getLocalAddress), ip(channel.getRemoteAddress))

  private def next(listener: ServerSocketChannel, poll: Poll[IO]): IO[SocketChannel] =
    IO(Option(listener.accept())).flatMap:
      case Some(channel) => IO.pure(channel)
      case None          =>
        // Closes the port when the server begins to stop. fs2 itself closes the port after the last connection.
        val connection = selector.select(listener, SelectionKey.OP_ACCEPT).onCancel(IO(listener.close()))
        poll(connection) >> next(listener, poll)

  private def ip(address: java.net.SocketAddress): SocketAddress[IpAddress] =
    SocketAddress.fromInetSocketAddress(address.asInstanceOf[InetSocketAddress])

object SocketsWithBacklog:
  def apply(backlog: Int): IO[SocketsWithBacklog] =
    IO.pollers.map(_.collectFirst { case selector: Selector => new SocketsWithBacklog(selector, backlog) }.get)
