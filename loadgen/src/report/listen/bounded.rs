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

/// Longest time from the beginning of a connection to that of the response.
const REQUEST: Duration = Duration::from_secs(5);

/// A listener of which further connections wait until others end.
#[derive(Debug)]
pub(in crate::report) struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

/// A connection, which makes room for another when it is dropped.
#[derive(Debug)]
pub(in crate::report) struct Connection {
    stream: TcpStream,
    /// End of the time for the request; `None` once there is a response.
    deadline: Option<Pin<Box<Sleep>>>,
    _room: OwnedSemaphorePermit,
}

impl Bounded {
    pub(in crate::report) fn new(listener: TcpListener, most: usize) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(most)) }
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
        let deadline = Some(Box::pin(sleep(REQUEST)));
        (Connection { stream, deadline, _room: room }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.deadline = None;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
