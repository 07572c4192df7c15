//! Sends requests to the server and reads the answers. Each transport has its own file.
//!
//! All transports give the same outcome for the same server. `http1` and `http2` are our own; `reqwest`
//! is a second opinion. A [`Link`] sends the requests of a user over a [`route`] to the server, and its
//! [`journey`] keeps cookies and follows redirects.

mod address_counts;
mod addresses;
mod ahead;
mod answer;
mod connections;
mod content_length;
mod dialer;
mod failure;
mod fields;
mod headers;
mod http1;
mod http2;
mod journey;
mod lifetime;
mod proxy;
mod redirect;
mod request_body;
mod reqwest;
mod resend;
mod route;
mod step_request;
mod stream;
mod tls;
mod unix_socket;
mod websocket;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use url::Url;

use self::answer::form;
pub use self::answer::{Answer, Body, Form, Keep};
pub use self::failure::{Failure, PARTLY, PROXY, REDIRECTED};
pub use self::headers::Headers;
#[cfg(any(test, fuzzing))]
pub use self::http1::read_foreign;
pub use self::http1::{Progress, Reader};
#[cfg(any(test, fuzzing))]
pub use self::http2::http2_foreign;
pub use self::journey::Hop;
#[cfg(any(test, fuzzing))]
pub use self::journey::fuzzing::journey_foreign;
use self::journey::{Journey, Journeys};
pub use self::redirect::{REDIRECTS, is_redirect};
use self::route::{Route, Server};
pub use self::websocket::Slot;
use super::plan::{Number, Plan};
use loadgen_measure::{Connections, StreamTimes, TraceContext};
use loadgen_scenario::{Data, Step, TransportKind};

/// Value of the `user-agent` header, unless the step sets the header.
const USER_AGENT: &str = concat!("loadgen/", env!("CARGO_PKG_VERSION"));

/// State shared by a process's users: the server's address, and requests' constant parts.
pub struct Transport {
    server: Server,
    /// `None` if users keep nothing from one response to the next request.
    journeys: Option<Arc<Journeys>>,
    /// Host and port of the proxy; `None` if there is none.
    proxy: Option<Arc<str>>,
}

/// Sends the requests of one user.
pub struct Link {
    /// The way to the server under load.
    route: Route,
    journey: Option<Box<Journey>>,
    /// Trace of the request that was rendered last; `None` if it is not traced.
    trace: Option<TraceContext>,
    /// See [`Transport`].
    proxy: Option<Arc<str>>,
}

/// Says of a failure at the server that it may be one of the proxy between.
fn through(failure: Failure, proxy: Option<&str>) -> Failure {
    match proxy {
        Some(place) if !failure.message.contains(PROXY) => {
            let message = format!("{}, through {PROXY}{place}", failure.message);
            Failure { message: message.into(), ..failure }
        }
        _ => failure,
    }
}

impl Transport {
    /// Creates the plan's transport, without opening a connection. Returns
    /// the reason if the transport cannot be created.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let kind = plan.scenario.http.transport();
        if plan.scenario.grpc.is_some() && kind != TransportKind::Http2 {
            return Err("gRPC needs the transport http2".to_owned());
        }
        if plan.scenario.uses_websocket() && kind != TransportKind::Http1 {
            return Err("a WebSocket needs the transport http1".to_owned());
        }
        let proxy = plan.scenario.http.proxy.as_ref().and_then(|url| Url::parse(url).ok());
        let proxy = proxy.as_ref().map(|url| step_request::place(url).into());
        Ok(Self { server: Server::new(plan, kind)?, journeys: Journeys::of(plan, kind), proxy })
    }

    /// Prepares these users' connections before they send: `http1` and `http2` open them, `reqwest` only
    /// looks up the server's addresses.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        self.server.open(users).await;
    }

    /// Creates the link through which `user` sends.
    pub fn link(&self, user: Number) -> Link {
        let journey = self.journeys.clone().map(|shared| Box::new(Journey::new(shared, user)));
        Link { route: self.server.route(user), journey, trace: None, proxy: self.proxy.clone() }
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        let mut all = self.server.connections();
        if let Some(journeys) = &self.journeys {
            all.merge(&journeys.connections());
        }
        all
    }
}

