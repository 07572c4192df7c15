//! One user's requests.

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::exchange::{Exchange, Response};
use super::fallback::Fallback;
use super::own::Own;
use super::pool::{Access, Slot};
use super::request::{Message, Rendered};
use super::shared::Client;
use super::{Http2, Line};
use crate::check::expectations::{is_expected, reads_headers};
use crate::grpc::Call;
use crate::plan::Number;
use crate::stream::Meter;
use crate::transport::dialer::Sessions;
use crate::transport::failure::{Failure, Work};
use crate::transport::fields::Fields;
use crate::transport::http1::Came;
use crate::transport::redirect::Request;
use crate::transport::request_body::RequestBody;
use crate::transport::resend::Resend;
use crate::transport::{Answer, Body, Form, Headers, Keep, form};
use loadgen_measure::{ErrorKind, StreamTimes};
use loadgen_scenario::{Action, Data, Step};

/// A user's access to its connection, with its current request and response.
pub struct Link {
    shared: Arc<Http2>,
    user: Number,
    way: Way,
    /// The user's connection to a server that chose HTTP/1.1; `None` for HTTP/2.
    fallback: Option<Box<Fallback>>,
    sessions: Sessions,
    /// Index of the step whose request was rendered last.
    index: usize,
    /// The request that was rendered last.
    request: Rendered,
    pub(in crate::transport) resend: Resend,
    /// The request in flight. Kept here, so that no future has to carry it.
    exchange: Option<Exchange>,
    response: Response,
    /// Minimum part of each body to keep, even if nothing reads the body.
    least: Keep,
}

/// The connection that a user's requests take; `None` before the first request, or if it was closed.
enum Way {
    Own(Option<Box<Own>>),
    Shared { slot: Arc<Slot>, client: Option<Client> },
}

