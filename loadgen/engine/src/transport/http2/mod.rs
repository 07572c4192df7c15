//! The `http2` transport: one connection per user, or connections that users share (RFC 9113).
//!
//! A [`Link`] sends the requests of a user, which [`request`] makes, and keeps the response ([`exchange`]).
//! Its connection is the user's [`own`], or one of a [`pool`] that users share ([`shared`]). Both let [`wire`]
//! send and receive, and a [`session`] understand what has come: the protocol, without input and output. The
//! session reads and writes frames ([`frame`]) and header sections ([`hpack`]), whose fields it [`checks`], and
//! names what servers do wrong ([`code`]). If the server has chosen HTTP/1.1, the requests of a user take the
//! [`fallback`].

mod checks;
mod code;
mod exchange;
mod fallback;
mod frame;
mod hpack;
mod link;
mod own;
mod pool;
mod request;
mod session;
mod shared;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use self::link::Link;
use self::own::Own;
use self::pool::{Access, Pool, Slot};
use self::request::Message;
#[cfg(any(test, fuzzing))]
pub use self::session::fuzzing::http2_foreign;
use super::Failure;
use super::ahead::Ahead;
use super::dialer::{Dialer, Sessions};
use super::http1::Idle;
use crate::plan::{Number, Plan, Share};
use loadgen_measure::{Connections, ErrorKind};
use loadgen_scenario::Reuse;

/// State shared by all users: how connections are opened, and the constant parts of each request.
pub struct Http2 {
    dialer: Arc<Dialer>,
    /// Whether the next request of a user uses the same connection.
    keeps_alive: bool,
    /// Whether requests that the server did not process are sent again.
    resends: bool,
    /// Whether users keep the cookies of responses.
    keeps_cookies: bool,
    /// This process's share of the users, which maps a user's local number to its global number.
    share: Share,
    messages: Vec<Message>,
    /// The connections that users share; `None` if each user has its own.
    pool: Option<Pool>,
    /// Users' own connections that were opened before the start.
    opened: Ahead<OfUser>,
}

/// A user's connection, and the sessions that its next connection can resume.
type OfUser = (Line, Sessions);

/// A user's own connection, in the version of HTTP that the server has chosen.
enum Line {
    Http2(Box<Own>),
    Http1(Idle),
}

impl Http2 {
    /// Creates the transport for a plan, without opening a connection.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let server = plan.server()?;
        let url = &server.url;
        let dialer = Arc::new(Dialer::new(plan, &server)?);
        let http = &plan.scenario.http;
        let steps = plan.scenario.steps.iter();
        let protos = plan.scenario.grpc.as_ref();
        let messages = steps.map(|step| Message::new(step, protos, url));
        let messages = messages.collect::<Result<_, _>>()?;
        let pool = plan.share.connections(http.sharing, plan.scenario.load.users)?;
        let pool = pool.map(|connections| Pool::new(connections, http.sharing.streams));
        let keeps_alive = http.connection != Reuse::PerRequest;
        let (share, opened, resends) = (plan.share, Ahead::default(), http.resends);
        let keeps_cookies = http.cookies;
        Ok(Self { dialer, keeps_alive, resends, keeps_cookies, share, messages, pool, opened })
    }

    /// Opens the first connections of these users. Stops at the first error: the remaining users
    /// connect when they send, and count the error.
    pub async fn open(&self, users: impl Iterator<Item = Number>) {
        if !self.keeps_alive || self.dialer.find().await.is_err() {
            return;
        }
        match &self.pool {
            Some(pool) => self.open_shared(pool, users).await,
            None => self.open_own(users).await,
        }
    }

    async fn open_own(&self, users: impl Iterator<Item = Number>) {
        let connect = |user: Number| {
            let dialer = self.dialer.clone();
            async move {
                let mut sessions = Sessions::default();
                let line = Line::open(&dialer, user.global, &mut sessions).await;
                line.ok().map(|line| (line, sessions))
            }
        };
        self.opened.open(users, connect).await;
    }

    /// Opens the connections one after another: they are few. If the server chooses HTTP/1.1, opens a
    /// connection for each user.
    async fn open_shared(&self, pool: &Pool, users: impl Iterator<Item = Number>) {
        let (mut users, mut opened) = (users, BTreeSet::new());
        while let Some(user) = users.next() {
            let slot = pool.slot(user.local);
            if !opened.insert(slot.number) {
                continue;
            }
            match self.client(&slot, user).await {
                Ok(Access::Shared(_)) => {}
                Ok(Access::Http1(idle)) => {
                    let line = (Line::Http1(idle), Sessions::default());
                    self.opened.insert(user.local, line);
                    return self.open_own(users).await;
                }
                Err(_) => return,
            }
        }
    }

    /// Returns a client of a shared connection, which is opened first if it is not open.
    async fn client(&self, slot: &Slot, user: Number) -> Result<Access, Failure> {
        let Some(pool) = &self.pool else {
            // Unreachable: a slot is that of a pool.
            return Err(Failure::new(ErrorKind::Connect, "no connection"));
        };
        if let Some((Line::Http1(mut idle), _)) = self.opened.take(user.local) {
            match (idle.is_open(), idle.is_spent()) {
                (true, true) => self.dialer.renewed(),
                (true, false) => return Ok(Access::Http1(idle)),
                (false, _) => {}
            }
        }
        slot.client(pool, &self.dialer, self.share.number(slot.number).global).await
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn own(&self, user: Number, sessions: &mut Sessions) -> Result<Line, Failure> {
        if let Some((mut line, of_user)) = self.opened.take(user.local) {
            *sessions = of_user;
            if line.is_spent() {
                self.dialer.renewed();
            } else if line.is_open() {
                return Ok(line);
            }
        }
        Line::open(&self.dialer, user.global, sessions).await
    }

    /// Returns the counts of the connections opened so far.
    pub fn connections(&self) -> Connections {
        self.dialer.connections()
    }
}

impl Line {
    /// Opens a connection for the user with this global number. Over TLS, the server chooses the version
    /// of HTTP; without TLS, loadgen takes it for granted that the server speaks HTTP/2 ("prior
    /// knowledge").
    async fn open(dialer: &Dialer, user: u32, sessions: &mut Sessions) -> Result<Self, Failure> {
        let stream = dialer.connect(user, false, sessions).await?;
        Ok(match stream.refuses_http2() {
            true => Self::Http1(Idle::new(stream, dialer.life())),
            false => Self::Http2(Box::new(Own::new(stream, dialer.life()))),
        })
    }

    /// Whether loadgen itself ends the connection, because its life is over.
    fn is_spent(&mut self) -> bool {
        match self {
            Self::Http2(own) => own.is_spent(),
            Self::Http1(idle) => idle.is_spent() && idle.is_open(),
        }
    }

    fn is_open(&mut self) -> bool {
        match self {
            Self::Http2(own) => own.is_quiet(),
            Self::Http1(idle) => idle.is_open(),
        }
    }
}
