//! The `reqwest` transport: one client per user, with the user's connections and cookies.

mod client;
mod counted;
mod hops;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;
use std::{io, mem};

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Version};
use tokio::task::yield_now;
use url::Url;

use self::client::Clients;
use self::counted::Opened;
use self::hops::Hops;
use super::addresses::Addresses;
use super::connections::Tally;
use super::failure::{Failure, PROXY, REDIRECTED, Work};
use super::resend::Resend;
use super::step_request::place;
use super::{Answer, Body, Form, Headers, Keep, form, step_request, tls};
use crate::check::expectations::{is_expected, reads_headers};
use crate::plan::{Number, Plan};
use crate::stream::{Meter, Streamed};
use loadgen_measure::{Connections, ErrorKind, StreamTimes};
use loadgen_scenario::{Data, Method, ServerUrl, Step};

/// State shared by all users of this transport.
pub struct Reqwest {
    clients: Clients,
    /// The server's addresses; `None` if a proxy looks up the addresses, or the server is on a socket.
    addresses: Option<Arc<Addresses>>,
    tally: Arc<Tally>,
    base_url: String,
    steps: Vec<Step>,
}

impl Reqwest {
    /// Creates the transport, without opening a connection.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let http = plan.scenario.http.clone();
        let ServerUrl { url, socket } = plan.server()?;
        if socket.is_some() && (http.proxy.is_some() || plan.scenario.follows_redirects()) {
            return Err("the transport reqwest takes neither a proxy nor redirects with a socket"
                .to_owned());
        }
        let has_lookup = http.proxy.is_none() && socket.is_none();
        let addresses = Addresses::of(&url).filter(|_| has_lookup).map(Arc::new);
        let clients = Clients::new(http, &url, addresses.clone(), socket)?;
        // Reports an invalid proxy before anything is sent.
        clients.client(0, Opened::default(), Hops::default()).map_err(|e| root(&e))?;
        let base_url = url.as_str().trim_end_matches('/').to_owned();
        let steps = plan.scenario.steps.clone();
        Ok(Self { clients, addresses, tally: Arc::default(), base_url, steps })
    }

    /// Looks up the server's addresses. Ignores an error, because
    /// the first request reports the error.
    pub async fn find_addresses(&self) {
        if let Some(addresses) = &self.addresses {
            let _ = addresses.find().await;
        }
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        self.tally.connections(self.addresses.as_ref().map(|it| it.records()).unwrap_or_default())
    }
}

/// Lets hyper's tasks return a connection to the pool after its answer is read. A request sent
/// before the return would open another connection.
pub(super) async fn settle() {
    yield_now().await;
}

/// A user's client, with its current request and answer.
pub struct Link {
    shared: Arc<Reqwest>,
    user: Number,
    client: Option<Client>,
    opened: Opened,
    hops: Hops,
    /// Number of opened connections over which an answer has come.
    answered: u64,
    request: Request,
    pub(super) resend: Resend,
    received: u64,
    /// Time when the head of the last answer was read; `None` if none came.
    headed: Option<Instant>,
    /// Measures the streams; `None` before the first one.
    meter: Option<Box<Meter>>,
    kept: Vec<u8>,
    /// Headers of the last answer.
    headers: HeaderMap,
    /// Minimum part of each body to keep, even if nothing reads the body.
    least: Keep,
}

/// A response that was read, without its headers and its body.
pub struct Came {
    status: u16,
    form: Option<Box<Form<'static>>>,
    streamed: Option<Streamed>,
}

/// A request with all generated parts rendered. The next request reuses the buffers.
#[derive(Debug, Default)]
struct Request {
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
}

impl Link {
    pub fn new(shared: Arc<Reqwest>, user: Number) -> Self {
        Self {
            user,
            client: None,
            opened: Opened::new(shared.tally.clone()),
            resend: Resend::new(shared.clients.resends()),
            shared,
            hops: Hops::default(),
            answered: 0,
            request: Request::default(),
            received: 0,
            headed: None,
            meter: None,
            kept: Vec::new(),
            headers: HeaderMap::new(),
            least: Keep::default(),
        }
    }

