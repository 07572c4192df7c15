//! The `http2` transport: one connection per user, or connections that users share (RFC 9113).

mod exchange;
mod failure;
mod opening;
mod own;
mod request;
mod shared;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use tokio::task::JoinSet;
use url::Url;

use self::exchange::Response;
use self::opening::Opened;
use self::own::Own;
use self::request::{Message, Rendered};
use self::shared::{Client, Pool, Slot};
use super::addresses::Addresses;
use super::connections::Tally;
use super::{Answer, Body, Failure, Headers, Keep, encoding};
use crate::engine::check::expectations::reads_headers;
use crate::engine::plan::{Number, Plan, Share};
use crate::measure::{Connections, ErrorKind};
use crate::scenario::{Data, Step};

/// Number of connections opened concurrently before the start. Stays below the shortest usual
/// backlog of a listening server (128).
const AT_ONCE: usize = 100;

/// State shared by all users: the server's addresses, and the constant parts of each request.
pub struct Http2 {
    dialer: Arc<Dialer>,
    share: Share,
    messages: Vec<Message>,
    /// The connections that users share; `None` if each user has its own.
    pool: Option<Pool>,
    /// Users' own connections that were opened before the start and are still unused, by their user's
    /// number within the process.
    opened: Mutex<HashMap<u32, Box<Own>>>,
}

/// Opens connections and counts them.
struct Dialer {
    addresses: Addresses,
    tally: Tally,
}

impl Http2 {
    /// Creates the transport for a plan whose base URL starts with `http://`.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let url = Url::parse(&plan.base_url).map_err(|e| format!("{}: {e}", plan.base_url))?;
        if url.scheme() != "http" {
            let scheme = url.scheme();
            return Err(format!(
                "transport = \"http2\" supports http:// addresses, not {scheme}://"
            ));
        }
        let addresses = Addresses::of(&url).ok_or(format!("{}: no host", plan.base_url))?;
        let steps = plan.scenario.steps.iter();
        let messages = steps.map(|step| Message::new(step, &url)).collect::<Result<_, _>>()?;
        let dialer = Arc::new(Dialer { addresses, tally: Tally::default() });
        let sharing = plan.scenario.http.sharing;
        let pool = plan.share.connections(sharing, plan.scenario.load.users)?;
        let pool = pool.map(|connections| Pool::new(connections, sharing.streams));
        Ok(Self { dialer, share: plan.share, messages, pool, opened: Mutex::default() })
    }

    /// Opens the first connections of these users. Stops at the first error: the remaining users
    /// connect when they send, and count the error.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        if self.dialer.addresses.find().await.is_err() {
            return;
        }
        match &self.pool {
            Some(pool) => self.open_shared(pool, users).await,
            None => self.open_own(users).await,
        }
    }

    async fn open_own(&self, users: impl Iterator<Item = Number>) {
        let mut opening = JoinSet::new();
        for user in users {
            if opening.len() >= AT_ONCE && !self.keep(opening.join_next().await) {
                return;
            }
            let dialer = self.dialer.clone();
            opening.spawn(async move { (user.local, dialer.open(user.global).await) });
        }
        while self.keep(opening.join_next().await) {}
    }

    /// Stores an opened connection for its user. Returns `false` if `opened` contains no connection.
    fn keep<E>(&self, opened: Option<Result<(u32, Result<Opened, Failure>), E>>) -> bool {
        let Some(Ok((user, Ok(opened)))) = opened else { return false };
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(user, Box::new(Own::new(opened)));
        true
    }

    /// Opens the connections one after another: they are few.
    async fn open_shared(&self, pool: &Pool, users: impl Iterator<Item = Number>) {
        let mut slots: Vec<Arc<Slot>> = users.map(|user| pool.slot(user.local)).collect();
        slots.sort_unstable_by_key(|slot| slot.number);
        slots.dedup_by_key(|slot| slot.number);
        for slot in slots {
            if self.client(pool, &slot).await.is_err() {
                return;
            }
        }
    }

    /// Returns a client of a shared connection, which is opened first if it is not open.
    async fn client(&self, pool: &Pool, slot: &Slot) -> Result<Client, Failure> {
        let global = self.share.number(slot.number).global;
        slot.client(pool, self.dialer.open(global)).await
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn own(&self, user: Number) -> Result<Box<Own>, Failure> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).remove(&user.local);
        if let Some(mut own) = opened {
            if own.is_quiet() {
                return Ok(own);
            }
        }
        Ok(Box::new(Own::new(self.dialer.open(user.global).await?)))
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        self.dialer.tally.connections(Some(&self.dialer.addresses))
    }
}

