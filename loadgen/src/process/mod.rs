//! Manages this process as the system and its users see it: name, memory, threads, signals,
//! standard streams.

mod memory;
mod output;
mod panics;
mod signals;
mod stdin;
mod stdout;
mod threads;

use std::ffi::CStr;

pub use self::memory::{use_huge_pages, use_huge_pages_before_reading};
pub use self::output::{
    await_terminal, columns, is_interactive, print, print_report, say_failure, unprinted,
    write_result,
};
pub use self::panics::end_on_panic;
pub use self::signals::{leave_on_signal, on_signal};
pub use self::stdin::first_lines;
pub use self::stdout::Stdout;
pub use self::threads::{for_load, on_all_cpus};

/// Sets the name that `ps` and `top` show for this process: at most 15 bytes of `name`.
pub fn call_process(name: &CStr) {
    // Ignores errors: nothing depends on the name.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(name);
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}
