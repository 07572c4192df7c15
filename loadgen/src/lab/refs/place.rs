//! A folder for the files of all refs of a run, which outlives no run.
//!
//! The folder is in the user's cache, or in the temporary folder that the user has set. The usual temporary
//! folder, `/tmp`, belongs to all users: tools that search the folders above theirs for settings or packages,
//! such as Cargo, Node, Go and uv, would take those of other users.
//!
//! A guard removes the folder when loadgen ends, for any reason. If the guard, too, was killed, the
//! next loadgen removes the folder: its lock is then free.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

use super::foreign::foreign_above;
use super::real_path::real;
use crate::lab::error::LabError;
use crate::lab::git::bad_ref;
use crate::lab::home::is_trusted;
use crate::lab::home::lock::Lock;
use crate::lab::home::user_cache::user_cache;
use crate::lab::service::removal::remove_all;
use crate::lab::service::{Service, ServiceSpec};

/// Beginnings of the names of such folders: of one that is being made, and of one that has a lock.
const NEW: &str = "newrefs-";
const LOCKED: &str = "refs-";

/// File in the folder that loadgen holds locked while it uses the folder.
const LOCK: &str = "lock";

/// Rights to the folder: its sources may be secret, and every user who can open the lock can hold it.
const OWNER_ONLY: u32 = 0o700;

/// Time that the guard has to remove the folder: longer than targets have to end, because they may
/// write files until then.
const LIMIT: Duration = Duration::from_secs(20);

/// A folder in which the folders of runs are.
#[derive(Debug, PartialEq, Eq)]
struct Base {
    folder: PathBuf,
    /// Beginning of all names of loadgen's there.
    prefix: &'static str,
}

impl Base {
    /// Returns the temporary folder, whose files are those of all programs.
    fn temporary() -> Self {
        Self { folder: absolute(env::temp_dir()), prefix: "loadgen-" }
    }

    /// Returns loadgen's folder in the user's cache; `None` if the user has no home folder.
    fn cache() -> Option<Self> {
        let folder = absolute(user_cache()?.join("loadgen"));
        Some(Self { folder, prefix: "" })
    }

    /// Returns the folder for a new run, which exists, and is not in the working tree `top`.
    fn outside(top: &Path) -> Result<Self, LabError> {
        let is_set = env::var_os("TMPDIR").is_some_and(|value| !value.is_empty());
        let base = if is_set { Some(Self::temporary()) } else { Self::cache() };
        let base = base.ok_or_else(|| {
            let what = "no folder for the files of refs: the user has no home folder".to_owned();
            bad_ref(what, b"", "set TMPDIR to a folder that only you can write to")
        })?;
        let folder = &base.folder;
        // Tools that search the folders above, such as Node and uv, would find the user's packages.
        if real(folder).starts_with(top) {
            let what = format!(
                "the folder {} for the files of refs is in the repository",
                folder.display()
            );
            let help =
                "set TMPDIR to a folder outside, so that refs have no files of the working tree";
            return Err(bad_ref(what, b"", help));
        }
        if let Some(file) = foreign_above(&real(folder), is_trusted) {
            let what =
                format!("{} belongs to another user, and may change what refs run", file.display());
            let help = "set TMPDIR to a folder with no files of other users above, or unset TMPDIR";
            return Err(bad_ref(what, b"", help));
        }
        let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(folder);
        made.map_err(|error| {
            let what =
                format!("cannot create the folder {} for the files of refs", folder.display());
            let help = "set TMPDIR to a folder that only you can write to";
            bad_ref(what, error.to_string().as_bytes(), help)
        })?;
        Ok(base)
    }
}

/// Returns an absolute path, because programs are started in other folders.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The folder. Dropping this value removes the folder, too, without waiting for the end.
#[derive(Debug)]
pub struct Place {
    // Dropped before the lock, so that no other loadgen takes the folder for one that is left over.
    keeper: Service,
    pub(super) folder: PathBuf,
    _lock: Lock,
}

impl Place {
    /// Creates the folder outside of the working tree `top`, and starts its guard.
    pub fn make(top: &Path) -> Result<Self, LabError> {
        Self::make_in(&Base::outside(top)?)
    }

    fn make_in(base: &Base) -> Result<Self, LabError> {
        let failed = || LabError::io("create a folder for the files of refs");
        let prefix = format!("{}{NEW}", base.prefix);
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(&prefix).permissions(Permissions::from_mode(OWNER_ONLY));
        let new = builder.tempdir_in(&base.folder).map_err(failed())?;
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
            ServiceSpec::new("the guard of refs", nothing, &base.folder, folder.join("log"));
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
    for base in [Some(Base::temporary()), Base::cache()].into_iter().flatten() {
        remove_left_over_in(&base);
    }
}

fn remove_left_over_in(base: &Base) {
    let prefix = format!("{}{LOCKED}", base.prefix);
    for entry in fs::read_dir(&base.folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
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
        for prefix in ["loadgen-", ""] {
            let place = tempfile::tempdir().unwrap();
            let folder = |name: &str| {
                let path = place.path().join(format!("{prefix}{name}"));
                fs::create_dir(&path).unwrap();
                path
            };
            let [used, left, new, other] = ["refs-a", "refs-b", "newrefs-c", "data-d"].map(folder);
            let _held = Lock::attempt(&used.join(LOCK)).unwrap().unwrap();
            for path in [&left, &new, &other] {
                drop(Lock::attempt(&path.join(LOCK)).unwrap());
            }
            fs::write(left.join("file"), "").unwrap();
            let elsewhere = tempfile::tempdir().unwrap();
            fs::write(elsewhere.path().join(LOCK), "").unwrap();
            let link = place.path().join(format!("{prefix}refs-link"));
            std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
            remove_left_over_in(&Base { folder: place.path().to_owned(), prefix });
            assert!(!left.exists());
            let kept = [&used, &new, &other, &elsewhere.path().to_owned()];
            assert!(kept.iter().all(|path| path.exists()), "{prefix}");
        }
    }
}
