//! Limits how long a connection is used.

use std::time::Instant;

use loadgen_scenario::Lifetime;

/// Remaining life of a connection, which the scenario limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    /// Number of requests that may still begin; `None` for any number.
    requests: Option<u32>,
    /// Time from which no request may begin; `None` for no such time.
    until: Option<Instant>,
}

impl Life {
    /// Begins with a connection that has just been opened.
    pub(super) fn of(limit: Lifetime) -> Self {
        let until = limit.age.and_then(|age| Instant::now().checked_add(age));
        Self { requests: limit.requests, until }
    }

    /// Counts a request that begins.
    pub(super) fn spend(&mut self) {
        self.requests = self.requests.map(|left| left.saturating_sub(1));
    }

    /// Whether no further request may begin.
    pub(super) fn is_spent(&self) -> bool {
        self.requests == Some(0) || self.until.is_some_and(|until| Instant::now() >= until)
    }
}
