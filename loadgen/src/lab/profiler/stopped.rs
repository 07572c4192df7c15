//! Stops threads of another process for a moment, and tells which of them ran at that moment.

use std::fs;

use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A thread that is stopped. Dropping it lets the thread go on.
pub(super) struct Stopped {
    /// ID of the thread.
    pub thread: i32,
    /// Whether the thread ran; otherwise it waited for a CPU.
    pub ran: bool,
    /// A signal that came meanwhile, which the thread is yet to get.
    signal: Option<Signal>,
}

/// Stops threads that run or wait for a CPU, as good as at the same time. Threads that end meanwhile, or may not be
/// stopped, are left out.
///
/// To stop, a thread needs a CPU. One that ran has it already; one that waited is given one, which the kernel counts. All
/// are asked before any is waited for: otherwise the first to stop would give its CPU to another one, which would seem to
/// run.
pub(super) fn stop(threads: &[i32]) -> Vec<Stopped> {
    let seized = |thread: &&i32| ptrace::seize(Pid::from_raw(**thread), Options::empty()).is_ok();
    let seized: Vec<i32> = threads.iter().filter(seized).copied().collect();
    let before: Vec<Option<u64>> = seized.iter().map(|thread| times_on_cpu(*thread)).collect();
    for thread in &seized {
        // A thread that has ended meanwhile is no child to wait for.
        let _ = ptrace::interrupt(Pid::from_raw(*thread));
    }
    let stopped = seized.into_iter().zip(before).filter_map(|(thread, before)| {
        let signal = match waitpid(Pid::from_raw(thread), Some(WaitPidFlag::__WALL)).ok()? {
            WaitStatus::PtraceEvent(..) => None,
            WaitStatus::Stopped(_, signal) => Some(signal),
            _ => return None,
        };
        Some(Stopped { thread, ran: times_on_cpu(thread) == before, signal })
    });
    stopped.collect()
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been killed.
        let _ = ptrace::detach(Pid::from_raw(self.thread), self.signal);
    }
}

/// Returns how often a thread was given a CPU (`Documentation/scheduler/sched-stats.rst` of Linux); `None` if this kernel
/// does not count it.
fn times_on_cpu(thread: i32) -> Option<u64> {
    let counts = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    counts.split_ascii_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;

    /// A program that computes, on CPU 0 only.
    struct Busy(Child);

    impl Busy {
        fn start() -> Self {
            let words = ["-c", "0", "sh", "-c", "while :; do :; done"];
            Self(Command::new("taskset").args(words).spawn().unwrap())
        }

        fn id(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn of_three_programs_on_one_cpu_one_runs() {
        let busy = [Busy::start(), Busy::start(), Busy::start()];
        let ids = busy.each_ref().map(Busy::id);
        std::thread::sleep(Duration::from_millis(300));
        let mut ran = 0;
        for _ in 0..100 {
            let stopped = stop(&ids);
            assert_eq!(stopped.len(), 3);
            let running = stopped.iter().filter(|of| of.ran).count();
            // None, if another program has the CPU.
            assert!(running <= 1, "{running} ran");
            ran += running;
            drop(stopped);
            std::thread::sleep(Duration::from_millis(3));
        }
        assert!(ran > 20, "{ran} of 100");
    }

    #[test]
    fn a_signal_that_came_meanwhile_is_not_lost_and_a_thread_that_ended_is_left_out() {
        let mut busy = Busy::start();
        std::thread::sleep(Duration::from_millis(300));
        let stopped = stop(&[busy.id()]);
        nix::sys::signal::kill(Pid::from_raw(busy.id()), Signal::SIGTERM).unwrap();
        drop(stopped);
        let status = busy.0.wait().unwrap();
        assert_eq!(status.to_string(), "signal: 15 (SIGTERM)");
        assert!(stop(&[busy.id()]).is_empty());
        busy = Busy::start();
        drop(busy);
    }
}
