//! A connection to the server, with or without TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustls::ClientConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// A connection to the server.
pub(super) enum Stream {
    Plain(TcpStream),
    Unix(UnixStream),
    /// Boxed, so that users without TLS don't carry the memory for it.
    Tls(Box<TlsStream<TcpStream>>),
    /// With the TLS of a proxy alone.
    ToProxy(Box<TlsStream<TcpStream>>),
    /// Within the TLS of a proxy.
    InTls(Box<TlsStream<TlsStream<TcpStream>>>),
}

impl Stream {
    /// Whether the server has chosen HTTP/1.1 in the TLS handshake, although it was offered HTTP/2.
    /// A server that chooses nothing does not know HTTP/2 (RFC 9113, section 3.2).
    pub(super) fn refuses_http2(&self) -> bool {
        self.tls().is_some_and(|tls| tls.alpn_protocol() != Some(b"h2"))
    }

    /// The TLS with the server; `None` without TLS.
    pub(super) fn tls(&self) -> Option<&ClientConnection> {
        match self {
            Self::Plain(_) | Self::Unix(_) | Self::ToProxy(_) => None,
            Self::Tls(stream) => Some(stream.get_ref().1),
            Self::InTls(stream) => Some(stream.get_ref().1),
        }
    }

    /// Whether nothing has arrived on an idle connection, neither its end nor unsolicited bytes.
    /// Makes a system call only if something has arrived. Reads messages that TLS itself sends, such
    /// as tickets for the next session.
    pub(super) fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(stream) => has_nothing(&stream.try_read(&mut [0])),
            Self::Unix(stream) => has_nothing(&stream.try_read(&mut [0])),
            Self::Tls(stream) | Self::ToProxy(stream) => is_quiet(stream),
            Self::InTls(stream) => is_quiet(stream),
        }
    }
}

/// Whether this is the result of reading where nothing has arrived.
fn has_nothing(read: &io::Result<usize>) -> bool {
    read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Like [`Stream::is_quiet`], for a stream with TLS.
fn is_quiet(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let mut byte = [0];
    Pin::new(stream).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) | Self::ToProxy(stream) => {
                Pin::new(stream).poll_read(context, buffer)
            }
            Self::InTls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) | Self::ToProxy(stream) => {
                Pin::new(stream).poll_write(context, bytes)
            }
            Self::InTls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) | Self::ToProxy(stream) => {
                Pin::new(stream).poll_write_vectored(context, slices)
            }
            Self::InTls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Sends what TLS has encrypted and the system did not take yet. Without TLS, nothing waits.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) | Self::ToProxy(stream) => Pin::new(stream).poll_flush(context),
            Self::InTls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) | Self::ToProxy(stream) => Pin::new(stream).poll_shutdown(context),
            Self::InTls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
