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

/// How many connections from this machine to one server its ports allow; `None` where the system does
/// not tell.
pub fn local_ports() -> Option<u32> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_ascii_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.saturating_sub(first) + 1)
}

/// Begins this program anew, in this process, with huge pages under its heap: what thousands of
/// users keep there is more than a CPU's TLB covers with small ones. glibc (2.35 and newer) reads
/// the wish before `main`, from the environment alone. Returns where that is done, or cannot be.
///
/// Call it before anything is started, read or written.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn use_huge_pages() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const TUNABLES: &str = "GLIBC_TUNABLES";
    let mut args = env::args_os();
    // Where it is set, by this function or by the user, that stands.
    let (None, Ok(program), Some(arg0)) = (env::var_os(TUNABLES), env::current_exe(), args.next())
    else {
        return;
    };
    // This returns only where it fails, and then all goes on as it was.
    let _ =
        Command::new(program).arg0(arg0).args(args).env(TUNABLES, "glibc.malloc.hugetlb=1").exec();
}

/// Does nothing: this allocator can't be asked.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn use_huge_pages() {}
