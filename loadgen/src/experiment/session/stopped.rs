//! Reasons why an experiment ends early.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// Reason why an experiment ended early.
pub enum Stopped {
    /// Interrupted by a signal, or by a user's request to stop.
    Interrupted,
    /// Ended by an error.
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Awaits `work`; returns an error if `interrupt` is cancelled first.
pub(super) async fn unless<T>(
    interrupt: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, Stopped> {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => Err(Stopped::Interrupted),
        result = work => Ok(result),
    }
}
