//! Stops threads of another process for a moment, and tells which of them ran at that moment.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// Longest time from the first look to the last word: usually it takes less than a tenth.
const LONGEST: Duration = Duration::from_millis(1);

/// A thread that is stopped. Dropping it lets the thread go on.
pub(super) struct StoppedThread {
    /// ID of the thread.
    pub thread: i32,
    /// Whether the thread ran; otherwise it waited for a CPU.
    pub ran: bool,
    /// A signal that came meanwhile, which the thread is yet to get.
    signal: Option<Signal>,
    /// The process that this one has started.
    child: i32,
}

/// Stops threads that run or wait for a CPU, as good as at the same time. Threads that end meanwhile, or may not be
/// stopped, are left out.
///
/// To stop, a thread needs a CPU. One that ran has it already; one that waited is given one, which the kernel counts. All
/// are asked before any is waited for: otherwise the first to stop would give its CPU to another one, which would seem to
/// run.
///
/// `child` is the process that this one has started, and waits for. Returns `None` if it took too long to ask: what ran
/// when the first was looked at may wait when the last is asked, and nothing is known.
pub(super) fn stop(threads: &[i32], child: i32) -> Option<Vec<StoppedThread>> {
    let seized = |thread: &&i32| ptrace::seize(Pid::from_raw(**thread), Options::empty()).is_ok();
    let seized: Vec<i32> = threads.iter().filter(seized).copied().collect();
    let began = Instant::now();
    let before: Vec<Option<u64>> = seized.iter().map(|thread| times_on_cpu(*thread)).collect();
    for thread in &seized {
        // A thread that has ended meanwhile is no child to wait for.
        let _ = ptrace::interrupt(Pid::from_raw(*thread));
    }
    let in_time = began.elapsed() < LONGEST;
    let stopped = seized.into_iter().zip(before).filter_map(|(thread, before)| {
        let signal = match wait(thread, child)? {
            // The second form is that of waitid(2).
            Ok(WaitStatus::Stopped(_, signal) | WaitStatus::PtraceEvent(_, signal, 0)) => {
                Some(signal)
            }
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => return None,
            // An error is the stop by a signal of real time, which has no name.
            Ok(_) | Err(_) => None,
        };
        Some(StoppedThread { thread, ran: times_on_cpu(thread) == before, signal, child })
    });
    let stopped: Vec<StoppedThread> = stopped.collect();
    in_time.then_some(stopped)
}

/// Waits until a thread has stopped; `None` if it has ended.
///
/// Nobody but its tracer can be told first that another process has ended. That a child has ended must be left to who
/// waits for it.
fn wait(thread: i32, child: i32) -> Option<nix::Result<WaitStatus>> {
    let pid = Pid::from_raw(thread);
    if thread != child {
        return Some(waitpid(pid, Some(WaitPidFlag::__WALL)))
            .filter(|it| *it != Err(Errno::ECHILD));
    }
    let stops = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
    loop {
        match waitid(Id::Pid(pid), stops) {
            Err(Errno::ECHILD) => return None,
            Ok(WaitStatus::StillAlive) if has_ended(thread) => return None,
            // Mostly for less than a tenth of a millisecond.
            Ok(WaitStatus::StillAlive) => std::thread::yield_now(),
            stopped => return Some(stopped),
        }
    }
}

/// Returns whether a thread has ended, and is a zombie at most.
fn has_ended(thread: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, after)| after.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

impl Drop for StoppedThread {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.thread);
        let killed = ptrace::detach(pid, self.signal).is_err();
        if killed && self.thread != self.child {
            // Who waits for it is told only after its tracer.
            let _ = waitpid(pid, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG));
        }
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
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    /// A program that computes, on one CPU only.
    struct Busy(Child);

    impl Busy {
        fn start(cpu: usize) -> Self {
            let words = ["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"];
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
        let allowed = sched_getaffinity(None).unwrap();
        let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let (Some(theirs), Some(own)) = (cpus.next(), cpus.next()) else {
            crate::text::say(format_args!(
                "not tested: it takes a CPU besides that of the programs"
            ));
            return;
        };
        let mut only = CpuSet::new();
        only.set(own);
        sched_setaffinity(None, &only).unwrap();
        let busy = [(); 3].map(|()| Busy::start(theirs));
        let ids = busy.each_ref().map(Busy::id);
        std::thread::sleep(Duration::from_millis(300));
        let mut ran = 0;
        for _ in 0..100 {
            let Some(stopped) = stop(&ids, 0) else { continue };
            assert_eq!(stopped.len(), 3);
            let running = stopped.iter().filter(|of| of.ran).count();
            // None, if another program has the CPU.
            assert!(running <= 1, "{running} ran");
            ran += running;
            drop(stopped);
            std::thread::sleep(Duration::from_millis(3));
        }
        assert!(ran > 5, "{ran} of 100");
    }

    #[test]
    fn signals_are_not_lost_and_who_waits_for_a_child_is_told_of_its_end() {
        let script = "n=0; trap 'n=$((n + 1)); echo $n' USR1; echo 0; while :; do :; done";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(printed.next().unwrap().unwrap(), "0");
        for number in 1..=200 {
            nix::sys::signal::kill(Pid::from_raw(id), Signal::SIGUSR1).unwrap();
            drop(stop(&[id], if number % 2 == 0 { id } else { 0 }));
            assert_eq!(printed.next().unwrap().unwrap(), number.to_string());
        }
        let stopped = stop(&[id], id);
        assert!(stopped.as_ref().is_none_or(|stopped| stopped.len() == 1));
        nix::sys::signal::kill(Pid::from_raw(id), Signal::SIGKILL).unwrap();
        drop(stopped);
        assert_eq!(child.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        assert!(stop(&[id], id).is_none_or(|stopped| stopped.is_empty()));
    }
}
