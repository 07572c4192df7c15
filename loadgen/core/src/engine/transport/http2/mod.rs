//! The `http2` transport: one connection per user, or connections that users share (RFC 9113).

mod exchange;
mod failure;
mod fallback;
mod link;
mod opening;
mod own;
mod request;
mod shared;
mod wire;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::{JoinError, JoinSet};
use url::Url;

pub use self::link::Link;
use self::opening::Opened;
use self::own::Own;
use self::request::Message;
use self::shared::{Access, Pool, Slot};
use super::Failure;
use super::dialer::{Dialer, Sessions};
use super::stream::Stream;
use crate::engine::plan::{Number, Plan, Share};
use crate::measure::Connections;
use crate::scenario::Reuse;

/// Number of connections opened concurrently before the start. Stays below the shortest usual
/// backlog of a listening server (128).
const AT_ONCE: usize = 100;

/// State shared by all users: how connections are opened, and the constant parts of each request.
pub struct Http2 {
    dialer: Arc<Dialer>,
    /// Whether the next request of a user uses the same connection.
    keeps_alive: bool,
    /// This process's share of the users, which maps a user's local number to its global number.
    share: Share,
    messages: Vec<Message>,
    /// The connections that users share; `None` if each user has its own.
    pool: Option<Pool>,
    /// Users' own connections that were opened before the start and are still unused, by their user's
    /// number within the process.
    opened: Mutex<HashMap<u32, (Line, Sessions)>>,
}

/// The number of a user within the process, with its connection and the sessions that its next
/// connection can resume.
type OfUser = (u32, (Line, Sessions));

/// A user's own connection, in the version of HTTP that the server has chosen.
enum Line {
    Http2(Box<Own>),
    Http1(Stream),
}

impl Http2 {
    /// Creates the transport for a plan, without opening a connection.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let url = Url::parse(&plan.base_url).map_err(|e| format!("{}: {e}", plan.base_url))?;
        let dialer = Arc::new(Dialer::new(plan, &url)?);
        let http = &plan.scenario.http;
        let steps = plan.scenario.steps.iter();
        let messages = steps.map(|step| Message::new(step, &url)).collect::<Result<_, _>>()?;
        let pool = plan.share.connections(http.sharing, plan.scenario.load.users)?;
        let pool = pool.map(|connections| Pool::new(connections, http.sharing.streams));
        let keeps_alive = http.connection == Reuse::KeepAlive;
        let opened = Mutex::default();
        Ok(Self { dialer, keeps_alive, share: plan.share, messages, pool, opened })
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
        let mut opening = JoinSet::new();
        for user in users {
            if opening.len() >= AT_ONCE && !self.keep(opening.join_next().await) {
                return;
            }
            let dialer = self.dialer.clone();
            opening.spawn(async move {
                let mut sessions = Sessions::default();
                let line = Line::open(&dialer, user.global, &mut sessions).await;
                line.ok().map(|line| (user.local, (line, sessions)))
            });
        }
        while self.keep(opening.join_next().await) {}
    }

    /// Stores an opened connection for its user. Returns `false` if `opened` contains no connection.
    fn keep(&self, opened: Option<Result<Option<OfUser>, JoinError>>) -> bool {
        let Some(Ok(Some((user, line)))) = opened else { return false };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(user, line);
        true
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
            match self.client(pool, &slot, user).await {
                Ok(Access::Shared(_)) => {}
                Ok(Access::Http1(stream)) => {
                    let line = (Line::Http1(stream), Sessions::default());
                    self.keep(Some(Ok::<_, JoinError>(Some((user.local, line)))));
                    return self.open_own(users).await;
                }
                Err(_) => return,
            }
        }
    }

    /// Returns a client of a shared connection, which is opened first if it is not open.
    async fn client(&self, pool: &Pool, slot: &Slot, user: Number) -> Result<Access, Failure> {
        if let Some((Line::Http1(mut stream), _)) = self.take_opened(user)
            && stream.is_quiet()
        {
            return Ok(Access::Http1(stream));
        }
        slot.client(pool, &self.dialer, self.share.number(slot.number).global).await
    }

    /// Returns the connection opened for the user before the start; `None` if there is none.
    fn take_opened(&self, user: Number) -> Option<(Line, Sessions)> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).remove(&user.local)
    }

    /// Returns the connection opened for the user before the start, or a new one.
    async fn own(&self, user: Number, sessions: &mut Sessions) -> Result<Line, Failure> {
        if let Some((mut line, of_user)) = self.take_opened(user) {
            *sessions = of_user;
            if line.is_quiet() {
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
    async fn open(dialer: &Dialer, user: u32, sessions: &mut Sessions) -> Result<Self, Failure> {
        Ok(match opening::open(dialer, user, sessions).await? {
            Opened::Http2(opened) => Self::Http2(Box::new(Own::new(*opened))),
            Opened::Http1(stream) => Self::Http1(stream),
        })
    }

    fn is_quiet(&mut self) -> bool {
        match self {
            Self::Http2(own) => own.is_quiet(),
            Self::Http1(stream) => stream.is_quiet(),
        }
    }
}
