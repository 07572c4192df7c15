//! A user's own connection, which the user's task drives: no other task is woken for a request.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Error;
use h2::client::SendRequest;

use super::exchange::{Exchange, Response};
use super::failure::failure;
use super::opening::{Connection, Http2, MOST_REQUESTS};
use super::request::Rendered;
use super::wire::Line;
use crate::engine::transport::{Failure, Keep};
use crate::measure::ErrorKind;
use crate::scenario::Step;

/// A connection of one user.
pub(super) struct Own {
    connection: Connection,
    sender: SendRequest<Bytes>,
    line: Arc<Line>,
    /// Whether everything that had arrived was read a moment ago, by the same poll of the user's task.
    is_fresh: bool,
    requests: u32,
    /// Whether a response has come over this connection.
    pub(super) has_answered: bool,
}

impl Own {
    pub(super) fn new(opened: Http2) -> Self {
        let Http2 { connection, sender, line } = opened;
        let mut own =
            Self { connection, sender, line, is_fresh: false, requests: 0, has_answered: false };
        // Sends the settings. A closed connection is found before the first request.
        let _ = own.drive();
        own
    }

    /// Sends and receives as much as possible without waiting. The connection is closed if the result
    /// is ready.
    fn drive(&mut self) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.connection).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Answers what the server has sent while no request was in flight: PING, SETTINGS, GOAWAY. From
    /// then on, further frames wake the task of `context`. Returns whether requests may still be sent.
    pub(super) fn tend(&mut self, context: &mut Context<'_>) -> bool {
        self.is_fresh = false;
        self.line.wake(context.waker());
        self.is_quiet()
    }

    /// Like [`Self::tend`], right before a request. Does not look again at a connection that has just
    /// been read to the end.
    pub(super) fn is_quiet(&mut self) -> bool {
        (self.is_fresh || self.drive().is_pending()) && self.is_open()
    }

    /// Whether the server has neither closed the connection nor sent GOAWAY, and stream numbers are left.
    fn is_open(&mut self) -> bool {
        let ready = self.sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(ready, Poll::Ready(Ok(()))) && self.requests < MOST_REQUESTS
    }

    /// Queues a request.
    pub(super) fn begin(&mut self, request: Rendered, least: Keep) -> Result<Exchange, Failure> {
        self.is_fresh = false;
        self.requests += 1;
        let begun = Exchange::begin(&mut self.sender, request, least);
        begun.map_err(|e| failure(&e, &self.line))
    }

    /// Sends the request, and reads as much of the response to `step` as has arrived.
    pub(super) fn poll(
        &mut self,
        exchange: &mut Exchange,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        self.line.wake(context.waker());
        loop {
            let driven = self.drive();
            let noop = &mut Context::from_waker(Waker::noop());
            match exchange.poll(step, response, noop) {
                Poll::Ready(Ok(())) => {
                    self.is_fresh = driven.is_pending();
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(broken.failure(&self.line))),
                Poll::Pending if mem::take(&mut exchange.has_released) => {}
                Poll::Pending => {
                    // A closed connection ends all of its streams, so that the response is ready.
                    return driven.map(|closed| {
                        let closed = closed.map_err(|e| failure(&e, &self.line));
                        closed.and(Err(Failure::new(ErrorKind::Reset, "the connection was closed")))
                    });
                }
            }
        }
    }

    /// Sends what is queued: that a response is no longer awaited.
    pub(super) fn flush(&mut self) {
        let _ = self.drive();
    }
}
