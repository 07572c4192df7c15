//! The `reqwest` transport: one client, whose connections all users of the process share.

use std::error::Error;
use std::io;

use reqwest::{Client, Response, redirect};

use super::{Answer, Body, Failure, Keep};
use crate::engine::plan::Plan;
use crate::measure::ErrorKind;
use crate::scenario::{Data, Method, Step};

/// The client that all users share. It keeps connections alive.
pub struct Reqwest {
    client: Client,
    base_url: String,
    steps: Vec<Step>,
}

impl Reqwest {
    /// A client without any connection yet. Proxies of the environment are not used: what is
    /// measured is the server that was named.
    pub fn new(plan: &Plan) -> Result<Self, Failure> {
        let client = Client::builder()
            .user_agent(concat!("loadgen/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .no_gzip()
            .tcp_nodelay(true)
            .http1_only()
            .build()
            .map_err(|e| Failure::new(ErrorKind::Connect, root(&e)))?;
        Ok(Self { client, base_url: plan.base_url.clone(), steps: plan.scenario.steps.clone() })
    }
}

/// One user's requests, and what came back.
pub struct Link<'a> {
    shared: &'a Reqwest,
    request: Request,
    received: u64,
    kept: Vec<u8>,
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
        Self { shared, request: Request::default(), received: 0, kept: Vec::new() }
    }

    pub fn render(&mut self, index: usize, data: &mut Data) {
        self.request.render(&self.shared.base_url, &self.shared.steps[index], data);
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        self.received = 0;
        self.kept.clear();
        let mut response = self.send(step).await?;
        let status = response.status().as_u16();
        let keep = Keep::of(step, status);
        while let Some(chunk) = response.chunk().await.map_err(|e| failure(&e))? {
            self.received += chunk.len() as u64;
            let room = keep.room(self.kept.len(), chunk.len())?;
            self.kept.extend_from_slice(&chunk[..room]);
        }
        Ok(Answer { status, body: Body::Kept(&self.kept) })
    }

    async fn send(&self, step: &Step) -> Result<Response, Failure> {
        let mut builder = self.shared.client.request(method(step.method), &self.request.url);
        for (name, value) in &self.request.headers {
            builder = builder.header(name, value);
        }
        if let Some(body) = &self.request.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|e| failure(&e))
    }
}

impl Request {
    fn render(&mut self, base_url: &str, step: &Step, data: &mut Data) {
        self.url.clear();
        self.url.push_str(base_url);
        step.path.render(data, &mut self.url);
        self.headers.clear();
        for (name, value) in &step.headers {
            let mut text = String::new();
            value.render(data, &mut text);
            self.headers.push((name.clone(), text));
        }
        self.body = step.body.as_ref().map(|body| {
            if !step.headers.iter().any(|(name, _)| name == "content-type") {
                self.headers.push(("content-type".to_owned(), body.content_type.clone()));
            }
            let mut text = String::new();
            body.text.render(data, &mut text);
            text
        });
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
