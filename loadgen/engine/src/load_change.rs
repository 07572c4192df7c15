//! Controls a round while it runs: ends it, or changes its load or who makes it.

use std::time::Duration;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::plan::Plan;
use super::takeover::Takeover;
use loadgen_scenario::{LoadLevel, LoadLevelError};

/// Time from a request for a load change to the change: far more
/// than a change takes to reach every worker.
const LEAD: Duration = Duration::from_millis(500);

/// Another load level, from a given moment to the end of the round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadChange {
    /// Time of the change, counted from the workers' common start, so
    /// that the time is the same on all workers.
    pub at: Duration,
    /// New load level, over all workers.
    pub to: LoadLevel,
}

/// A change of a round that runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Another load, made by the same processes. It was created with [`LoadChange::of`], from the plan of the whole test.
    Load(LoadChange),
    /// The same load, made by other processes: all takeovers of the round so far.
    Processes(Vec<Takeover>),
}

/// Reason why the load of a round was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Diagnostic)]
pub enum LoadChangeError {
    /// The load of this round cannot be changed to the requested level.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Change(#[from] LoadLevelError),
    /// Too little of the round is left.
    #[error("the round is about to end; the load was not changed")]
    #[diagnostic(
        code(round_is_ending),
        help("try again after the start of the next round, if another round follows")
    )]
    TooLate,
}

impl LoadChange {
    /// Creates the change to the level `to`, requested `elapsed`
    /// after the start of a round of `plan`.
    ///
    /// # Errors
    /// Returns an error if the load cannot be changed to `to`, or if the round is about to end.
    pub fn of(plan: &Plan, elapsed: Duration, to: LoadLevel) -> Result<Self, LoadChangeError> {
        plan.scenario.check_change(to)?;
        let at = Self::when(plan, elapsed).ok_or(LoadChangeError::TooLate)?;
        Ok(Self { at, to })
    }

    /// Returns when a change of a round of `plan` takes effect that is asked for `elapsed` after the start; `None` if the
    /// round is about to end.
    #[must_use]
    pub fn when(plan: &Plan, elapsed: Duration) -> Option<Duration> {
        let at = elapsed + LEAD;
        plan.length().is_none_or(|end| at < end).then_some(at)
    }

    /// Returns the second in which the change happens, counted from the end of a warm-up of this
    /// length; 0 for a change during the warm-up.
    #[must_use]
    pub fn second(&self, warmup: Duration) -> u32 {
        u32::try_from(self.at.saturating_sub(warmup).as_secs()).unwrap_or(u32::MAX)
    }
}

/// A request for another load level, with a channel for the decision.
#[derive(Debug)]
pub struct LoadChangeRequest {
    /// Requested load level, over all workers.
    pub to: LoadLevel,
    /// Channel for the decision; unused if the round ends first.
    pub answer: oneshot::Sender<Result<LoadChange, LoadChangeError>>,
}

impl LoadChangeRequest {
    /// Decides on the request, `elapsed` after the start of a round of `plan`, and sends the
    /// decision to the requester. Returns the change, or `None` if the request is refused.
    pub fn decide(self, plan: &Plan, elapsed: Duration) -> Option<LoadChange> {
        let change = LoadChange::of(plan, elapsed, self.to);
        // The change applies even if the requester has stopped waiting.
        let _ = self.answer.send(change);
        change.ok()
    }
}

/// Ends one running round, or changes its load.
#[derive(Debug)]
pub struct RoundControl {
    /// Cancelled to end the round.
    pub stop: CancellationToken,
    /// Requests for another load level.
    pub changes: mpsc::UnboundedReceiver<LoadChangeRequest>,
}

impl From<CancellationToken> for RoundControl {
    /// Creates a control that can end the round, and nothing else.
    fn from(stop: CancellationToken) -> Self {
        Self { stop, changes: mpsc::unbounded_channel().1 }
    }
}

impl RoundControl {
    /// Waits for the next request for another load level. Waits
    /// forever if no more requests can arrive.
    pub async fn next(&mut self) -> LoadChangeRequest {
        match self.changes.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }
}
