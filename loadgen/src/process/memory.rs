//! The pages under the heap of this process.

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
