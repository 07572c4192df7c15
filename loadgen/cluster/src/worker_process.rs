//! Runs a worker's process on this machine.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::error::ClusterError;
use super::join::Join;

/// Number of bytes at the end of a worker's log that are shown if the worker fails.
const TAIL: u64 = 2_000;

/// Time limit for workers to end after they were told to leave.
pub(super) const QUIT_LIMIT: Duration = Duration::from_secs(2);

/// A direct child process that runs `loadgen worker`. The child is killed when this value is
/// dropped. The child's standard input is a pipe that closes when this process ends for any reason.
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    log: Option<PathBuf>,
}

impl Process {
    /// Starts `program` as the worker with the join document `join`. The worker's stderr goes to the
    /// file `log`, or to the stderr of this process if `log` is `None`. The worker may use these
    /// `cpus`; empty for those of this process.
    pub(super) async fn spawn(
        program: &Path,
        join: &Join,
        log: Option<PathBuf>,
        cpus: &[usize],
    ) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::Spawn { program: program.to_owned(), source };
        let stderr = match &log {
            Some(path) => Stdio::from(File::create(path).map_err(failed)?),
            None => Stdio::inherit(),
        };
        let mut child = Command::new(program)
            .arg0("loadgen") // so that it is listed as `loadgen worker`
            .args(["worker", "--join", "-", "--any-socket"])
            .args(cpus.iter().map(|cpu| format!("--cpus={cpu}")))
            .process_group(0) // so that a terminal's Ctrl-C reaches this process alone
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(failed)?;
        let mut document = serde_json::to_vec(join).map_err(|e| failed(e.into()))?;
        document.push(b'\n');
        let mut stdin = child.stdin.take();
        if let Some(pipe) = &mut stdin {
            // Writing fails if the worker has already ended, which is reported later.
            let _ = pipe.write_all(&document).await;
        }
        Ok(Self { child, stdin, log })
    }

    /// Returns the process id while the process runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns the exit status if the process has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns an error if the worker has ended before it joined; `None`
    /// if the worker's process still runs.
    pub(super) fn early_end(&mut self, worker: u32) -> Option<ClusterError> {
        let status = self.ended()?.to_string();
        let log = self.log.as_deref().map(tail).transpose();
        Some(ClusterError::Ended { worker, status, log: log.ok().flatten().unwrap_or_default() })
    }

    /// Kills the process, even if the process is paused.
    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

/// Closes the standard input of all processes, which tells the workers to leave, and waits for their ends. Kills those
/// that have not ended within [`QUIT_LIMIT`], even paused ones.
pub(super) async fn end_all(processes: &mut [Process]) {
    processes.iter_mut().for_each(|process| process.stdin = None);
    let ends = async {
        for process in &mut *processes {
            let _ = process.child.wait().await;
        }
    };
    if timeout(QUIT_LIMIT, ends).await.is_err() {
        processes.iter_mut().for_each(Process::kill);
    }
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
