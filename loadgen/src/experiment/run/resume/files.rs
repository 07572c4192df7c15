//! The folder in which a run keeps its state and its rounds for a manager that resumes it. Each file has a digest, and only its owner
//! may read it: the command line may contain secrets.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::experiment::folder::{RESUMABLE, RESUME};

/// Beginning of the names of files that are not whole.
const NEW: &str = ".new";

/// Beginning of the names of the files with rounds.
pub const ROUND: &str = "round-";

/// Most bytes that a file may have: a round of an hour with many steps has some MB.
const LARGEST: u64 = 1 << 30;

/// File that the manager of the run has locked for as long as it lives.
const LOCK: &str = "lock";
/// Length of the digest with which each file begins.
const DIGEST: usize = 32;

/// The folder, locked by this process until it is dropped.
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    _lock: File,
}

/// Returns whether the folder of a run has such a folder, with which the run can be resumed.
pub fn exist(run: &Path) -> bool {
    run.join(RESUME).join(RESUMABLE).is_file()
}

/// Encodes a value for a file.
pub fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    rmp_serde::to_vec_named(value).map_err(io::Error::other)
}

/// Returns an error unless this is a folder that only this user can have written, or read. Its files tell loadgen what to do.
fn check_owner(path: &Path) -> io::Result<()> {
    // A link may lead to a folder of somebody else.
    let found = fs::symlink_metadata(path)?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    match is_own && found.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is not a folder that only its owner, you, can use", path.display()),
        )),
    }
}

/// Returns whether a file of this name is one of a run's.
fn is_known(name: &str) -> bool {
    [LOCK, RESUMABLE].contains(&name) || name.starts_with(ROUND) || name.starts_with(NEW)
}

impl Files {
    /// Creates the folder in that of a run, without the files of an earlier run.
    ///
    /// # Errors
    /// If the folder cannot be written, has files of somebody else, or another process has locked it.
    pub fn create(run: &Path) -> io::Result<Self> {
        let path = run.join(RESUME);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        check_owner(&path)?;
        for file in fs::read_dir(&path)? {
            if !file?.file_name().to_str().is_some_and(is_known) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        let files = Self::open(run)?.ok_or(io::ErrorKind::ResourceBusy)?;
        files.names()?.into_iter().try_for_each(|name| files.remove(&name))?;
        Ok(files)
    }

    /// Locks the folder in that of a run; `None` if another process has locked it.
    ///
    /// # Errors
    /// If the folder cannot be written, or others can.
    pub fn open(run: &Path) -> io::Result<Option<Self>> {
        // Absolute, because the current folder may change.
        let path = std::path::absolute(run.join(RESUME))?;
        check_owner(&path)?;
        let lock = File::options().create(true).append(true).open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the names of all files but the lock, in their order.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for file in fs::read_dir(&self.path)? {
            // Only names of this module are of interest, which are ASCII.
            names.push(file?.file_name().to_string_lossy().into_owned());
        }
        names.retain(|name| name != LOCK);
        names.sort();
        Ok(names)
    }

    /// Returns whether a round is kept.
    pub fn has_round(&self) -> bool {
        self.names().is_ok_and(|names| names.iter().any(|name| name.starts_with(ROUND)))
    }

    /// Replaces a file with a value as [`encode`] returns it. A crash of the machine leaves the earlier file or the whole
    /// new one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(NEW)
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.path)?;
        file.write_all(&Sha256::digest(bytes))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(self.path(name))?;
        File::open(&self.path)?.sync_all()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        let path = self.path(name);
        if !path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= LARGEST) {
            return Err("it is not a file of a run".to_owned());
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(|error| error.to_string())?;
        file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let content = bytes.split_at_checked(DIGEST);
        let (digest, content) = content.ok_or_else(|| "the file is cut off".to_owned())?;
        if Sha256::digest(content).as_slice() != digest {
            return Err("the content does not match its digest".to_owned());
        }
        rmp_serde::from_slice(content).map_err(|error| error.to_string())
    }

    /// Removes all files and the folder, which has the command line with its secrets: the run is finished.
    pub fn discard(&self) -> io::Result<()> {
        self.names()?
            .iter()
            .filter(|name| is_known(name))
            .try_for_each(|name| self.remove(name))?;
        // Last, because it keeps other managers away.
        self.remove(LOCK)?;
        fs::remove_dir(&self.path)
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_for_their_owner_and_damage_is_noticed() {
        let run = tempfile::tempdir().unwrap();
        assert!(!exist(run.path()));
        let files = Files::create(run.path()).unwrap();
        files.write("a", &encode(&vec![1, 2, 3]).unwrap()).unwrap();
        assert!(!exist(run.path()), "without a state");
        assert_eq!(files.read::<Vec<u8>>("a").unwrap(), [1, 2, 3]);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.path), mode(&files.path("a"))), (0o700, 0o600));
        let mut bytes = fs::read(files.path("a")).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(files.path("a"), &bytes).unwrap();
        let damaged = files.read::<Vec<u8>>("a").unwrap_err();
        assert_eq!(damaged, "the content does not match its digest");
        fs::write(files.path("a"), &bytes[..9]).unwrap();
        assert_eq!(files.read::<Vec<u8>>("a").unwrap_err(), "the file is cut off");
        assert_eq!(files.names().unwrap(), ["a"]);
    }

    #[test]
    fn a_second_process_does_not_get_the_folder() {
        let run = tempfile::tempdir().unwrap();
        let files = Files::create(run.path()).unwrap();
        files.write(RESUMABLE, &encode(&1).unwrap()).unwrap();
        assert!(exist(run.path()));
        assert!(Files::open(run.path()).unwrap().is_none());
        assert!(Files::create(run.path()).is_err());
        drop(files);
        assert_eq!(Files::open(run.path()).unwrap().unwrap().names().unwrap(), [RESUMABLE]);
        let files = Files::create(run.path()).unwrap();
        assert!(files.names().unwrap().is_empty());
        files.write("round-000001-0", &encode(&1).unwrap()).unwrap();
        files.discard().unwrap();
        assert!(!run.path().join(RESUME).exists());
    }

    #[test]
    fn files_of_somebody_else_are_not_touched() {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join(RESUME);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        fs::write(folder.join("letter.pdf"), "mine").unwrap();
        assert_eq!(Files::create(run.path()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(folder.join("letter.pdf").exists());
        fs::remove_file(folder.join("letter.pdf")).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(Files::open(run.path()).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir(&folder).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        assert!(Files::create(run.path()).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
