//! A worker that waits for its manager.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::error::ClusterError;
use super::join::Join;
use super::worker::{Joined, Terms, join};

/// Between two attempts to find a manager.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves one manager after another, each with the same join document, or only `once`; until it is to leave.
/// `say` tells how that goes.
///
/// # Errors
/// When no manager was found within the limit of `terms`, or one refuses this worker for good.
pub async fn serve_managers(
    document: &Join,
    terms: &Terms,
    once: bool,
    say: &dyn Fn(String),
) -> Result<(), ClusterError> {
    loop {
        serve_next(document, terms, say).await?;
        if once || terms.leave.is_cancelled() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for the manager, for as long as it may, and serves it until it is done or gone.
async fn serve_next(
    document: &Join,
    terms: &Terms,
    say: &dyn Fn(String),
) -> Result<(), ClusterError> {
    let address = &document.address;
    say(format!("waiting for the manager at {address}"));
    let Some(joined) = find(document, terms, say).await? else { return Ok(()) };
    say(format!("joined the manager at {address} as {}", document.user()));
    match joined.serve().await {
        Ok(()) => say("the manager has done with this worker".to_owned()),
        Err(ClusterError::Signalled) => say("left on a signal; the load was stopped".to_owned()),
        // It may come back, or another after it.
        Err(gone @ ClusterError::ManagerGone) => say(gone.to_string()),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tries to join until it has, or the wait is over, or it is to leave: there is nothing to serve then.
/// Whatever may pass is tried again, and said once.
///
/// # Errors
/// What won't pass; when the wait is over, what was met last.
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
        let what = format!("{error}; it is tried again");
        if met.insert(what.clone()) {
            say(what);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
