//! This process, as the system sees it.

use std::ffi::CStr;

/// What `ps` and `top` call this process; at most 15 bytes of it.
pub fn call_process(name: &CStr) {
    // A name is a convenience: nothing depends on it.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// Raises the soft limit of open files to the hard one, as servers do, and tells it.
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let soft = limit.current;
    limit.current = limit.maximum;
    let current = if setrlimit(Resource::Nofile, limit).is_ok() { limit.maximum } else { soft };
    current.unwrap_or(u64::MAX)
}