impl Link {
    pub fn new(shared: Arc<Http2>, user: Number) -> Self {
        let way = match &shared.pool {
            None => Way::Own(None),
            Some(pool) => Way::Shared { slot: pool.slot(user.local), client: None },
        };
        Self {
            resend: Resend::new(shared.resends),
            shared,
            user,
            way,
            fallback: None,
            sessions: Sessions::default(),
            index: 0,
            request: Rendered::default(),
            exchange: None,
            response: Response::default(),
            least: Keep::default(),
        }
    }

    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        self.resend.begin();
        self.index = index;
        self.shared.messages[index].render(data, &mut self.request)
    }

    pub fn keep_samples(&mut self) {
        self.least = Keep::Sample;
    }

    pub fn received(&self) -> u64 {
        match &self.fallback {
            Some(fallback) => fallback.received(),
            None => self.response.received,
        }
    }

    pub fn first_byte(&self) -> Option<Instant> {
        match &self.fallback {
            Some(fallback) => fallback.first_byte(),
            None => self.response.first_byte,
        }
    }

    pub fn stream_times(&self) -> Option<StreamTimes<'_>> {
        match &self.fallback {
            Some(fallback) => fallback.stream_times(),
            None => self.response.meter.as_ref().map(|meter| meter.times()),
        }
    }

    /// Answers what the server sends on the user's own connection while the user waits, such as PING.
    pub fn tend(&mut self, context: &mut Context<'_>) {
        self.end_spent();
        if let Way::Own(own) = &mut self.way {
            // A closed connection is dropped, and opened again for the next request.
            if own.as_mut().is_some_and(|open| !open.tend(context)) {
                *own = None;
            }
        }
    }

    /// Sends the next request, once more if the server did not process it, and reads the response. Returns where it
    /// was read to; `None` for HTTP/2, where it is in `response`.
    pub async fn send(&mut self, step: &Step) -> Result<Option<Came>, Failure> {
        loop {
            match self.send_once(step).await {
                Ok(came) => return Ok(came),
                Err(failure) if self.resend.again(&failure, self.is_idempotent(step)) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Whether sending the next request twice has the effect of sending it once.
    fn is_idempotent(&self, step: &Step) -> bool {
        self.request.prepared().unwrap_or(&step.method).is_idempotent()
    }

    /// Returns the answer to `step`, which has come last.
    pub fn answer(&mut self, came: Option<Came>, step: &Step) -> Result<Answer<'_>, Failure> {
        if let (Some(came), Some(fallback)) = (came, &self.fallback) {
            return Ok(fallback.answer(came, step));
        }
        let call = self.shared.messages.get(self.index).and_then(Message::call);
        self.response.answer(step, call, self.least)
    }

    /// Makes a request that no step has the next one.
    pub fn prepare(&mut self, request: &Request) {
        self.resend.begin();
        self.request.prepare(request);
    }

    /// Adds a field, with a name in lower case, to the next request.
    pub fn add_field(&mut self, name: &str, value: &str) {
        self.request.add_field(name, value);
    }

    /// Returns path and query of the request that was rendered last.
    pub fn target(&self) -> &str {
        self.message().map_or("/", |message| self.request.target(message))
    }

    /// Returns fields and body of the request that was rendered last, without added ones.
    pub fn rendered(&self) -> (Fields, RequestBody) {
        self.message().map(|message| self.request.parts(message)).unwrap_or_default()
    }

    /// Returns status and headers of the last response.
    pub fn head(&self) -> (u16, Headers<'_>) {
        match (&self.fallback, self.response.status) {
            (Some(fallback), _) => fallback.head(),
            (None, Some(status)) => (status, Headers::Fields(&self.response.fields)),
            (None, None) => (0, Headers::Unkept),
        }
    }

    /// The message of the step whose request was rendered last; `None` on the way to a server that no step names.
    fn message(&self) -> Option<&Message> {
        self.shared.messages.get(self.index)
    }

    /// Sends the next request, and reads the response.
    async fn send_once(&mut self, step: &Step) -> Result<Option<Came>, Failure> {
        self.response.clear();
        if step.expect.stream.is_some() {
            Meter::begin(&mut self.response.meter);
        }
        loop {
            if !self.is_connected() {
                // Boxed, so that users with a connection don't carry the memory for opening one.
                Box::pin(self.connect()).await?;
            }
            if self.fallback.is_some() || self.begin()? {
                break;
            }
        }
        if self.fallback.is_some() && step.action == Action::Call {
            let message = "the server chose HTTP/1.1, but gRPC needs HTTP/2: the call was not sent";
            return Err(Failure::new(ErrorKind::Protocol, message));
        }
        if self.fallback.is_some() {
            // Boxed, because few servers choose HTTP/1.1.
            return Box::pin(self.fall_back(step)).await.map(Some);
        }
        let sent = {
            let mut flight = Flight(self);
            poll_fn(|context| flight.poll(step, context)).await
        };
        sent.map_err(|failure| self.judged(failure))?;
        if self.is_first() {
            self.shared.dialer.speaks("HTTP/2");
        }
        if !self.shared.keeps_alive
            && let Way::Own(own) = &mut self.way
        {
            *own = None;
        }
        self.end_spent();
        Ok(None)
    }

    /// Says of the failed request that the server may have processed it, if no response has come over its connection
    /// before. A server that accepts a connection and does not answer has failed.
    fn judged(&self, failure: Failure) -> Failure {
        let has_answered = match &self.way {
            Way::Own(own) => own.as_ref().is_some_and(|own| own.has_answered),
            Way::Shared { client, .. } => client.as_ref().is_some_and(Client::has_answered),
        };
        match failure.work {
            Work::Unanswered if !has_answered => failure.with(Work::Possible),
            _ => failure,
        }
    }

    /// Begins the next request. Returns `false` if another user has begun the last one of the connection's life.
    fn begin(&mut self) -> Result<bool, Failure> {
        let message = self.shared.messages.get(self.index);
        let head = self.request.head(message, self.index);
        // Kept, because the request may be sent again.
        let body = self.request.body.clone();
        let begun = match &mut self.way {
            Way::Own(Some(own)) => Some(own.begin(head, body, self.least)?),
            Way::Shared { client: Some(client), .. } => client.begin(head, body, self.least)?,
            // Unreachable: the user is connected before it sends.
            _ => return Err(Failure::new(ErrorKind::Connect, "no connection")),
        };
        self.exchange = begun;
        Ok(self.exchange.is_some())
    }

    /// Sends the request over HTTP/1.1, which the server has chosen.
    async fn fall_back(&mut self, step: &Step) -> Result<Came, Failure> {
        let Some(fallback) = &mut self.fallback else {
            // Unreachable, as in `begin`.
            return Err(Failure::new(ErrorKind::Connect, "no connection"));
        };
        let message = self.shared.messages.get(self.index);
        let head = self.request.head(message, self.index);
        let body = &self.request.body;
        let (came, first) = fallback.exchange(head, body, step, self.least).await?;
        first.into_iter().for_each(|version| self.shared.dialer.speaks(version));
        self.end_spent();
        Ok(came)
    }

    /// Whether the response is the first one over its connection.
    fn is_first(&mut self) -> bool {
        match &mut self.way {
            Way::Own(Some(own)) => !mem::replace(&mut own.has_answered, true),
            Way::Shared { client: Some(client), .. } => client.is_first(),
            _ => false,
        }
    }

    /// Ends the user's own connection if its life is over.
    fn end_spent(&mut self) {
        let has_ended = match (&mut self.fallback, &mut self.way) {
            (Some(fallback), _) => fallback.end_spent(),
            (None, Way::Own(own)) => own.take_if(|own| own.is_spent()).is_some(),
            (None, Way::Shared { .. }) => false,
        };
        if has_ended {
            self.shared.dialer.renewed();
        }
    }

    /// Whether the next request has a connection.
    fn is_connected(&mut self) -> bool {
        self.end_spent();
        if let Some(fallback) = &mut self.fallback {
            return self.shared.keeps_alive && fallback.is_quiet();
        }
        match &mut self.way {
            Way::Own(own) => {
                self.shared.keeps_alive && own.as_mut().is_some_and(|own| own.is_quiet())
            }
            Way::Shared { client, .. } => client.as_ref().is_some_and(Client::is_open),
        }
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        self.fallback = None;
        let idle = match &mut self.way {
            Way::Own(own) => match self.shared.own(self.user, &mut self.sessions).await? {
                Line::Http2(new) => {
                    *own = Some(new);
                    return Ok(());
                }
                Line::Http1(idle) => idle,
            },
            Way::Shared { slot, client } => match self.shared.client(slot, self.user).await? {
                Access::Shared(new) => {
                    *client = Some(new);
                    return Ok(());
                }
                Access::Http1(idle) => idle,
            },
        };
        self.fallback = Some(Box::new(Fallback::new(idle, self.shared.keeps_cookies)));
        Ok(())
    }
}

/// A request in flight. Dropped before its end, it tells the server that the response is no longer
/// awaited: at once over the user's own connection, and by its driver over a shared one.
struct Flight<'l>(&'l mut Link);

