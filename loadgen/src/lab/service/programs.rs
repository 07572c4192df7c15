//! Finds programs of the system, and what the user's own programs are started with.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of a program on the PATH; `None` if no folder of the PATH has the program.
pub(in crate::lab) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Returns the user's environment variables. Services take text, so that variables that are not UTF-8
/// are left out.
pub(in crate::lab) fn user_variables() -> impl Iterator<Item = (String, String)> {
    let text = |value: OsString| value.into_string().ok();
    env::vars_os().filter_map(move |(name, value)| Some((text(name)?, text(value)?)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_executed_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("uv");
        fs::write(&file, "").unwrap();
        assert!(!is_program(&file) && !is_program(folder.path()));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_program(&file));
    }
}
