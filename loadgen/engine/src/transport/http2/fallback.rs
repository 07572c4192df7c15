//! A user's connection to a server that chose HTTP/1.1, although HTTP/2 was offered.

use std::time::Instant;

use http::header::HOST;

use super::hpack::Head;
use crate::transport::failure::{Failure, Work};
use crate::transport::http1::{Came, Idle, Response, Unsent};
use crate::transport::request_body::RequestBody;
use crate::transport::{Answer, Headers, Keep};
use loadgen_measure::{ErrorKind, StreamTimes};
use loadgen_scenario::Step;

/// The connection, with the buffers that its requests reuse.
pub(super) struct Fallback {
    /// The open connection between two requests; `None` during a request, or if it cannot be reused.
    idle: Option<Idle>,
    request: Vec<u8>,
    response: Response,
    /// HTTP version of the first response; `None` before it.
    version: Option<&'static str>,
}

impl Fallback {
    /// Takes an open connection. `keeps_cookies` tells whether users keep the cookies of responses.
    pub(super) fn new(idle: Idle, keeps_cookies: bool) -> Self {
        let (request, response) = (Vec::new(), Response::new(keeps_cookies));
        Self { idle: Some(idle), request, response, version: None }
    }

    /// Whether the connection can carry another request.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.idle.as_mut().is_some_and(Idle::is_open)
    }

    /// Ends the connection if its life is over. Returns whether it has, and the server has not ended it before.
    pub(super) fn end_spent(&mut self) -> bool {
        self.idle.take_if(|idle| idle.is_spent()).is_some_and(|mut idle| idle.is_open())
    }

    /// Number of body bytes of the last response, even if it was cut short.
    pub(super) fn received(&self) -> u64 {
        self.response.received()
    }

    /// Time when the first byte of the last response was read, if more reads followed.
    pub(super) fn first_byte(&self) -> Option<Instant> {
        self.response.first_byte()
    }

    /// Times of the events of the last stream.
    pub(super) fn stream_times(&self) -> Option<StreamTimes<'_>> {
        self.response.stream_times()
    }

    /// Sends a request and reads the response. Also returns the HTTP version of the first response.
    pub(super) async fn exchange(
        &mut self,
        head: Head<'_>,
        body: &RequestBody,
        step: &Step,
        least: Keep,
    ) -> Result<(Came, Option<&'static str>), Failure> {
        let Some(idle) = self.idle.take() else {
            // Unreachable: a user with a closed connection opens another one first.
            return Err(Failure::new(ErrorKind::Connect, "no connection"));
        };
        self.request.clear();
        write(head, &mut self.request);
        if least == Keep::Sample {
            self.response.keep_samples();
        }
        self.response.begin(step);
        let (stream, life) = idle.begin();
        let unsent = Unsent::new(&self.request, body.clone());
        let received = self.response.exchange(stream, unsent, step).await;
        let is_used = self.version.is_some();
        let received = received.map_err(|it| if is_used { it } else { it.with(Work::Possible) })?;
        let (idle, came) = received.into_idle(life);
        self.idle = idle;
        let version = self.response.version();
        let first = self.version.replace(version).is_none().then_some(version);
        Ok((came, first))
    }

    /// Returns status and headers of the last response.
    pub(super) fn head(&self) -> (u16, Headers<'_>) {
        (self.response.status(), self.response.headers())
    }

    /// Returns the response to `step` that has come.
    pub(super) fn answer(&self, came: Came, step: &Step) -> Answer<'_> {
        self.response.answer(came, step)
    }
}

/// Writes the head of a request as HTTP/1.1 does.
fn write(head: Head<'_>, to: &mut Vec<u8>) {
    let Head { fields, added, .. } = head;
    let [method, path, host] =
        [":method", ":path", ":authority"].map(|name| fields.first(name).unwrap_or_default());
    let line =
        [method, b" ", path, b" HTTP/1.1\r\n", HOST.as_str().as_bytes(), b": ", host, b"\r\n"];
    line.into_iter().for_each(|part| to.extend_from_slice(part));
    let own = fields.iter().filter(|(name, _)| !name.starts_with(b":"));
    for (name, value) in own.chain(added.iter()) {
        [name, b": ", value, b"\r\n"].into_iter().for_each(|part| to.extend_from_slice(part));
    }
    to.extend_from_slice(b"\r\n");
}
