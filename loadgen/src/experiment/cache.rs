//! What runs have found out about a machine, for those that follow: files in the user's cache folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sysinfo::System;

/// `loadgen/NAME` in the user's cache folder (XDG Base Directory Specification); `None` where there
/// is no such folder.
pub fn path(name: &str) -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("loadgen").join(name))
}

/// What the file holds; nothing where there is none, or something else in it.
pub fn read<T: DeserializeOwned + Default>(path: &Path) -> T {
    let bytes = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Puts this into the file, all at once: another run may be reading it.
pub fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&file, value)?;
    file.persist(path)?;
    Ok(())
}

/// Tells one machine from another that has the same home.
pub fn machine() -> String {
    let told = [System::host_name(), System::kernel_version()];
    told.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
