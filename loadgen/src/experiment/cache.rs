//! Caches what runs find out about a machine for later runs, in files in the user's cache folder.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{env, fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sysinfo::System;

use crate::lab::user_cache;

/// Returns the path of the file `NAME` in the user's cache, or `None` without a cache folder.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    Some(user_cache()?.join("loadgen").join(name))
}

/// Returns the file's content, or the default value
/// if the file is missing or contains no valid `T`.
pub(super) fn read<T: DeserializeOwned + Default>(path: &Path) -> T {
    let bytes = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Replaces the file atomically: another run may be reading the file.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&file, value)?;
    file.persist(path)?;
    Ok(())
}

/// Returns host name and kernel version, which identify this
/// machine among all machines that share a home folder.
pub(super) fn machine() -> String {
    let told = [System::host_name(), System::kernel_version()];
    told.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Identifies this build by version, size and modification time, because two builds can share a
/// version. `None` if the binary's size or time cannot be read.
pub(super) fn build() -> Option<String> {
    let file = fs::metadata(env::current_exe().ok()?).ok()?;
    let age = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(format!("loadgen {} of {} bytes at {age}", env!("CARGO_PKG_VERSION"), file.len()))
}
