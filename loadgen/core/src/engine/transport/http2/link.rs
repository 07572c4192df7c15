//! One user's requests.

use std::mem;
use std::sync::Arc;
use std::task::Context;

use super::exchange::Response;
use super::fallback::Fallback;
use super::own::Own;
use super::request::Rendered;
use super::shared::{Access, Client, Pool, Slot};
use super::{Http2, Line};
use crate::engine::check::expectations::reads_headers;
use crate::engine::plan::Number;
use crate::engine::transport::dialer::Sessions;
use crate::engine::transport::{Answer, Body, Failure, Headers, Keep, encoding};
use crate::measure::ErrorKind;
use crate::scenario::{Data, Step};

/// A user's access to its connection, with its current request and response.
pub struct Link<'a> {
    shared: &'a Http2,
    user: Number,
    way: Way<'a>,
    /// The user's connection to a server that chose HTTP/1.1; `None` for HTTP/2.
    fallback: Option<Box<Fallback>>,
    sessions: Sessions,
    /// The request that was rendered last; `None` once it is sent.
    request: Option<Rendered>,
    /// Buffer for generated text.
    text: String,
    response: Response,
    /// Minimum part of each body to keep, even if nothing reads the body.
    least: Keep,
}

/// The connection that a user's requests take; `None` before the first request, or if it was closed.
enum Way<'a> {
    Own(Option<Box<Own>>),
    Shared { pool: &'a Pool, slot: Arc<Slot>, client: Option<Client> },
}

impl<'a> Link<'a> {
    pub fn new(shared: &'a Http2, user: Number) -> Self {
        let way = match &shared.pool {
            None => Way::Own(None),
            Some(pool) => Way::Shared { pool, slot: pool.slot(user.local), client: None },
        };
        Self {
            shared,
            user,
            way,
            fallback: None,
            sessions: Sessions::default(),
            request: None,
            text: String::new(),
            response: Response::default(),
            least: Keep::default(),
        }
    }

    pub fn render(&mut self, index: usize, data: &mut Data) -> Result<(), Failure> {
        self.request = Some(self.shared.messages[index].render(data, &mut self.text)?);
        Ok(())
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

    /// Answers what the server sends on the user's own connection while the user waits, such as PING.
    pub fn tend(&mut self, context: &mut Context<'_>) {
        if let Way::Own(own) = &mut self.way {
            // A closed connection is dropped, and opened again for the next request.
            if own.as_mut().is_some_and(|open| !open.tend(context)) {
                *own = None;
            }
        }
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        self.response.clear();
        let Some(request) = self.request.take() else {
            // Unreachable: a request is rendered before it is sent.
            return Err(Failure::new(ErrorKind::Protocol, "no request"));
        };
        if !self.is_connected() {
            // Boxed, so that users with a connection don't carry the memory for opening one.
            Box::pin(self.connect()).await?;
        }
        let Self { shared, response, least, .. } = self;
        if let Some(fallback) = &mut self.fallback {
            // Boxed, because few servers choose HTTP/1.1.
            let exchange = Box::pin(fallback.exchange(&request, step, *least));
            let (answer, first) = exchange.await?;
            first.into_iter().for_each(|version| shared.dialer.speaks(version));
            return Ok(answer);
        }
        let is_first = match &mut self.way {
            Way::Own(Some(own)) => {
                own.exchange(request, step, *least, response).await?;
                !mem::replace(&mut own.has_answered, true)
            }
            Way::Shared { client: Some(client), .. } => {
                client.exchange(request, step, *least, response).await?;
                client.is_first()
            }
            // Unreachable: the user is connected.
            _ => return Err(Failure::new(ErrorKind::Connect, "no connection")),
        };
        if is_first {
            shared.dialer.speaks("HTTP/2");
        }
        if let (false, Way::Own(own)) = (shared.keeps_alive, &mut self.way) {
            *own = None;
        }
        response.answer(step, *least)
    }

    /// Whether the next request has a connection.
    fn is_connected(&mut self) -> bool {
        if let Some(fallback) = &mut self.fallback {
            return self.shared.keeps_alive && fallback.is_quiet();
        }
        match &mut self.way {
            Way::Own(own) => own.as_mut().is_some_and(|own| own.is_quiet()),
            Way::Shared { client, .. } => client.as_mut().is_some_and(Client::is_open),
        }
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        self.fallback = None;
        let stream = match &mut self.way {
            Way::Own(own) => match self.shared.own(self.user, &mut self.sessions).await? {
                Line::Http2(new) => {
                    *own = Some(new);
                    return Ok(());
                }
                Line::Http1(stream) => stream,
            },
            Way::Shared { pool, slot, client } => match self.shared.client(pool, slot).await? {
                Access::Shared(new) => {
                    *client = Some(new);
                    return Ok(());
                }
                Access::Http1(stream) => stream,
            },
        };
        self.fallback = Some(Box::new(Fallback::new(stream)));
        Ok(())
    }
}

impl Response {
    /// Returns the answer to `step`.
    fn answer(&self, step: &Step, least: Keep) -> Result<Answer<'_>, Failure> {
        let Some(head) = &self.head else {
            // Unreachable: an exchange ends only with a whole response.
            return Err(Failure::new(ErrorKind::Protocol, "incomplete response"));
        };
        let status = head.status.as_u16();
        let keep = Keep::of(step, status).max(least);
        let encoding = encoding(&head.headers, keep);
        let headers = match least == Keep::Sample || reads_headers(step) {
            true => Headers::Map(&head.headers),
            false => Headers::Unkept,
        };
        Ok(Answer { status, headers, body: Body::Kept(&self.kept), encoding })
    }
}
