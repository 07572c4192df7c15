//! What a round may be told while it runs.

use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::plan::Plan;
use crate::scenario::{Amount, ChangeError};

/// From the wish for a change to its moment: far more than it takes to reach every worker.
const LEAD: Duration = Duration::from_millis(500);

/// Another load, from a moment on to the end of the round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Counted from the common start, so that it is the same on all workers.
    pub at: Duration,
    /// How much there is to be, over all workers.
    pub to: Amount,
}

/// Why a round goes on as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Diagnostic)]
pub enum Refused {
    /// It is no change for this load.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Change(#[from] ChangeError),
    /// There is too little left of it.
    #[error("the round is about to end, and was not changed")]
    #[diagnostic(help("try again when the next one has begun, if there is one"))]
    TooLate,
}

impl Change {
    /// The change that a round of `plan` makes which is asked for `to`, `elapsed` from its start.
    ///
    /// # Errors
    /// Where it makes none.
    pub fn of(plan: &Plan, elapsed: Duration, to: Amount) -> Result<Self, Refused> {
        plan.scenario.load.check_change(to)?;
        let at = elapsed + LEAD;
        if plan.length().is_some_and(|end| at >= end) {
            return Err(Refused::TooLate);
        }
        Ok(Self { at, to })
    }

    /// The second in which it is, from the end of a warm-up of this length; 0 before that.
    #[must_use]
    pub fn second(&self, warmup: Duration) -> u32 {
        u32::try_from(self.at.saturating_sub(warmup).as_secs()).unwrap_or(u32::MAX)
    }
}

/// A wish for another load, and who waits for what becomes of it.
#[derive(Debug)]
pub struct Asked {
    /// How much there is to be.
    pub to: Amount,
    /// Is told, unless the round ends first.
    pub answer: oneshot::Sender<Result<Change, Refused>>,
}

impl Asked {
    /// Answers for a round of `plan`, `elapsed` from its start: with the change that it makes, if any.
    pub fn decide(self, plan: &Plan, elapsed: Duration) -> Option<Change> {
        let change = Change::of(plan, elapsed, self.to);
        // Who has gone meanwhile wanted it all the same.
        let _ = self.answer.send(change);
        change.ok()
    }
}

/// What a round is told while it runs.
#[derive(Debug)]
pub struct Orders {
    /// Cancelled to end it.
    pub stop: CancellationToken,
    /// Wishes for another load.
    pub changes: mpsc::UnboundedReceiver<Asked>,
}

impl From<CancellationToken> for Orders {
    /// To end, and nothing else.
    fn from(stop: CancellationToken) -> Self {
        Self { stop, changes: mpsc::unbounded_channel().1 }
    }
}

impl Orders {
    /// The next wish; waits for ever where there can be none any more.
    pub async fn next(&mut self) -> Asked {
        match self.changes.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }
}
