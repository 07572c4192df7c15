//! A connection that users share. A task of its own drives it.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::exchange::{Exchange, Response};
use super::hpack::Head;
use super::session::{Piece, Session, Sink, Token};
use super::wire::{Guarded, Wire};
use crate::transport::fields::Fields;
use crate::transport::lifetime::Life;
use crate::transport::request_body::RequestBody;
use crate::transport::stream::Stream;
use crate::transport::{Failure, Keep};
use loadgen_scenario::Step;

/// A connection of several users.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Whether a response has come over this connection.
    has_answered: AtomicBool,
}

struct State {
    session: Session,
    inboxes: Inboxes,
    /// Wakes the task that drives the connection; `None` before it has run.
    driver: Option<Waker>,
}

/// The unread parts of the responses to requests in flight.
#[derive(Default)]
struct Inboxes {
    /// In the order of the tokens.
    open: VecDeque<Inbox>,
    /// Buffers of former requests, to be used again.
    spare: Vec<Came>,
}

struct Inbox {
    token: Token,
    came: Came,
    /// Wakes the user.
    user: Option<Waker>,
}

/// The unread part of a response.
#[derive(Default)]
struct Came {
    status: Option<u16>,
    fields: Fields,
    data: Vec<u8>,
    trailers: Fields,
    end: Option<Result<(), Failure>>,
}

/// One user's access to a connection.
pub(super) struct Client {
    shared: Arc<Shared>,
    /// The part of the response that was just taken from the user's inbox. The buffers are used again.
    came: Came,
}

/// Drives a connection. When woken, lets the other tasks of the thread run first, so that the requests
/// of all users who were answered together leave together, in one system call.
pub(super) struct Driver {
    wire: Wire,
    shared: Arc<Shared>,
    has_yielded: bool,
}

impl Shared {
    /// Returns the connection over `stream`, with a limit on its life if there is one, and the task that drives it.
    pub(super) fn new(stream: Stream, life: Option<Life>) -> (Arc<Self>, Driver) {
        let (session, inboxes) = (Session::new(life), Inboxes::default());
        let state = Mutex::new(State { session, inboxes, driver: None });
        let shared = Arc::new(Self { state, has_answered: AtomicBool::new(false) });
        let driver = Driver { wire: Wire::new(stream), shared: shared.clone(), has_yielded: false };
        (shared, driver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another request may begin.
    pub(super) fn is_open(&self) -> bool {
        self.state().session.is_open()
    }

    /// Ends the connection if its life is over: it closes when the requests in flight have ended. Returns whether its
    /// life is over, and the server has not ended it before.
    pub(super) fn end_spent(&self) -> bool {
        let mut state = self.state();
        let is_spent = state.session.is_spent();
        if is_spent {
            state.session.retire();
            state.wake_driver();
        }
        is_spent
    }
}

impl Client {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, came: Came::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.shared.is_open()
    }

    /// Whether this is the first response over the connection.
    pub(super) fn is_first(&self) -> bool {
        // Read first, so that users rarely write to what they share.
        !self.has_answered() && !self.shared.has_answered.swap(true, Ordering::Relaxed)
    }

    /// Whether a response has come over the connection.
    pub(super) fn has_answered(&self) -> bool {
        self.shared.has_answered.load(Ordering::Relaxed)
    }

    /// Begins a request, which the task of the connection sends. Returns `None` if another user has begun the last
    /// request of the connection's life.
    pub(super) fn begin(
        &mut self,
        head: Head<'_>,
        body: RequestBody,
        least: Keep,
    ) -> Result<Option<Exchange>, Failure> {
        let mut state = self.shared.state();
        if state.session.is_retired() {
            return Ok(None);
        }
        // A life that is over at once has one request nevertheless: otherwise no request would ever begin.
        let token = state.session.begin(head, body)?;
        if state.session.is_spent() {
            state.session.retire();
        }
        state.inboxes.begin(token);
        state.wake_driver();
        Ok(Some(Exchange::new(token, least)))
    }

    /// Reads as much of the response to `step` as has come.
    pub(super) fn poll(
        &mut self,
        exchange: &mut Exchange,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        self.collect(exchange.token, context.waker());
        self.came.read(exchange, step, response);
        exchange.poll(response)
    }

    /// Takes what has come for a request from its inbox. If this is not all, `user` is woken for the rest.
    fn collect(&mut self, token: Token, user: &Waker) {
        let mut state = self.shared.state();
        let Some(index) = state.inboxes.find(token) else { return };
        let inbox = &mut state.inboxes.open[index];
        mem::swap(&mut self.came, &mut inbox.came);
        if self.came.end.is_some() {
            state.inboxes.remove(index);
        } else if !inbox.user.as_ref().is_some_and(|other| other.will_wake(user)) {
            inbox.user = Some(user.clone());
        }
        if !self.came.data.is_empty() {
            state.session.release(token, self.came.data.len());
            if state.session.has_output() {
                state.wake_driver();
            }
        }
    }

    /// Tells the server that a response is no longer awaited.
    pub(super) fn abandon(&mut self, exchange: &Exchange) {
        let mut state = self.shared.state();
        state.session.abandon(exchange.token);
        if let Some(index) = state.inboxes.find(exchange.token) {
            state.inboxes.remove(index);
        }
        state.wake_driver();
    }
}

impl State {
    fn wake_driver(&self) {
        self.driver.iter().for_each(Waker::wake_by_ref);
    }
}

impl Inboxes {
    fn begin(&mut self, token: Token) {
        let came = self.spare.pop().unwrap_or_default();
        self.open.push_back(Inbox { token, came, user: None });
    }

