//! Reads the CPU time of processes, in ns since their start.

/// Returns the CPU time of a process with all of its threads, those that have ended included, but
/// without the process's children. `None` if the process has ended, or on systems other than Linux.
#[cfg(target_os = "linux")]
pub(in crate::lab) fn own_ns(pid: u32) -> Option<u64> {
    use std::time::Duration;

    use nix::time::ClockId;
    use nix::unistd::Pid;
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(i32::try_from(pid).ok()?)).ok()?;
    u64::try_from(Duration::from(clock.now().ok()?).as_nanos()).ok()
}

/// Returns `None`: only Linux lets a process read the clocks of others.
#[cfg(not(target_os = "linux"))]
pub(in crate::lab) fn own_ns(_pid: u32) -> Option<u64> {
    None
}

/// Returns the CPU time of the children of a process that have ended, with the children of those, in a
/// resolution of 10 ms. Counts only children for which the process has waited. `None` if the process
/// has ended, or on systems other than Linux.
#[cfg(target_os = "linux")]
pub(in crate::lab) fn of_ended_children_ns(pid: u32) -> Option<u64> {
    let ticks = of_ended_children(&super::process_stat::stat(pid)?)?;
    Some(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

/// Returns `None`: loadgen reads the CPU time of ended children only on Linux.
#[cfg(not(target_os = "linux"))]
pub(in crate::lab) fn of_ended_children_ns(_pid: u32) -> Option<u64> {
    None
}

/// Parses `cutime` and `cstime` of `/proc/PID/stat`, and returns their sum in clock ticks: see
/// proc_pid_stat(5).
#[cfg(target_os = "linux")]
fn of_ended_children(stat: &str) -> Option<u64> {
    let mut fields = super::process_stat::fields(stat)?.skip(13);
    let [cutime, cstime] = [fields.next()?, fields.next()?].map(str::parse::<u64>);
    Some(cutime.ok()?.saturating_add(cstime.ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_counts_threads_that_have_ended() {
        let me = std::process::id();
        let before = own_ns(me).unwrap();
        let busy = || {
            let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
            let used = || std::time::Duration::from(clock.now().unwrap());
            while used().as_millis() < 50 {
                std::hint::spin_loop();
            }
        };
        std::thread::spawn(busy).join().unwrap();
        let used = own_ns(me).unwrap() - before;
        assert!(used >= 50_000_000, "{used}");
        assert_eq!(own_ns(u32::MAX), None);
    }

    #[test]
    fn stat_holds_the_time_of_ended_children() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 700 8000 20 0 1 0 99";
        assert_eq!(of_ended_children(stat), Some(8_700));
        assert_eq!(of_ended_children("7 (short) S 1 7"), None);
        assert_eq!(of_ended_children(""), None);
    }
}