impl Flight<'_> {
    /// Sends the request, and reads as much of the response to `step` as has arrived.
    fn poll(&mut self, step: &Step, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let Link { way, exchange, response, .. } = &mut *self.0;
        let Some(flying) = exchange else { return Poll::Pending };
        let polled = match way {
            Way::Own(Some(own)) => own.poll(flying, step, response, context),
            Way::Shared { client: Some(client), .. } => {
                client.poll(flying, step, response, context)
            }
            _ => Poll::Pending,
        };
        // A stream that loadgen ends is reset when the exchange is dropped.
        if let Poll::Ready(Ok(())) = polled
            && !flying.closes()
        {
            *exchange = None;
        }
        polled
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let Some(exchange) = self.0.exchange.take() else { return };
        match &mut self.0.way {
            Way::Own(Some(own)) => own.abandon(&exchange),
            Way::Shared { client: Some(client), .. } => client.abandon(&exchange),
            Way::Own(None) | Way::Shared { client: None, .. } => {}
        }
    }
}

impl Response {
    /// Returns the answer to `step`, which makes `call`; `None` for an HTTP request.
    fn answer<'a>(
        &'a mut self,
        step: &Step,
        call: Option<&'a Call>,
        least: Keep,
    ) -> Result<Answer<'a>, Failure> {
        let events = step.expect.stream.as_ref().zip(self.meter.as_deref_mut());
        let is_cut = events.as_ref().is_some_and(|(_, meter)| meter.times().closed);
        let streamed = events.map(|(expected, meter)| meter.end(expected));
        let Some(status) = self.status else {
            // Unreachable: an exchange ends only with a whole response.
            return Err(Failure::new(ErrorKind::Protocol, "incomplete response"));
        };
        let keep = Keep::of(step, status).max(least);
        let head = Headers::Fields(&self.fields);
        let has_trailers = call.is_some() && self.trailers.len() > 0;
        let form = match call {
            Some(call) if is_expected(step, status) => {
                let trailers = Headers::Fields(&self.trailers);
                // A response without a body may have the status in its only header section.
                let end = if has_trailers { trailers } else { head };
                let [head, end] = [head, end].map(|headers| move |name: &str| headers.first(name));
                let reply = match is_cut {
                    true => call.reply_so_far(head, &self.kept),
                    false => call.reply(head, end, &self.kept, self.received),
                };
                let wrong = |message| Failure::new(ErrorKind::Protocol, message);
                Some(Box::new(Form::Reply(reply.map_err(wrong)?)))
            }
            _ => form(head, keep),
        };
        let headers = match least == Keep::Sample || reads_headers(step) {
            true if has_trailers => Headers::WithTrailers(&self.fields, &self.trailers),
            true => head,
            false => Headers::Unkept,
        };
        Ok(Answer { status, headers, body: Body::Kept(&self.kept), form, streamed })
    }
}