    fn remove(&mut self, index: usize) {
        let removed = self.open.remove(index);
        self.spare.extend(removed.map(|inbox| inbox.came.emptied()));
    }

    fn find(&self, token: Token) -> Option<usize> {
        self.open.binary_search_by_key(&token, |inbox| inbox.token).ok()
    }
}

impl Sink for Inboxes {
    const READS: bool = false;

    fn take(&mut self, token: Token, piece: Piece<'_>) {
        let Some(index) = self.find(token) else { return };
        let Inbox { came, user, .. } = &mut self.open[index];
        match piece {
            Piece::Head(status, fields) => {
                came.status = Some(status);
                mem::swap(&mut came.fields, fields);
            }
            Piece::Data(bytes) => came.data.extend_from_slice(bytes),
            Piece::Trailers(fields) => mem::swap(&mut came.trailers, fields),
            Piece::End(how) => came.end = Some(how),
        }
        user.iter().for_each(Waker::wake_by_ref);
    }
}

impl Came {
    /// Hands over what has come, and has nothing more to hand over.
    fn read(&mut self, exchange: &mut Exchange, step: &Step, response: &mut Response) {
        if let Some(status) = self.status.take() {
            exchange.take(step, response, Piece::Head(status, &mut self.fields));
        }
        if !self.data.is_empty() {
            exchange.take(step, response, Piece::Data(&self.data));
            self.data.clear();
        }
        if self.trailers.len() > 0 {
            exchange.take(step, response, Piece::Trailers(&mut self.trailers));
            self.trailers.clear();
        }
        if let Some(how) = self.end.take() {
            exchange.take(step, response, Piece::End(how));
        }
    }

    /// Forgets what has come, but keeps the buffers.
    fn emptied(mut self) -> Self {
        (self.status, self.end) = (None, None);
        self.fields.clear();
        self.data.clear();
        self.trailers.clear();
        self
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !mem::replace(&mut self.has_yielded, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        let Self { wire, shared, .. } = &mut *self;
        let mut state = shared.state();
        if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(context.waker())) {
            state.driver = Some(context.waker().clone());
        }
        drop(state);
        wire.drive(&mut Locked(shared), context)
    }
}

impl Drop for Driver {
    /// Says goodbye, as far as the system takes it at once.
    fn drop(&mut self) {
        self.shared.state().session.leave();
        let mut context = Context::from_waker(Waker::noop());
        let _ = self.wire.drive(&mut Locked(&self.shared), &mut context);
    }
}

/// The session of a connection that is locked only while it is looked at.
struct Locked<'a>(&'a Shared);

impl Guarded for Locked<'_> {
    type Sink = Inboxes;

    fn with<T>(&mut self, work: impl FnOnce(&mut Session, &mut Inboxes) -> T) -> T {
        let State { session, inboxes, .. } = &mut *self.0.state();
        work(session, inboxes)
    }
}
