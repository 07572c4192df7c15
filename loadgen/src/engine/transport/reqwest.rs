//! The `reqwest` transport: one client, whose connections all users of the process share.

mod client;

use std::error::Error;
use std::io;

use reqwest::{Client, Response};

use crate::engine::check::{Answer, reads_body};
use crate::engine::request::Request;
use crate::measure::ErrorKind;
use crate::scenario::{Http, Method, Step};

/// Sends requests over connections that are kept alive. Redirects are answers like any other:
/// they are not followed.
#[derive(Debug, Clone)]
pub struct Transport(Client);

/// Why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind that it counts as.
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
}

impl Transport {
    /// A transport without any connection yet.
    pub fn new() -> Result<Self, reqwest::Error> {
        client::client(&Http::default(), "").map(Self)
    }

    /// Sends one request and reads its answer to the last byte into `answer`, keeping the body
    /// where something reads it.
    pub async fn exchange(
        &self,
        step: &Step,
        request: &Request,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let mut response = self.send(step, request).await?;
        answer.status = response.status().as_u16();
        answer.bytes = 0;
        answer.body.clear();
        // Of an unexpected answer the error shows the beginning.
        let unexpected = match step.expect.status {
            Some(status) => status != answer.status,
            None => !(200..400).contains(&answer.status),
        };
        let keep = unexpected || reads_body(step);
        while let Some(chunk) = response.chunk().await.map_err(|e| failure(&e))? {
            answer.bytes += chunk.len() as u64;
            if keep {
                answer.body.extend_from_slice(&chunk);
            }
        }
        Ok(())
    }

    async fn send(&self, step: &Step, request: &Request) -> Result<Response, Failure> {
        let mut builder = self.0.request(method(step.method), &request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|e| failure(&e))
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
    Failure { kind, message: root(error) }
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
