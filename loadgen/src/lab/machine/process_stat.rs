//! Reads `/proc/PID/stat`, by which the kernel describes a process: see proc_pid_stat(5).

use std::fs;
use std::str::SplitAsciiWhitespace;

/// Returns the description of a process; `None` if it has ended, or on systems other than Linux.
pub(in crate::lab) fn stat(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// Returns the fields of a description, from the third on, the state. The second is a name in parentheses, which may contain
/// anything.
pub(in crate::lab) fn fields(stat: &str) -> Option<SplitAsciiWhitespace<'_>> {
    stat.rsplit_once(')').map(|(_, fields)| fields.split_ascii_whitespace())
}
