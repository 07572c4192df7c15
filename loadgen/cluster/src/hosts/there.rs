//! The processes of the workers of a host, on that host.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::error::ClusterError;
use crate::join::Join;
use crate::startup::LocalWorkers;
use crate::worker_process::Process;

/// Runs a worker for each join document, until all have ended, or until `gone` is cancelled.
///
/// # Errors
/// If a document cannot be used, or a process cannot be started. The others are then ended.
pub async fn serve_parent_of_many(
    documents: &[String],
    gone: &CancellationToken,
) -> Result<(), ClusterError> {
    let LocalWorkers { program, .. } = LocalWorkers::new(1)?;
    let program: &Path = &program;
    let mut processes = Vec::new();
    for document in documents {
        processes.push(Process::spawn(program, &Join::parse(document)?, None, &[]).await?);
    }
    let all = async {
        for process in &mut processes {
            process.wait().await;
        }
    };
    tokio::select! {
        () = all => return Ok(()),
        () = gone.cancelled() => {}
    }
    for process in &mut processes {
        process.leave().await;
    }
    Ok(())
}
