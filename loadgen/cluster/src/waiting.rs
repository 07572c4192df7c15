//! Runs a worker that waits for its manager.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::error::ClusterError;
use super::join::Join;
use super::worker::{Joined, Terms, join};
use loadgen_text::with_code;

/// Pause between two attempts to find a manager.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs a worker that serves one manager after another with the same join document,
/// until the worker must leave. Serves only one manager if `once` is true. Calls
/// `say` with messages about the progress. Calls `enter` after joining a manager,
/// and drops the returned value when the manager's rounds are over.
///
/// # Errors
/// If no manager was found within the limit of `terms`, or a manager refuses this worker for good.
pub async fn serve_managers<G>(
    document: &Join,
    terms: &Terms,
    once: bool,
    say: &dyn Fn(String),
    enter: &dyn Fn() -> G,
) -> Result<(), ClusterError> {
    loop {
        serve_next(document, terms, say, enter).await?;
        if once || terms.leave.is_cancelled() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for the manager for at most the time limit in `terms`, and runs the manager's rounds until
/// the manager ends this worker or is lost.
async fn serve_next<G>(
    document: &Join,
    terms: &Terms,
    say: &dyn Fn(String),
    enter: &dyn Fn() -> G,
) -> Result<(), ClusterError> {
    let address = &document.address;
    say(format!("waiting for the manager at {address}"));
    let Some(joined) = find(document, terms, say).await? else { return Ok(()) };
    say(format!("joined the manager at {address} as {}", document.user()));
    let _in_rounds = enter();
    match joined.serve().await {
        Ok(()) => say("the manager released this worker".to_owned()),
        Err(ClusterError::Signalled) => say("left on a signal; the load was stopped".to_owned()),
        // This manager may come back, or another may follow.
        Err(gone @ ClusterError::ManagerGone) => say(gone.to_string()),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tries to join the manager until an attempt succeeds, the time limit in `terms` passes, or the
/// worker must leave. Returns `None` if the worker must leave. Retries after every error that may
/// pass, and reports each such error once.
///
/// # Errors
/// An error that won't pass, or the last error when the time limit has passed.
async fn find(
    document: &Join,
    terms: &Terms,
    say: &dyn Fn(String),
) -> Result<Option<Joined>, ClusterError> {
    let (start, wait) = (Instant::now(), terms.limit);
    let mut met = HashSet::new();
    loop {
        let left = wait.map(|wait| wait.saturating_sub(start.elapsed()));
        let terms = Terms { gone: CancellationToken::new(), limit: left, ..terms.clone() };
        let error = match join(document, terms).await {
            Ok(joined) => return Ok(Some(joined)),
            Err(ClusterError::Signalled) => return Ok(None),
            Err(error) if error.may_pass() => error,
            Err(error) => return Err(error),
        };
        if let Some(wait) = wait.filter(|wait| start.elapsed() + PAUSE > *wait) {
            return Err(error.within(wait));
        }
        let what = format!("{}; trying again", with_code(&error));
        if met.insert(what.clone()) {
            say(what);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
