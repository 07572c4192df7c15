//! Folders that are named after a hash of their content: `NAME-HASH/`.
//!
//! `NAME.lock` is held by the one process that makes a folder of this name, or removes folders.
//! `NAME-HASH.lock` is held, shared, by each process that uses the folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::lock::Lock;
use crate::lab::error::LabError;
use crate::lab::service::removal::remove_all;

/// Number of hexadecimal digits of the hash in a folder's name.
const DIGITS: usize = 16;

/// End of the name of a folder that is being removed.
const REMOVED: &str = ".removed";

/// Returns the folder in `parent` for the content with this digest.
pub(in crate::lab) fn folder(parent: &Path, name: &str, digest: Sha256) -> PathBuf {
    let digits: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    parent.join(format!("{name}-{}", &digits[..DIGITS]))
}

/// Adds bytes to a digest, after their number, so that no two sequences of parts are alike.
pub(in crate::lab) fn add(digest: &mut Sha256, bytes: &[u8]) {
    add_number(digest, bytes.len());
    digest.update(bytes);
}

/// Adds the number of the parts that follow to a digest.
pub(in crate::lab) fn add_number(digest: &mut Sha256, number: usize) {
    digest.update((number as u64).to_le_bytes());
}

/// Returns the path of the lock that the process holds that makes a folder, or removes folders.
pub(in crate::lab) fn lock_of_maker(parent: &Path, name: &str) -> PathBuf {
    parent.join(format!("{name}.lock"))
}

/// Returns the folder's name while it is incomplete.
pub(in crate::lab) fn partial(parent: &Path, name: &str) -> PathBuf {
    parent.join(format!("{name}.partial"))
}

/// Marks a folder as used: no process removes the folder before the lock is dropped. The caller must
/// hold the maker's lock.
pub(in crate::lab) fn use_folder(folder: &Path) -> Result<Lock, LabError> {
    let path = lock_of_users(folder);
    // Only the holder of the maker's lock may hold this lock exclusively, so it is free.
    let lock = Lock::shared(&path)?
        .ok_or(std::io::ErrorKind::WouldBlock.into())
        .map_err(LabError::file("lock", &path))?;
    lock.note_use().map_err(LabError::file("write", &path))?;
    Ok(lock)
}

/// Removes the other folders of this name that no process uses or has used for the time `unused_for`.
/// The caller must hold the maker's lock.
///
/// # Errors
/// The first error. The function removes all folders that can be removed, and tries again at its next call.
/// Callers go on: another user's folder, or one that is read-only, only takes space.
pub(in crate::lab) fn remove_others(
    parent: &Path,
    name: &str,
    current: &Path,
    unused_for: Duration,
) -> Result<(), LabError> {
    let mut done = Ok(());
    for entry in fs::read_dir(parent).map_err(LabError::file("read", parent))?.flatten() {
        let (path, file_name) = (entry.path(), entry.file_name());
        let file_name = file_name.to_string_lossy();
        let removed = match file_name.strip_suffix(REMOVED) {
            Some(before) if is_of(name, before) => remove(&path),
            None if path != current && is_of(name, &file_name) => remove_unused(&path, unused_for),
            _ => Ok(()),
        };
        done = done.and(removed);
    }
    done
}

/// Removes a folder that no process uses or has used for the time `unused_for`.
fn remove_unused(folder: &Path, unused_for: Duration) -> Result<(), LabError> {
    let lock = lock_of_users(folder);
    if !is_older(&lock, unused_for) {
        return Ok(());
    }
    let Some(_unused) = Lock::attempt(&lock)? else { return Ok(()) };
    // A folder that is only half removed must not have the name of a complete folder.
    let removed = with_suffix(folder, REMOVED);
    fs::rename(folder, &removed).map_err(LabError::file("remove", folder))?;
    let _ = fs::remove_file(lock);
    remove(&removed)
}

