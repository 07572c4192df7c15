//! Chooses the size of the pages under the heap of this process.

use std::path::Path;

/// Restarts this program as [`use_huge_pages`] does, if the file at this path can be read only once,
/// such as a pipe or standard input (`-`). A later restart would find nothing to read.
pub fn use_huge_pages_before_reading(path: &Path) {
    if path == Path::new("-") || (path.exists() && !path.is_file()) {
        use_huge_pages();
    }
}

/// Restarts this program, in the same process, with huge pages under its heap. With thousands of
/// users, the data in the heap exceeds what a CPU's TLB covers with small pages.
///
/// The restart is necessary because glibc (2.35 and newer) reads the setting only from the
/// environment, before `main`. Returns without a restart if the environment already has the
/// setting, or if the restart fails.
///
/// Must be called before anything is started or written, and before input is read that cannot be
/// read again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn use_huge_pages() {
    use std::env;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const TUNABLES: &str = "GLIBC_TUNABLES";
    let mut args = env::args_os();
    // Keeps a value that this function or the user has already set.
    let (None, Ok(program), Some(arg0)) = (env::var_os(TUNABLES), env::current_exe(), args.next())
    else {
        return;
    };
    // `exec` returns only if it fails; the program then continues unchanged.
    let _ =
        Command::new(program).arg0(arg0).args(args).env(TUNABLES, "glibc.malloc.hugetlb=1").exec();
}

/// Does nothing: the setting for huge pages exists only in glibc on Linux.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn use_huge_pages() {}
