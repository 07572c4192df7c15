//! Unpacks the lab that is embedded in this program: targets, scenarios and experiments, with the lock
//! file of the targets' packages. A program without a checkout uses this lab.
//!
//! The lab is unpacked to `loadgen/lab-HASH/` in the user's cache: see [`hashed`]. The hash depends on
//! the content, so that two versions of loadgen do not share a folder. Each start of loadgen compares
//! the files with the embedded ones, and writes those that are missing or differ: a scenario that
//! somebody has changed there must not be measured under the name of the lab's.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, io};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::hashed::{self, add};
use super::lock::Lock;
use super::user_cache::user_cache;
use crate::lab::error::LabError;

/// Archive (tar, gzip) of `lab/`, whose links lead to the files of the repository that the lab consists of.
const LAB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lab.tar.gz"));

/// Name of the folders in the cache.
const NAME: &str = "lab";

/// Time after which the lab of another version is removed if nobody has used it. Its Python environment
/// takes hundreds of megabytes, but the next use would have to install it again.
const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// The lab, unpacked. Another process does not remove the folder before this value is dropped.
#[derive(Debug)]
struct Unpacked {
    folder: PathBuf,
    _in_use: Lock,
}

/// Returns the folder of the lab, which this process may use until it ends. The first call unpacks the
/// lab.
pub(super) fn unpack() -> Result<&'static Path, LabError> {
    static UNPACKED: OnceLock<Unpacked> = OnceLock::new();
    if let Some(unpacked) = UNPACKED.get() {
        return Ok(&unpacked.folder);
    }
    let not_unpacked = |reason: String| LabError::NotUnpacked { reason };
    let cache =
        user_cache().ok_or_else(|| not_unpacked("the user has no home folder".to_owned()))?;
    let unpacked =
        unpack_in(&cache.join("loadgen")).map_err(|error| not_unpacked(error.to_string()))?;
    Ok(&UNPACKED.get_or_init(|| unpacked).folder)
}

/// Unpacks the lab to a folder in `cache`, or repairs the lab there.
fn unpack_in(cache: &Path) -> Result<Unpacked, LabError> {
    // Absolute, because targets are started in other folders.
    let cache = std::path::absolute(cache).map_err(LabError::file("find", cache))?;
    fs::create_dir_all(&cache).map_err(LabError::file("create the folder", &cache))?;
    let _lock = Lock::wait_blocking(&hashed::lock_of_maker(&cache, NAME))?;
    let files = files().map_err(LabError::io("read the archive in the program"))?;
    let folder = hashed::folder(&cache, NAME, digest(&files));
    let in_use = hashed::use_folder(&folder)?;
    for (inside, content) in &files {
        let path = folder.join(inside);
        if !fs::read(&path).is_ok_and(|found| found == *content) {
            write(&path, content).map_err(LabError::file("write", &path))?;
        }
    }
    // A lab that cannot be removed, as that of another user, only takes space.
    let _ = hashed::remove_others(&cache, NAME, &folder, UNUSED_FOR);
    Ok(Unpacked { folder, _in_use: in_use })
}

/// Returns the content of each file of the lab, by its path.
fn files() -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut archive = tar::Archive::new(GzDecoder::new(LAB));
    let read = |entry: io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        Ok((entry.path()?.into_owned(), content))
    };
    archive.entries()?.map(read).collect()
}

/// Returns the digest of the files and of this platform, for which the targets' packages are installed
/// beside the files: a home folder may be shared by different machines.
fn digest(files: &BTreeMap<PathBuf, Vec<u8>>) -> Sha256 {
    let mut digest = Sha256::new();
    for (inside, content) in files {
        add(&mut digest, inside.as_os_str().as_bytes());
        add(&mut digest, content);
    }
    add(&mut digest, env::consts::OS.as_bytes());
    add(&mut digest, env::consts::ARCH.as_bytes());
    digest
}

/// Replaces a file atomically: another process may be reading the file.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    // As readable as other new files of the user.
    let readable = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(readable).tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Returns the content of all files below `folder`, by path.
    fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => found.extend(content(&path)),
                false => found.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
        found.sort();
        found
    }

    /// Checks that `folder` has all embedded files, and no others.
    fn assert_whole(folder: &Path) {
        let embedded = files().unwrap();
        assert!(embedded.len() > 50, "{}", embedded.len());
        let expected = embedded.into_iter().map(|(inside, content)| (folder.join(inside), content));
        assert!(content(folder) == expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_changed_lab_is_repaired() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack_in(cache.path()).unwrap().folder;
        assert_whole(&folder);
        let untouched = folder.join("uv.lock").metadata().unwrap().modified().unwrap();
        fs::write(folder.join("scenarios/redis3.toml"), "changed").unwrap();
        fs::remove_dir_all(folder.join("targets/echo")).unwrap();
        fs::create_dir(folder.join(".venv")).unwrap();
        assert_eq!(unpack_in(cache.path()).unwrap().folder, folder);
        fs::remove_dir(folder.join(".venv")).unwrap();
        assert_whole(&folder);
        assert_eq!(folder.join("uv.lock").metadata().unwrap().modified().unwrap(), untouched);
    }

    #[test]
    fn many_may_unpack_the_lab_at_once() {
        let cache = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            let unpack = || {
                let unpacked = unpack_in(cache.path()).unwrap();
                assert_whole(&unpacked.folder);
                unpacked.folder
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(unpack)).collect();
            let mut all: Vec<_> = all.into_iter().map(|it| it.join().unwrap()).collect();
            all.dedup();
            assert_eq!(all.len(), 1);
        });
    }

    #[test]
    fn the_lab_of_a_version_that_nobody_uses_is_removed_after_a_month() {
        let cache = tempfile::tempdir().unwrap();
        let [old, new] =
            ["0", "1"].map(|digit| cache.path().join(format!("lab-{}", digit.repeat(16))));
        for folder in [&old, &new] {
            fs::create_dir_all(folder.join(".venv/bin")).unwrap();
            drop(hashed::use_folder(folder).unwrap());
        }
        let lock =
            fs::File::options().write(true).open(cache.path().join("lab-0000000000000000.lock"));
        let month_ago = std::time::SystemTime::now() - UNUSED_FOR;
        lock.unwrap().set_modified(month_ago).unwrap();
        unpack_in(cache.path()).unwrap();
        assert!(!old.exists());
        assert!(new.join(".venv/bin").exists());
    }

    #[test]
    fn a_lab_that_cannot_be_removed_stops_nothing() {
        let cache = tempfile::tempdir().unwrap();
        // A lock that nobody can open for writing, not even root.
        let lock = cache.path().join("lab-0000000000000000.lock");
        fs::create_dir(&lock).unwrap();
        let old = fs::File::open(&lock).unwrap();
        old.set_modified(std::time::SystemTime::now() - 2 * UNUSED_FOR).unwrap();
        fs::create_dir(cache.path().join("lab-0000000000000000")).unwrap();
        assert_whole(&unpack_in(cache.path()).unwrap().folder);
        assert!(lock.exists());
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_named() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("file");
        fs::write(&file, "").unwrap();
        let error = unpack_in(&file.join("cache")).unwrap_err().to_string();
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
}
