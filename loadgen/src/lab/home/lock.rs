//! Locks files between processes. When a process ends, for any reason, the system releases the
//! process's locks.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};

use crate::lab::error::LabError;

const TRY_AGAIN: Duration = Duration::from_millis(50);
/// Waiting time after which [`Lock::wait`] reports that another process holds the lock.
const LONG: Duration = Duration::from_secs(2);
/// Longest wait of [`Lock::wait_blocking`].
const LONGEST_BLOCKING: Duration = Duration::from_secs(60);

/// A lock on a file. Dropping this value releases the lock, but does not remove the file.
#[derive(Debug)]
pub struct Lock {
    file: File,
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
                Ok(()) => Ok(Some(Self { file })),
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

    /// Like [`wait`](Self::wait), but blocks the thread, for a lock that others hold briefly. Returns an
    /// error after 60 s: the process that holds the lock may be suspended.
    pub fn wait_blocking(path: &Path) -> Result<Self, LabError> {
        let since = Instant::now();
        while since.elapsed() < LONGEST_BLOCKING {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            thread::sleep(TRY_AGAIN);
        }
        Err(LabError::file("lock", path)(io::ErrorKind::TimedOut.into()))
    }

    /// Sets the time at which the file was last modified to now. The file has no content.
    pub fn note_use(&self) -> io::Result<()> {
        self.file.set_modified(SystemTime::now())
    }
}
