//! Controls a round while it runs: ends it, or changes its load.

use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::plan::Plan;
use crate::scenario::{LoadLevel, LoadLevelError};

/// The time from a request for a change to its moment: far more than it takes to reach every worker.
const LEAD: Duration = Duration::from_millis(500);

/// Another level of load, from a moment on to the end of the round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadChange {
    /// Counted from the common start, so that it is the same on all workers.
    pub at: Duration,
    /// How much there is to be, over all workers.
    pub to: LoadLevel,
}

/// Why a round goes on as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Diagnostic)]
pub enum LoadChangeError {
    /// It is no change for this load.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Change(#[from] LoadLevelError),
    /// There is too little left of it.
    #[error("the round is about to end, and was not changed")]
    #[diagnostic(help("try again when the next one has begun, if there is one"))]
    TooLate,
}

impl LoadChange {
    /// Decides on the change to the level `to` in a round of `plan`, `elapsed` from its start.
    ///
    /// # Errors
    /// When the load can't be changed like that, or the round is about to end.
    pub fn of(plan: &Plan, elapsed: Duration, to: LoadLevel) -> Result<Self, LoadChangeError> {
        plan.scenario.load.check_change(to)?;
        let at = elapsed + LEAD;
        if plan.length().is_some_and(|end| at >= end) {
            return Err(LoadChangeError::TooLate);
        }
        Ok(Self { at, to })
    }

    /// The second in which it is, from the end of a warm-up of this length; 0 before that.
    #[must_use]
    pub fn second(&self, warmup: Duration) -> u32 {
        u32::try_from(self.at.saturating_sub(warmup).as_secs()).unwrap_or(u32::MAX)
    }
}

/// A request for another level of load, and who waits for the decision.
#[derive(Debug)]
pub struct LoadChangeRequest {
    /// How much there is to be.
    pub to: LoadLevel,
    /// Is told, unless the round ends first.
    pub answer: oneshot::Sender<Result<LoadChange, LoadChangeError>>,
}

impl LoadChangeRequest {
    /// Decides for a round of `plan`, `elapsed` from its start, and sends the decision to who waits for it.
    pub fn decide(self, plan: &Plan, elapsed: Duration) -> Option<LoadChange> {
        let change = LoadChange::of(plan, elapsed, self.to);
        // Who has gone meanwhile wanted it all the same.
        let _ = self.answer.send(change);
        change.ok()
    }
}

/// Controls one round.
#[derive(Debug)]
pub struct RoundControl {
    /// Cancelled to end it.
    pub stop: CancellationToken,
    /// Requests for another level of load.
    pub changes: mpsc::UnboundedReceiver<LoadChangeRequest>,
}

impl From<CancellationToken> for RoundControl {
    /// To end, and nothing else.
    fn from(stop: CancellationToken) -> Self {
        Self { stop, changes: mpsc::unbounded_channel().1 }
    }
}

impl RoundControl {
    /// Waits for the next request; for ever where there can be none any more.
    pub async fn next(&mut self) -> LoadChangeRequest {
        match self.changes.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }
}