impl Link {
    /// Renders the next request: the scenario's step at `index`, with its generated values. After
    /// an error, no request is ready for [`Self::exchange`].
    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        self.trace = None;
        if let Some(journey) = &mut self.journey {
            journey.begin();
        }
        self.route.render(index, data)?;
        if let Some(journey) = &mut self.journey {
            journey.add_cookies(&mut self.route, index);
        }
        Ok(())
    }

    /// Tells the server to which trace the request belongs that was rendered last.
    pub fn tell_trace(&mut self, context: TraceContext) {
        self.trace = Some(context);
        self.route.add_field(Step::TRACEPARENT, &context.to_string());
    }

    /// Returns the place of the user's WebSocket; `None` if the scenario uses none.
    pub fn socket(&self) -> Option<&Arc<Slot>> {
        match &self.route {
            Route::Http1(link) => link.socket(),
            Route::Http2(_) | Route::Reqwest(_) => None,
        }
    }

    /// Notes that the step does not end with the last message over the WebSocket, which is `shown`. A
    /// further [`Self::exchange`] waits for the next message.
    pub fn pass_over(&self, shown: String) {
        if let Some(socket) = self.socket() {
            socket.pass_over(shown);
        }
    }

    /// Ends a step that has timed out. Returns what is missing, in words.
    pub fn give_up(&self, step: &Step) -> String {
        let timeout = step.timeout;
        let of_socket = self.socket().and_then(|socket| socket.give_up(step));
        let said = of_socket.unwrap_or_else(|| {
            match self.stream_times(step).map_or(0, |times| times.events) {
                0 => format!("no complete response within {timeout:?}"),
                1 => format!("1 event, but no end of the stream within {timeout:?}"),
                n => format!("{n} events, but no end of the stream within {timeout:?}"),
            }
        });
        match &self.proxy {
            None => said,
            Some(place) => format!("{said}, through {PROXY}{place}"),
        }
    }

    /// Keeps the headers and up to 1 MiB of the body of each answer from now on, also if nothing
    /// reads them.
    pub fn keep_samples(&mut self) {
        self.route.keep_samples();
        if let Some(journey) = &mut self.journey {
            journey.keep_samples();
        }
    }

    /// Sends the request, once more if the server did not process it, and reads the answer to the last
    /// byte; follows redirects as the step says. Dropping the future before its end abandons the request.
    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        let Self { route, journey, trace, proxy } = self;
        let through = |failure: Failure| through(failure, proxy.as_deref());
        let came = route.send(step).await.map_err(through)?;
        let Some(journey) = journey.as_mut().filter(|_| !step.action.needs_socket()) else {
            return route.answer(came, step);
        };
        let Some(next) = journey.arrived(route, step)? else {
            return route.answer(came, step);
        };
        drop(came);
        // Boxed, because few responses are redirects.
        let came = Box::pin(journey.follow(route, next, step, *trace)).await.map_err(through)?;
        journey.route_mut(route).answer(came, step)
    }

    /// The way over which the last response came.
    fn last(&self) -> &Route {
        self.journey.as_ref().map_or(&self.route, |journey| journey.route(&self.route))
    }

    /// Gives a used connection time to become free for the next request. Call
    /// between requests, while no request is timed.
    pub async fn settle(&self) {
        if matches!(self.route, Route::Reqwest(_)) {
            reqwest::settle().await;
        }
    }

    /// Time when the last exchange, of `step`, read the first byte of its answer; `None` if it read the
    /// whole answer at once, and thus without a time of its own. `reqwest` tells when it has read the head.
    pub fn first_byte(&self, step: &Step) -> Option<Instant> {
        self.last().first_byte(step)
    }

    /// Times of the events that the last exchange has read; `None` if its step expects no stream.
    pub fn stream_times(&self, step: &Step) -> Option<StreamTimes<'_>> {
        step.expect.stream.as_ref()?;
        self.last().stream_times()
    }

    /// Awaits `wait`, and meanwhile answers what the server sends between two requests, such as PING.
    pub async fn tended<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let mut wait = pin!(wait);
        poll_fn(|context| {
            let waited = wait.as_mut().poll(context);
            if waited.is_pending() {
                self.tend(context);
            }
            waited
        })
        .await
    }

    fn tend(&mut self, context: &mut Context<'_>) {
        self.route.tend(context);
        if let Some(journey) = &mut self.journey {
            journey.tend(context);
        }
    }

    /// Whether a request of the last exchange was sent again, because the server had not processed it.
    pub fn was_sent_again(&self) -> bool {
        match &self.journey {
            None => self.route.was_sent_again(),
            Some(journey) => journey.was_sent_again(&self.route),
        }
    }

    /// Number of body bytes that the last exchange, of `step`, has read, even if the exchange was cut
    /// short; without those of the redirects that it followed.
    pub fn received(&self, step: &Step) -> u64 {
        self.last().received(step)
    }

    /// The redirects that the last exchange followed, after [`Self::keep_samples`]. `reqwest` does not tell them.
    pub fn hops(&self) -> &[Hop] {
        self.journey.as_ref().map_or(&[], |journey| journey.hops())
    }

    /// Names of the cookies that the user keeps. `reqwest` does not tell them.
    pub fn cookies(&self) -> Vec<String> {
        self.journey.as_ref().map(|journey| journey.cookies()).unwrap_or_default()
    }
}
