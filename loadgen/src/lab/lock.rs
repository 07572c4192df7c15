//! Locks files between processes. When a process ends, for any reason, the system releases the
//! process's locks.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::error::LabError;

const TRY_AGAIN: Duration = Duration::from_millis(50);
/// Waiting time after which [`Lock::wait`] reports that another process holds the lock.
const LONG: Duration = Duration::from_secs(2);

/// A lock on a file. Dropping this value releases the lock, but does not remove the file.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or returns `None` if another process holds it.
    pub fn attempt(path: &Path) -> Result<Option<Self>, LabError> {
        Self::try_lock(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes the lock as a shared lock, which any number of processes may hold at a time. Returns
    /// `None` if another process holds the lock exclusively.
    pub fn shared(path: &Path) -> Result<Option<Self>, LabError> {
        Self::try_lock(path, FlockOperation::NonBlockingLockShared)
    }

    fn try_lock(path: &Path, how: FlockOperation) -> Result<Option<Self>, LabError> {
        let lock = || -> io::Result<Option<Self>> {
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            match flock(&file, how) {
                Ok(()) => Ok(Some(Self { _file: file })),
                Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        lock().map_err(LabError::file("lock", path))
    }

    /// Waits until no other process holds the lock, and takes the lock exclusively. Calls `waits`
    /// once if the lock is not free after 2 s.
    pub async fn wait(path: &Path, waits: impl FnOnce()) -> Result<Self, LabError> {
        let (since, mut waits) = (Instant::now(), Some(waits));
        loop {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            if since.elapsed() >= LONG
                && let Some(waits) = waits.take()
            {
                waits();
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }
}
