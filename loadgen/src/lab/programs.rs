//! Finds programs of the system.

use std::env;
use std::path::PathBuf;

/// Returns the path of a program on the PATH.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