    /// Renders the next request. Also creates the user's client at the first call, so that the time
    /// measured for the server does not include this work.
    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        self.resend.begin();
        if self.client.is_none() {
            // On an error, the exchange tries again and reports why.
            self.client = self.new_client().ok();
        }
        self.request.render(&self.shared.base_url, &self.shared.steps[index], data)
    }

    /// Adds a field to the request that was rendered last.
    pub fn add_field(&mut self, name: &str, value: &str) {
        self.request.headers.push((name.to_owned(), value.to_owned()));
    }

    fn new_client(&self) -> Result<Client, reqwest::Error> {
        self.shared.clients.client(self.user.global, self.opened.clone(), self.hops.clone())
    }

    pub fn keep_samples(&mut self) {
        self.least = Keep::Sample;
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn first_byte(&self) -> Option<Instant> {
        self.headed
    }

    pub fn stream_times(&self) -> Option<StreamTimes<'_>> {
        self.meter.as_ref().map(|meter| meter.times())
    }

    /// Names the host that could not be reached, if it is not the server.
    fn named(&self, failure: Failure) -> Failure {
        if failure.kind != ErrorKind::Connect {
            return failure;
        }
        let Reqwest { clients, base_url, .. } = &*self.shared;
        let proxy = clients.proxy().and_then(|proxy| Some(place(&Url::parse(proxy).ok()?)));
        let server = Url::parse(base_url).ok().as_ref().map(place);
        let other = self.hops.last().as_ref().map(place);
        let message = match (proxy, other.filter(|other| Some(other) != server.as_ref())) {
            (Some(proxy), _) => format!("{PROXY}{proxy}: {}", failure.message),
            (None, Some(other)) => format!("{other}, {REDIRECTED}: {}", failure.message),
            (None, None) => return failure,
        };
        Failure::new(ErrorKind::Connect, message)
    }

    /// Sends the request that was rendered last, once more if the server did not process it, and reads the response.
    pub async fn send(&mut self, step: &Step) -> Result<Came, Failure> {
        self.received = 0;
        self.headed = None;
        self.kept.clear();
        if step.expect.stream.is_some() {
            Meter::begin(&mut self.meter);
        }
        let mut response = loop {
            match self.send_once(step).await {
                Ok(response) => break response,
                Err(failure) if self.resend.again(&failure, step.method.is_idempotent()) => {}
                Err(failure) => return Err(failure),
            }
        };
        self.headed = Some(Instant::now());
        let opened = self.opened.count();
        if opened > self.answered {
            self.answered = opened;
            self.shared.tally.speaks(name(response.version()));
            if let (Some(all), Some(one)) = (&self.shared.addresses, response.remote_addr()) {
                all.connected(one);
            }
        }
        let mut stream = step.expect.stream.as_ref().zip(self.meter.as_deref_mut());
        let status = response.status().as_u16();
        let keep = Keep::of(step, status).max(self.least);
        while let Some(chunk) = response.chunk().await.map_err(|e| failure(&e))? {
            self.received += chunk.len() as u64;
            if let Some((stream, meter)) = stream.as_mut().filter(|_| is_expected(step, status)) {
                let headers = Headers::Map(response.headers());
                meter.read(stream, |name| headers.first(name), Instant::now(), &chunk);
            }
            let room = keep.room(self.kept.len(), chunk.len())?;
            self.kept.extend_from_slice(&chunk[..room]);
            if let Some((_, meter)) = stream.as_mut().filter(|(it, meter)| meter.is_at_close(it)) {
                meter.close();
                break;
            }
        }
        let form = form(Headers::Map(response.headers()), keep);
        self.headers = mem::take(response.headers_mut());
        let streamed = stream.map(|(stream, meter)| meter.end(stream));
        Ok(Came { status, form, streamed })
    }

    /// Returns the answer to `step`, which has come last.
    pub fn answer(&self, came: Came, step: &Step) -> Answer<'_> {
        let Came { status, form, streamed } = came;
        let headers = match self.least == Keep::Sample || reads_headers(step) {
            true => Headers::Map(&self.headers),
            false => Headers::Unkept,
        };
        Answer { status, headers, body: Body::Kept(&self.kept), form, streamed }
    }

    /// Sends the request that was rendered last, and reads the head of the response.
    async fn send_once(&mut self, step: &Step) -> Result<Response, Failure> {
        self.hops.begin(step.redirects);
        let opened = self.opened.count();
        let client = match &self.client {
            Some(client) => client,
            None => {
                let client = self.new_client().map_err(|e| failure(&e))?;
                self.client.insert(client)
            }
        };
        let mut builder = client.request(method(&step.method), &self.request.url);
        for (name, value) in &self.request.headers {
            builder = builder.header(name, value);
        }
        if let Some(body) = &self.request.body {
            builder = builder.body(body.clone());
        }
        // A connection that was opened for this request has carried no other.
        let is_used = |this: &Self| opened > 0 && this.opened.count() == opened;
        builder.send().await.map_err(|error| {
            let failure = self.named(failure(&error));
            match work(&error) {
                Work::Unanswered if !is_used(self) => failure,
                // The server may have answered with a redirect, and the next request was refused.
                _ if self.hops.has_moved() && !step.method.is_idempotent() => failure,
                work => failure.with(work),
            }
        })
    }
}