/// Removes a folder, if it exists, also folders in it without write permission.
pub(in crate::lab) fn remove(folder: &Path) -> Result<(), LabError> {
    remove_all(folder, Duration::ZERO).map_err(LabError::file("remove", folder))
}

/// Returns the path of the lock that each process holds, shared, while it uses `folder`.
fn lock_of_users(folder: &Path) -> PathBuf {
    with_suffix(folder, ".lock")
}

fn with_suffix(folder: &Path, suffix: &str) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Whether a file was last modified at least `age` ago. True for a file that is missing.
fn is_older(file: &Path, age: Duration) -> bool {
    let modified = fs::metadata(file).and_then(|found| found.modified());
    // A time in the future is the fault of a clock.
    let since = |time| SystemTime::now().duration_since(time).unwrap_or_default();
    modified.map_or(true, |time| since(time) >= age)
}

/// Whether a file has the name of a folder for `name`: `fastapi-granian` is none for `fastapi`.
fn is_of(name: &str, file_name: &str) -> bool {
    let hash = file_name.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| {
        hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates folders of `NAME` for four hashes and a folder of `NAME-go`, with the third in use.
    /// Returns the names that [`remove_others`] leaves beside the first, before and after the end of
    /// that use.
    fn left(unused_for: Duration) -> [Vec<String>; 2] {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let hashed = |name: &str, digit: &str| format!("{name}-{}", digit.repeat(DIGITS));
        for folder in [hashed("echo", "a"), hashed("echo", "b"), hashed("echo", "c")] {
            fs::create_dir_all(path(&folder).join("inside")).unwrap();
        }
        fs::create_dir_all(path(&hashed("echo-go", "0"))).unwrap();
        drop(use_folder(&path(&hashed("echo", "b"))).unwrap());
        let used = use_folder(&path(&hashed("echo", "c"))).unwrap();
        let left = || {
            let current = path(&hashed("echo", "a"));
            remove_others(place.path(), "echo", &current, unused_for).unwrap();
            let names = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        let before = left();
        drop(used);
        [before, left()]
    }

    #[test]
    fn other_folders_are_removed_when_no_process_uses_them() {
        let [a, c] = ["a", "c"].map(|digit| format!("echo-{}", digit.repeat(DIGITS)));
        let (lock, other) = (format!("{c}.lock"), format!("echo-go-{}", "0".repeat(DIGITS)));
        let [before, after] = left(Duration::ZERO);
        assert_eq!(before, [a.clone(), c, lock, other.clone()]);
        assert_eq!(after, [a, other]);
    }

    #[test]
    fn a_folder_that_cannot_be_removed_does_not_keep_others() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: String| place.path().join(name);
        let of = |digit: &str| format!("echo-{}", digit.repeat(DIGITS));
        // Folders of other users cannot be removed. Even for root, these cannot: a lock that is a folder,
        // and a file in place of a folder.
        fs::create_dir_all(path(of("b") + ".lock")).unwrap();
        fs::write(path(of("c") + REMOVED), "").unwrap();
        // More folders than could be removed before the first error by chance.
        let others: Vec<String> = ('0'..='9').map(|digit| of(&digit.to_string())).collect();
        for folder in [&of("b"), &(of("e") + REMOVED)].into_iter().chain(&others) {
            fs::create_dir_all(path(folder.clone()).join("inside")).unwrap();
        }
        let remove = || remove_others(place.path(), "echo", &path(of("a")), Duration::ZERO);
        assert!(remove().is_err());
        assert!(path(of("b")).exists());
        let gone = others.into_iter().chain([of("e") + REMOVED]);
        assert!(gone.map(path).all(|folder| !folder.exists()));
        fs::remove_dir(path(of("b") + ".lock")).unwrap();
        fs::remove_file(path(of("c") + REMOVED)).unwrap();
        remove().unwrap();
        assert!(!path(of("b")).exists());
    }

    #[test]
    fn folders_that_were_used_lately_are_kept() {
        let [before, after] = left(Duration::from_secs(3600));
        assert_eq!(before.len(), 6);
        assert_eq!(after, before);
    }
}
