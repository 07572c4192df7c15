//! A user's own connection, which the user's task drives: no other task is woken for a request.

use std::task::{Context, Poll, Waker};

use super::exchange::{Exchange, Response};
use super::hpack::Head;
use super::session::{Piece, Session, Sink, Token};
use super::wire::{Guarded, Wire};
use crate::transport::lifetime::Life;
use crate::transport::request_body::RequestBody;
use crate::transport::stream::Stream;
use crate::transport::{Failure, Keep};
use loadgen_scenario::Step;

/// A connection of one user.
pub(super) struct Own {
    wire: Wire,
    session: Session,
    /// Whether everything that had come was read a moment ago, by the same poll of the user's task.
    is_fresh: bool,
    /// Whether a response has come over this connection.
    pub(super) has_answered: bool,
}

impl Own {
    /// Begins a connection over `stream`, with a limit on its life if there is one.
    pub(super) fn new(stream: Stream, life: Option<Life>) -> Self {
        let (wire, session) = (Wire::new(stream), Session::new(life));
        let mut own = Self { wire, session, is_fresh: false, has_answered: false };
        // Sends the settings. A closed connection is found before the first request.
        let _ = own.drive();
        own
    }

    /// Sends and receives as much as possible without waiting, while no response is awaited. Ready if the
    /// connection is closed.
    fn drive(&mut self) -> Poll<()> {
        self.drive_for(Nobody, &mut Context::from_waker(Waker::noop()))
    }

    fn drive_for(&mut self, sink: impl Sink, context: &mut Context<'_>) -> Poll<()> {
        let Self { wire, session, .. } = self;
        wire.drive(&mut Both { session, sink }, context)
    }

    /// Reads what the server has sent while no request was in flight, and answers it: PING, SETTINGS. From
    /// then on, further frames wake the task of `context`. Returns whether requests may still be sent.
    pub(super) fn tend(&mut self, context: &mut Context<'_>) -> bool {
        self.is_fresh = false;
        self.drive_for(Nobody, context).is_pending() && self.session.is_open()
    }

    /// Reads what has come since the last request, and returns whether another may be sent. Does not look
    /// again at a connection that has just been read to the end.
    pub(super) fn is_quiet(&mut self) -> bool {
        (self.is_fresh || self.drive().is_pending()) && self.session.is_open()
    }

    /// Whether loadgen itself ends the connection, because its life is over, and the server has not ended it before.
    pub(super) fn is_spent(&mut self) -> bool {
        self.session.is_spent() && self.drive().is_pending() && self.session.is_spent()
    }

    /// Begins a request.
    pub(super) fn begin(
        &mut self,
        head: Head<'_>,
        body: RequestBody,
        least: Keep,
    ) -> Result<Exchange, Failure> {
        self.is_fresh = false;
        self.session.begin(head, body).map(|token| Exchange::new(token, least))
    }

    /// Sends the request, and reads as much of the response to `step` as has come.
    pub(super) fn poll(
        &mut self,
        exchange: &mut Exchange,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let _ = self.drive_for(Reader { exchange, step, response }, context);
        let polled = exchange.poll(response);
        self.is_fresh = matches!(polled, Poll::Ready(Ok(()))) && self.wire.is_read_out();
        polled
    }

    /// Tells the server that a response is no longer awaited.
    pub(super) fn abandon(&mut self, exchange: &Exchange) {
        self.session.abandon(exchange.token);
        let _ = self.drive();
    }
}

impl Drop for Own {
    /// Says goodbye, as far as the system takes it at once.
    fn drop(&mut self) {
        self.session.leave();
        let _ = self.drive();
    }
}

/// A user's session, with the receiver of what comes.
struct Both<'a, S> {
    session: &'a mut Session,
    sink: S,
}

impl<S: Sink> Guarded for Both<'_, S> {
    type Sink = S;

    fn with<T>(&mut self, work: impl FnOnce(&mut Session, &mut S) -> T) -> T {
        work(self.session, &mut self.sink)
    }
}

/// Reads the response of the request in flight.
struct Reader<'a> {
    exchange: &'a mut Exchange,
    step: &'a Step,
    response: &'a mut Response,
}

impl Sink for Reader<'_> {
    const READS: bool = true;

    fn take(&mut self, token: Token, piece: Piece<'_>) {
        // Nothing comes for an abandoned request.
        debug_assert_eq!(token, self.exchange.token);
        self.exchange.take(self.step, self.response, piece);
    }
}

/// Receives nothing, because no request is in flight.
struct Nobody;

impl Sink for Nobody {
    const READS: bool = true;

    fn take(&mut self, _: Token, _: Piece<'_>) {}
}