impl Request {
    fn render(&mut self, base_url: &str, step: &Step, data: &mut Data) -> Result<(), Failure> {
        self.url.clear();
        self.url.push_str(base_url);
        step.path.render(data, &mut self.url)?;
        self.headers.clear();
        for (name, value) in &step.headers {
            let mut text = String::new();
            value.render(data, &mut text)?;
            self.headers.push((name.clone(), text));
        }
        self.body = None;
        if let Some(body) = &step.body {
            if !step.headers.iter().any(|(name, _)| name == "content-type") {
                self.headers.push(("content-type".to_owned(), body.content_type.clone()));
            }
            // All of it is in memory: a scenario may have no more.
            self.body = Some(step_request::body(body, data)?.into_bytes()?);
        }
        // reqwest sends no `content-length` for an empty body: see RFC 9110, section 8.6.
        if self.body.as_ref().map_or(step.method.expects_body(), Bytes::is_empty) {
            self.headers.push(("content-length".to_owned(), "0".to_owned()));
        }
        Ok(())
    }
}

/// The name of an HTTP version.
fn name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}

/// Returns what is known of the server's work for a request without a response. hyper itself sends requests again
/// that it had not begun to send.
fn work(error: &reqwest::Error) -> Work {
    let of_http2 = causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>());
    match of_http2 {
        Some(error) if error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM) => {
            Work::None
        }
        Some(error) if error.is_remote() && error.is_reset() => Work::Possible,
        _ if causes(error).any(broke_off) => Work::Unanswered,
        _ => Work::Possible,
    }
}

/// Classifies an error by its causes.
fn failure(error: &reqwest::Error) -> Failure {
    let kind = if error.is_connect() {
        ErrorKind::Connect
    } else if causes(error).any(broke_off) {
        ErrorKind::Reset
    } else {
        ErrorKind::Protocol
    };
    let certificate = causes(error).find_map(tls::certificate_fault);
    Failure::new(kind, certificate.unwrap_or_else(|| root(error)))
}

fn broke_off(cause: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof,
    };
    if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
        return hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed();
    }
    if let Some(http2) = cause.downcast_ref::<h2::Error>() {
        // The server has sent RST_STREAM or GOAWAY.
        return http2.is_remote();
    }
    cause.downcast_ref::<io::Error>().is_some_and(|e| {
        matches!(
            e.kind(),
            BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
        )
    })
}

/// Returns an error and its causes, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e: &&'a (dyn Error + 'static)| (*e).source())
}

/// Returns the message of the innermost cause, because the outer causes only repeat the URL.
fn root(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn method(method: &Method) -> reqwest::Method {
    // The scenario's parser accepts only tokens, as reqwest does.
    reqwest::Method::from_bytes(method.name().as_bytes()).unwrap_or_default()
}
