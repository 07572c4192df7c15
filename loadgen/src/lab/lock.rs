//! A lock that a process holds through a file, and that goes with the process, however it ends.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::error::LabError;

const TRY_AGAIN: Duration = Duration::from_millis(50);
/// From here on somebody is told that it waits.
const LONG: Duration = Duration::from_secs(2);

/// Held as long as this value lives. The file stays.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// The lock, or `None` while another holds it.
    pub fn attempt(path: &Path) -> Result<Option<Self>, LabError> {
        Self::try_lock(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// As [`Lock::attempt`], for any number at a time: to see whether somebody holds it alone.
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

    /// The lock, as soon as nobody else holds it; `waits` is called once if that takes long.
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
