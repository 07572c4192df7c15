//! The processes of the workers of a host, on that host.

use std::time::Duration;

use loadgen_text::say;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::ClusterError;
use crate::join::Join;
use crate::startup::LocalWorkers;
use crate::worker_process::Process;

/// Time limit for workers to end when the manager is gone. Those that take longer are killed.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);

/// Runs a worker, in a process of its own, for each join document, until all have ended, or until `gone` is cancelled.
///
/// # Errors
/// If a process cannot be started. The others are then ended.
pub async fn serve_all(joins: &[Join], gone: &CancellationToken) -> Result<(), ClusterError> {
    let LocalWorkers { program, .. } = LocalWorkers::new(1)?;
    let mut processes = Vec::new();
    for join in joins {
        processes.push(Process::spawn(&program, join, None, &[]).await?);
    }
    let all = async {
        for (join, process) in joins.iter().zip(&mut processes) {
            if let Some(status) = process.wait().await.filter(|status| !status.success()) {
                // The manager hears it over the connection.
                say(format!("{} ended: {status}", join.user()));
            }
        }
    };
    tokio::select! {
        () = all => return Ok(()),
        () = gone.cancelled() => {}
    }
    processes.iter_mut().for_each(Process::close);
    let leaving = async {
        for process in &mut processes {
            process.leave().await;
        }
    };
    if timeout(LEAVE_LIMIT, leaving).await.is_err() {
        // Even a process that is paused.
        processes.iter_mut().for_each(Process::kill);
    }
    Ok(())
}
