//! Reads how long the threads of a process ran, and how long they waited for a CPU.

/// Scheduling statistics of a thread since the thread's start. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scheduled {
    /// Time that the thread ran on a CPU, in ns.
    pub ran: u64,
    /// Time in which the thread was ready to run but no CPU was free, in ns.
    pub waited: u64,
    /// Number of times that the thread was given a CPU. Each time is a context switch.
    pub runs: u64,
}

/// Returns the number and the scheduling statistics of each thread of a process. The list is empty
/// if the process has ended, or if Linux was built without `CONFIG_SCHED_INFO`.
#[cfg(target_os = "linux")]
#[must_use]
pub fn threads(pid: u32) -> Vec<(u32, Scheduled)> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| {
            let number = task.file_name().to_str()?.parse().ok()?;
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some((number, parse(&text)?))
        })
        .collect()
}

/// Returns an empty list: loadgen reads scheduling statistics only on Linux.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn threads(_pid: u32) -> Vec<(u32, Scheduled)> {
    Vec::new()
}

/// Parses `/proc/PID/task/TID/schedstat`: see Documentation/scheduler/sched-stats.rst of Linux.
#[cfg(target_os = "linux")]
fn parse(text: &str) -> Option<Scheduled> {
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let ran = fields.next()?.ok()?;
    let waited = fields.next()?.ok()?;
    let runs = fields.next()?.ok()?;
    Some(Scheduled { ran, waited, runs })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn schedstat_holds_two_times_and_a_count() {
        assert_eq!(parse("712 34 5\n"), Some(Scheduled { ran: 712, waited: 34, runs: 5 }));
        assert_eq!(parse("712 34\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_process_that_ended_has_no_threads() {
        assert!(!threads(std::process::id()).is_empty());
        assert_eq!(threads(u32::MAX), Vec::new());
    }
}