impl Dialer {
    async fn open(&self, user: u32) -> Result<Opened, Failure> {
        let opened = opening::open(&self.addresses, user).await?;
        self.tally.opened();
        Ok(opened)
    }
}

/// A user's access to its connection, with its current request and response.
pub struct Link<'a> {
    shared: &'a Http2,
    user: Number,
    connection: Access<'a>,
    /// The request that was rendered last; `None` once it is sent.
    request: Option<Rendered>,
    /// Buffer for generated text.
    text: String,
    response: Response,
    /// Minimum part of each body to keep, even if nothing reads the body.
    least: Keep,
}

/// The connection that a user's requests take; `None` before the first request, or if the connection
/// was closed.
enum Access<'a> {
    Own(Option<Box<Own>>),
    Shared { pool: &'a Pool, slot: Arc<Slot>, client: Option<Client> },
}

impl<'a> Link<'a> {
    pub fn new(shared: &'a Http2, user: Number) -> Self {
        let connection = match &shared.pool {
            None => Access::Own(None),
            Some(pool) => Access::Shared { pool, slot: pool.slot(user.local), client: None },
        };
        Self {
            shared,
            user,
            connection,
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
        self.response.received
    }

    /// Answers what the server sends on the user's own connection while the user waits, such as PING.
    pub fn tend(&mut self, context: &mut Context<'_>) {
        if let Access::Own(own) = &mut self.connection {
            // A closed connection is dropped, and opened again for the next request.
            if own.as_mut().is_some_and(|open| !open.tend(context)) {
                *own = None;
            }
        }
    }

    pub async fn exchange(&mut self, step: &Step) -> Result<Answer<'_>, Failure> {
        let Self { shared, response, least, .. } = self;
        response.clear();
        let Some(request) = self.request.take() else {
            // Unreachable: a request is rendered before it is sent.
            return Err(Failure::new(ErrorKind::Protocol, "no request"));
        };
        let is_first = match &mut self.connection {
            Access::Own(own) => {
                let is_quiet = own.as_mut().is_some_and(|open| open.is_quiet());
                let own = match own {
                    Some(open) if is_quiet => open,
                    _ => own.insert(Box::pin(shared.own(self.user)).await?),
                };
                own.exchange(request, step, *least, response).await?;
                !std::mem::replace(&mut own.has_answered, true)
            }
            Access::Shared { pool, slot, client } => {
                let is_open = client.as_mut().is_some_and(Client::is_open);
                let client = match client {
                    Some(open) if is_open => open,
                    _ => client.insert(Box::pin(shared.client(pool, slot)).await?),
                };
                client.exchange(request, step, *least, response).await?;
                client.is_first()
            }
        };
        if is_first {
            shared.dialer.tally.speaks("HTTP/2");
        }
        let Some(head) = &response.head else {
            // Unreachable: an exchange ends only with a whole response.
            return Err(Failure::new(ErrorKind::Protocol, "incomplete response"));
        };
        let status = head.status.as_u16();
        let keep = Keep::of(step, status).max(*least);
        let encoding = encoding(&head.headers, keep);
        let headers = match *least == Keep::Sample || reads_headers(step) {
            true => Headers::Map(&head.headers),
            false => Headers::Unkept,
        };
        Ok(Answer { status, headers, body: Body::Kept(&response.kept), encoding })
    }
}
