//! A worker's process on this machine.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::error::ClusterError;
use super::join::Join;

/// How much of the end of a worker's log is shown when the worker fails.
const TAIL: u64 = 2_000;

/// A direct child that runs `loadgen worker`. It dies with this value: its standard input is a
/// pipe that is closed, whatever becomes of this process, and it is killed when it is dropped.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    log: Option<PathBuf>,
}

impl Process {
    /// Starts `program` as the worker of `join`. What it writes to stderr goes to a file in
    /// `logs`, or to the stderr of this process.
    pub async fn spawn(
        program: &Path,
        join: &Join,
        logs: Option<&Path>,
    ) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::Spawn { program: program.to_owned(), source };
        let log = logs.map(|folder| folder.join(format!("{}.log", join.user())));
        let stderr = match &log {
            Some(path) => Stdio::from(File::create(path).map_err(failed)?),
            None => Stdio::inherit(),
        };
        let mut child = Command::new(program)
            .arg0("loadgen") // so that it is listed as `loadgen worker`
            .args(["worker", "--join", "-"])
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
            // A worker that ended at once closed its end; that is reported as such, later.
            let _ = pipe.write_all(&document).await;
        }
        Ok(Self { child, stdin, log })
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The error of a worker that ended before it had joined, if this one did.
    pub fn early_end(&mut self, worker: u32) -> Option<ClusterError> {
        let status = self.ended()?.to_string();
        let log = self.log.as_deref().map(tail).transpose();
        Some(ClusterError::Ended { worker, status, log: log.ok().flatten().unwrap_or_default() })
    }

    /// Kills it, whatever it does.
    pub fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Closes its standard input, which tells it to leave, and waits for its end.
    pub async fn leave(&mut self) {
        self.stdin = None;
        let _ = self.child.wait().await;
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
