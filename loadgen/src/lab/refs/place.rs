//! A temporary folder for the files of all refs of a run, which outlives no run.
//!
//! A guard removes the folder when loadgen ends, for any reason. If the guard, too, was killed, the
//! next loadgen removes the folder: its lock is then free.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

use crate::lab::error::LabError;
use crate::lab::lock::Lock;
use crate::lab::removal::remove_all;
use crate::lab::service::{Service, ServiceSpec};

/// Beginnings of the names of such folders: of one that is being made, and of one that has a lock.
const NEW: &str = "loadgen-newrefs-";
const LOCKED: &str = "loadgen-refs-";

/// File in the folder that loadgen holds locked while it uses the folder.
const LOCK: &str = "lock";

/// Time that the guard has to remove the folder: longer than targets have to end, because they may
/// write files until then.
const LIMIT: Duration = Duration::from_secs(20);

/// The folder. Dropping this value removes the folder, too, without waiting for the end.
#[derive(Debug)]
pub struct Place {
    // Dropped before the lock, so that no other loadgen takes the folder for one that is left over.
    keeper: Service,
    pub(super) folder: PathBuf,
    _lock: Lock,
}

impl Place {
    /// Creates the folder and starts its guard.
    pub fn make() -> Result<Self, LabError> {
        let failed = || LabError::io("create a folder for the files of refs");
        let new = tempfile::Builder::new().prefix(NEW).tempdir().map_err(failed())?;
        let lock = new.path().join(LOCK);
        let held = Lock::attempt(&lock)?
            .ok_or(std::io::ErrorKind::WouldBlock.into())
            .map_err(LabError::file("lock", &lock))?;
        let name =
            new.path().file_name().unwrap_or_default().to_string_lossy().replace(NEW, LOCKED);
        let folder = new.path().with_file_name(name);
        fs::rename(new.path(), &folder).map_err(failed())?;
        // Nothing is left under the first name.
        let _ = TempDir::keep(new);
        let nothing: [&str; 0] = [];
        let mut spec =
            ServiceSpec::new("the guard of refs", nothing, &env::temp_dir(), folder.join("log"));
        spec.options.remove = Some(folder.clone());
        spec.options.grace = LIMIT;
        let keeper = Service::start(&spec).inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        Ok(Self { keeper, folder, _lock: held })
    }

    /// Removes the folder, and returns when it is gone.
    pub async fn remove(self) -> Result<(), LabError> {
        let Self { keeper, folder, _lock } = self;
        keeper.stop().await?;
        // The guard itself may have been killed.
        remove_all(&folder, Duration::ZERO)
            .map_err(LabError::io(format!("remove {}", folder.display())))
    }
}

/// Removes the folders of earlier runs of this user whose loadgen and guard were killed.
pub fn remove_left_over() {
    remove_left_over_in(&env::temp_dir());
}

fn remove_left_over_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(LOCKED) {
            continue;
        }
        // Any user may make a file in this folder. The metadata is of a link itself.
        let is_own = entry
            .metadata()
            .is_ok_and(|it| it.is_dir() && it.uid() == rustix::process::geteuid().as_raw());
        let lock = entry.path().join(LOCK);
        if is_own
            && lock.is_file()
            && let Ok(Some(_held)) = Lock::attempt(&lock)
        {
            let _ = remove_all(&entry.path(), Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_no_process_uses_are_left_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let [used, left, new, other] =
            ["loadgen-refs-a", "loadgen-refs-b", "loadgen-newrefs-c", "loadgen-data-d"].map(folder);
        let _held = Lock::attempt(&used.join(LOCK)).unwrap().unwrap();
        for path in [&left, &new, &other] {
            drop(Lock::attempt(&path.join(LOCK)).unwrap());
        }
        fs::write(left.join("file"), "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), place.path().join("loadgen-refs-link"))
            .unwrap();
        remove_left_over_in(place.path());
        assert!(!left.exists());
        assert!(used.exists() && new.exists() && other.exists() && elsewhere.path().exists());
    }
}
