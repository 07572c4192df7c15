//! Finds the user's cache folder.

use std::env;
use std::path::PathBuf;

/// Returns the user's cache folder (XDG Base Directory Specification), or `None` if `XDG_CACHE_HOME` is
/// unset and the user has no home folder. The folder may be missing.
pub fn user_cache() -> Option<PathBuf> {
    let set = env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    // Without HOME, `home_dir` asks the system's list of users.
    let home = || env::home_dir().filter(|home| !home.as_os_str().is_empty());
    set.or_else(|| Some(home()?.join(".cache")))
}
