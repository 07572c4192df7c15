//! A listener that holds a bounded number of connections, so that viewers cannot take the files that the
//! load needs, each of which must send its request soon.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Longest time from the beginning of a connection to the beginning of the response, or to its end: see [`Time`].
const LONGEST: Duration = Duration::from_secs(5);

/// A listener of which further connections wait until others end.
#[derive(Debug)]
pub(in crate::report) struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
    time: Time,
}

/// Time that a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Time {
    /// The response must begin in time, and may take as long as it likes.
    UntilResponse,
    /// The response must end in time.
    InAll,
}

/// A connection, which makes room for another when it is dropped.
#[derive(Debug)]
pub(in crate::report) struct Connection {
    stream: TcpStream,
    /// End of the connection's time; `None` if it has as much as it likes.
    deadline: Option<Pin<Box<Sleep>>>,
    time: Time,
    _room: OwnedSemaphorePermit,
}

impl Bounded {
    pub(in crate::report) fn new(listener: TcpListener, most: u16, time: Time) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(most.into())), time }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let room = loop {
            // Never closed.
            if let Ok(room) = Arc::clone(&self.room).acquire_owned().await {
                break room;
            }
        };
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let deadline = Some(Box::pin(sleep(LONGEST)));
        (Connection { stream, deadline, time: self.time, _room: room }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connection {
    /// Returns an error if the time is over, and else arranges that the task wakes up then.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let deadline = self.deadline.as_mut();
        match deadline.is_some_and(|deadline| deadline.as_mut().poll(context).is_ready()) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.time {
            Time::UntilResponse => self.deadline = None,
            Time::InAll => self.check(context)?,
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
