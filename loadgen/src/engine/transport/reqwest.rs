//! The `reqwest` transport: one client, whose connections all users of the process share.

mod client;
mod cookies;

use std::error::Error;
use std::io;
use std::mem;
use std::sync::Arc;

use reqwest::Client;
use reqwest::cookie::Jar;
use reqwest::header::HeaderMap;

use self::cookies::with_cookies;
use super::{Answer, Body, Failure, Headers, Keep};
use crate::engine::check::reads_headers;
use crate::engine::plan::Plan;
use crate::measure::ErrorKind;
use crate::scenario::{Data, Http, HttpVersion, Method, RenderError, Step};

/// The client that all users share. It keeps connections alive.
pub struct Reqwest {
    client: Client,
    http: Http,
    base_url: String,
    steps: Vec<Step>,
}

impl Reqwest {
    /// A client without any connection yet.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let http = plan.scenario.http.clone();
        let client = client::client(&http, &plan.base_url).map_err(|e| root(&e))?;
        let (base_url, steps) = (plan.base_url.clone(), plan.scenario.steps.clone());
        Ok(Self { client, http, base_url, steps })
    }
}

/// One user's requests, and what came back.
pub struct Link<'a> {
    shared: &'a Reqwest,
    /// A client of the user's own for HTTP/2, where one client has one connection: a hundred users
    /// are a hundred connections, whatever they speak.
    own: Option<Client>,
    cookies: Arc<Jar>,
    request: Request,
    received: u64,
    kept: Vec<u8>,
    /// Those of the last answer, where its step captures one.
    headers: HeaderMap,
    /// What is kept of a body at the least.
    least: Keep,
}

/// One request with all generated parts filled in. Its buffers are used again for the next one.
#[derive(Debug, Default)]
struct Request {
    url: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

impl<'a> Link<'a> {
    pub fn new(shared: &'a Reqwest) -> Self {
        Self {
            shared,
            own: None,
            cookies: Arc::default(),
            request: Request::default(),
            received: 0,
            kept: Vec::new(),
            headers: HeaderMap::new(),
            least: Keep::default(),
        }
    }

    /// Makes the next request. A client of the user's own is made here as well, as it takes
    /// milliseconds, which are not the server's.
    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), RenderError> {
        if self.own.is_none() && self.shared.http.version == HttpVersion::Http2 {
            // Why there is none is told by the exchange.
            self.own = client::client(&self.shared.http, &self.shared.base_url).ok();
        }
        self.request.render(&self.shared.base_url, &self.shared.steps[index], data)
    }

    pub fn keep_beginnings(&mut self) {
        self.least = Keep::Beginning;
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        self.received = 0;
        self.kept.clear();
        let cookies = self.cookies.clone();
        with_cookies(cookies, self.send_and_read(step)).await
    }

    async fn send_and_read(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        let client = match (self.shared.http.version, &self.own) {
            (HttpVersion::Http11, _) => &self.shared.client,
            (HttpVersion::Http2, Some(own)) => own,
            (HttpVersion::Http2, None) => {
                let own = client::client(&self.shared.http, &self.shared.base_url);
                self.own.insert(own.map_err(|e| failure(&e))?)
            }
        };
        let mut builder = client.request(method(step.method), &self.request.url);
        for (name, value) in &self.request.headers {
            builder = builder.header(name, value);
        }
        if let Some(body) = &self.request.body {
            builder = builder.body(body.clone());
        }
        let mut response = builder.send().await.map_err(|e| failure(&e))?;
        let status = response.status().as_u16();
        let keep = Keep::of(step, status).max(self.least);
        while let Some(chunk) = response.chunk().await.map_err(|e| failure(&e))? {
            self.received += chunk.len() as u64;
            let room = keep.room(self.kept.len(), chunk.len())?;
            self.kept.extend_from_slice(&chunk[..room]);
        }
        let mut headers = Headers::Unkept;
        if reads_headers(step) {
            self.headers = mem::take(response.headers_mut());
            headers = Headers::Map(&self.headers);
        }
        Ok(Answer { status, headers, body: Body::Kept(&self.kept) })
    }
}

impl Request {
    fn render(&mut self, base_url: &str, step: &Step, data: &mut Data) -> Result<(), RenderError> {
        self.url.clear();
        self.url.push_str(base_url);
        step.path.render(data, &mut self.url)?;
        self.headers.clear();
        for (name, value) in &step.headers {
            let mut text = String::new();
            value.render(data, &mut text)?;
            self.headers.push((name.clone(), text));
        }
        let may_have_body = matches!(step.method, Method::Post | Method::Put | Method::Patch);
        self.body = None;
        if let Some(body) = &step.body {
            if !step.headers.iter().any(|(name, _)| name == "content-type") {
                self.headers.push(("content-type".to_owned(), body.content_type.clone()));
            }
            let mut text = String::new();
            body.text.render(data, &mut text)?;
            self.body = Some(text);
        }
        // reqwest is silent about a body of nothing: see RFC 9110, section 8.6.
        if self.body.as_ref().map_or(may_have_body, String::is_empty) {
            self.headers.push(("content-length".to_owned(), "0".to_owned()));
        }
        Ok(())
    }
}

/// Gives an error its kind, from what lies at its root.
fn failure(error: &reqwest::Error) -> Failure {
    let kind = if error.is_connect() {
        ErrorKind::Connect
    } else if causes(error).any(broke_off) {
        ErrorKind::Reset
    } else {
        ErrorKind::Protocol
    };
    Failure::new(kind, root(error))
}

fn broke_off(cause: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof,
    };
    if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
        return hyper.is_incomplete_message() || hyper.is_canceled() || hyper.is_closed();
    }
    cause.downcast_ref::<io::Error>().is_some_and(|e| {
        matches!(
            e.kind(),
            BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
        )
    })
}

/// An error and what caused it, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e: &&'a (dyn Error + 'static)| (*e).source())
}

/// What the innermost cause says: the outer ones only repeat the URL.
fn root(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
        Method::Head => reqwest::Method::HEAD,
    }
}
