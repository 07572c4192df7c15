//! Connections that users share. A task of its own drives each connection.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::sync;
use tokio::task::JoinSet;

use super::exchange::{Exchange, Response};
use super::failure::failure;
use super::opening::{self, Connection, Http2, MOST_REQUESTS, Opened};
use super::request::Rendered;
use super::wire::Line;
use crate::engine::transport::dialer::{Dialer, Sessions};
use crate::engine::transport::stream::Stream;
use crate::engine::transport::{Failure, Keep};
use crate::scenario::Step;

/// The connections of a process.
pub(super) struct Pool {
    /// Number of connections that the plan needs.
    connections: u32,
    /// Largest number of users of a connection; `None` for no limit.
    streams: Option<u32>,
    slots: Mutex<Vec<Arc<Slot>>>,
    /// The tasks that drive connections. They end with the pool.
    drivers: Mutex<JoinSet<()>>,
}

/// The place of one connection, which is opened again when it breaks.
pub(super) struct Slot {
    /// Number of the connection within the process.
    pub(super) number: u32,
    state: sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last connection; `None` before the first.
    client: Option<Client>,
    /// Reason why the last attempt failed.
    failure: Option<Failure>,
    sessions: Sessions,
}

/// Connection that a slot gives to a user.
pub(super) enum Access {
    Shared(Client),
    /// The server has chosen HTTP/1.1, where each user has a connection.
    Http1(Stream),
}

/// One user's access to a connection.
#[derive(Clone)]
pub(super) struct Client {
    sender: SendRequest<Bytes>,
    line: Arc<Line>,
    usage: Arc<Usage>,
}

/// How much a connection was used, by all its users.
#[derive(Default)]
struct Usage {
    requests: AtomicU32,
    has_answered: AtomicBool,
}

impl Pool {
    /// Creates a pool without open connections. Users beyond `streams` for each of the `connections`
    /// get further connections.
    pub(super) fn new(connections: u32, streams: Option<u32>) -> Self {
        let connections = connections.max(1);
        Self { connections, streams, slots: Mutex::default(), drivers: Mutex::default() }
    }

    /// Returns the place of the connection of the user with the number `local` in this process.
    pub(super) fn slot(&self, local: u32) -> Arc<Slot> {
        let number = match self.streams {
            Some(streams) if local / streams >= self.connections => local / streams,
            _ => local % self.connections,
        };
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        while slots.len() <= number as usize {
            let number = u32::try_from(slots.len()).unwrap_or(u32::MAX);
            slots.push(Arc::new(Slot { number, state: sync::Mutex::default() }));
        }
        slots[number as usize].clone()
    }

    /// Starts a task that drives a connection until it is closed.
    fn drive(&self, connection: Connection) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        while drivers.try_join_next().is_some() {}
        drivers.spawn(Driver { connection, has_yielded: false });
    }
}

impl Slot {
    /// Returns a client of the open connection. Opens the connection first if there is none, for the user
    /// with this global number; users who wait for that meanwhile share its result.
    pub(super) async fn client(
        &self,
        pool: &Pool,
        dialer: &Dialer,
        user: u32,
    ) -> Result<Access, Failure> {
        let has_waited = self.state.try_lock().is_err();
        let mut state = self.state.lock().await;
        if let Some(client) = &mut state.client
            && client.is_open()
        {
            return Ok(Access::Shared(client.clone()));
        }
        // Another user's attempt was under way when this user came, and has failed since.
        match state.failure.take() {
            Some(failure) if has_waited => return Err(state.failure.insert(failure).clone()),
            _ => {}
        }
        match opening::open(dialer, user, &mut state.sessions).await {
            Ok(Opened::Http2(opened)) => {
                let Http2 { connection, sender, line } = *opened;
                pool.drive(connection);
                let client = Client { sender, line, usage: Arc::default() };
                Ok(Access::Shared(state.client.insert(client).clone()))
            }
            Ok(Opened::Http1(stream)) => Ok(Access::Http1(stream)),
            Err(failure) => Err(state.failure.insert(failure).clone()),
        }
    }
}

impl Client {
    /// Whether the connection is neither closed nor about to be, and stream numbers are left.
    pub(super) fn is_open(&mut self) -> bool {
        let ready = self.sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        let requests = self.usage.requests.load(Ordering::Relaxed);
        matches!(ready, Poll::Ready(Ok(()))) && requests < MOST_REQUESTS
    }

    /// Whether this is the first response over the connection.
    pub(super) fn is_first(&self) -> bool {
        // Read first, so that users rarely write to what they share.
        let answered = &self.usage.has_answered;
        !answered.load(Ordering::Relaxed) && !answered.swap(true, Ordering::Relaxed)
    }

    /// Queues a request.
    pub(super) fn begin(&mut self, request: Rendered, least: Keep) -> Result<Exchange, Failure> {
        self.usage.requests.fetch_add(1, Ordering::Relaxed);
        let begun = Exchange::begin(&mut self.sender, request, least);
        begun.map_err(|e| failure(&e, &self.line))
    }

    /// Reads as much of the response to `step` as has arrived.
    pub(super) fn poll(
        &self,
        exchange: &mut Exchange,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let done = exchange.poll(step, response, context);
        done.map_err(|broken| broken.failure(&self.line))
    }
}

/// Drives a connection. When woken, lets the other tasks of the thread run first, so that the requests
/// of all users who were answered together leave together, in one system call.
struct Driver {
    connection: Connection,
    has_yielded: bool,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !mem::replace(&mut self.has_yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        // Users learn from their streams why the connection was closed.
        Pin::new(&mut self.connection).poll(context).map(drop)
    }
}
