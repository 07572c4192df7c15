//! The processes of the workers of a host, on that host.

use loadgen_text::say;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::error::ClusterError;
use crate::join::Join;
use crate::manager::TICK;
use crate::startup::LocalWorkers;
use crate::worker_process::{Process, end_all};

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
    let mut tick = interval(TICK);
    let all = async {
        let mut running: Vec<_> = joins.iter().zip(&mut processes).collect();
        while !running.is_empty() {
            tick.tick().await;
            running.retain_mut(|(join, process)| {
                let ended = process.ended();
                if let Some(status) = ended.filter(|status| !status.success()) {
                    // The manager hears it over the connection.
                    say(format!("{} ended: {status}", join.user()));
                }
                ended.is_none()
            });
        }
    };
    tokio::select! {
        () = all => {}
        () = gone.cancelled() => end_all(&mut processes).await,
    }
    Ok(())
}
