//! A user's own connection, which the user's task drives: no other task is woken for a request.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::Error;
use h2::client::SendRequest;

use super::exchange::{Broken, Exchange, Response};
use super::failure::failure;
use super::opening::{Connection, Http2};
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
    /// Whether a response has come over this connection.
    pub(super) has_answered: bool,
}

impl Own {
    pub(super) fn new(opened: Http2) -> Self {
        let Http2 { connection, sender, line } = opened;
        let mut own = Self { connection, sender, line, has_answered: false };
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
        self.line.wake(context.waker());
        self.is_quiet()
    }

    /// Like [`Self::tend`], right before a request.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.drive().is_pending() && self.is_open()
    }

    /// Whether the server has neither closed the connection nor sent GOAWAY.
    fn is_open(&mut self) -> bool {
        let ready = self.sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(ready, Poll::Ready(Ok(())))
    }

    /// Sends a request and reads the response.
    pub(super) async fn exchange(
        &mut self,
        request: Rendered,
        step: &Step,
        least: Keep,
        response: &mut Response,
    ) -> Result<(), Failure> {
        let exchange = Exchange::begin(&mut self.sender, request, least);
        let exchange = exchange.map_err(|e| failure(&e, &self.line))?;
        let mut flight = Flight { own: self, exchange: Some(exchange) };
        let done = poll_fn(|context| flight.poll(step, response, context)).await;
        if done.is_ok() {
            // Nothing is left to reset, unless the server has answered before it read the request.
            flight.exchange = None;
        }
        done
    }
}

/// A request in flight. Dropped before its end, it tells the server at once that the response is no
/// longer awaited.
struct Flight<'a> {
    own: &'a mut Own,
    exchange: Option<Exchange>,
}

impl Flight<'_> {
    fn poll(
        &mut self,
        step: &Step,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        let Self { own, exchange: Some(exchange) } = self else { return Poll::Pending };
        own.line.wake(context.waker());
        loop {
            let driven = own.drive();
            let noop = &mut Context::from_waker(Waker::noop());
            match exchange.poll(step, response, noop) {
                Poll::Ready(done) => {
                    return Poll::Ready(done.map_err(|broken| broken.failure(&own.line)));
                }
                Poll::Pending if std::mem::take(&mut exchange.has_released) => {}
                Poll::Pending => {
                    // A closed connection ends all of its streams, so that the response is ready.
                    return driven.map(|closed| {
                        let closed = closed.map_err(|e| Broken::Http2(e).failure(&own.line));
                        closed.and(Err(Failure::new(ErrorKind::Reset, "the connection was closed")))
                    });
                }
            }
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.exchange.take().is_some() {
            let _ = self.own.drive();
        }
    }
}
