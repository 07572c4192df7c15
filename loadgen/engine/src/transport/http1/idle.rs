//! A connection between two requests.

use std::time::{Duration, Instant};

use crate::transport::lifetime::Life;
use crate::transport::stream::Stream;

/// Largest part of a server's timeout for idle connections in which loadgen no longer uses a connection, so that a
/// request does not arrive while the server closes it; and the longest such time.
const MARGIN: u32 = 10;
const LONGEST_MARGIN: Duration = Duration::from_secs(1);

/// An open connection that carries no request.
pub(in crate::transport) struct Idle {
    stream: Stream,
    /// Time until which the server has promised to keep the connection; `None` if it has promised nothing.
    until: Option<Instant>,
    /// Remaining life of the connection; `None` for no limit.
    life: Option<Life>,
}

impl Idle {
    /// Keeps a connection that has just been opened.
    pub(in crate::transport) fn new(stream: Stream, life: Option<Life>) -> Self {
        Self { stream, until: None, life }
    }

    /// Keeps a connection after a request. `idle_s` is the number of seconds after which the server closes it, if it
    /// has said so.
    pub(super) fn used(stream: Stream, life: Option<Life>, idle_s: Option<u32>) -> Self {
        let until = idle_s.map(|seconds| {
            let timeout = Duration::from_secs(seconds.into());
            Instant::now() + timeout.saturating_sub((timeout / MARGIN).min(LONGEST_MARGIN))
        });
        Self { stream, until, life }
    }

    /// Whether the connection can carry another request: the server has neither closed it, nor is about to, nor has
    /// sent anything.
    pub(in crate::transport) fn is_open(&mut self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until) && self.stream.is_quiet()
    }

    /// Whether loadgen itself ends the connection, because its life is over.
    pub(in crate::transport) fn is_spent(&self) -> bool {
        self.life.is_some_and(|life| life.is_spent())
    }

    /// Returns the connection for the next request, and its remaining life after this request.
    pub(in crate::transport) fn begin(self) -> (Stream, Option<Life>) {
        let mut life = self.life;
        life.iter_mut().for_each(Life::spend);
        (self.stream, life)
    }
}
