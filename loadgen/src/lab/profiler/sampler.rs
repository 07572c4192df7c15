//! Samples the stacks of Python processes, by py-spy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use py_spy::config::{LineNo, LockingStrategy};
use py_spy::timer::Timer;
use py_spy::{Config, Frame, PythonSpy, StackTrace};
use rustix::process::Pid;

use super::SAMPLES_PER_S;
use super::stopped::{StoppedThread, stop};
use crate::lab::service::guard::descendants;
use crate::measure::{Doing, Process, Stacks};

/// Interval at which new processes are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Shortest rest after a sample, as a multiple of the time that the sample took: threads stand still meanwhile.
const REST: u32 = 4;

/// Every so many samples, threads that wait are read, too.
const WHOLE: u64 = 10;

/// Attempts to read a process that has just been started.
const ATTEMPTS: u64 = 5;

/// Samples a process and its descendants at random moments until `over`.
///
/// # Errors
/// If none of them is a Python process that may be read: says why, as a phrase.
pub(super) fn sample(root: Pid, over: &AtomicBool) -> Result<Stacks, String> {
    let mut processes = Processes { root, spies: BTreeMap::new(), others: BTreeSet::new() };
    processes.look()?;
    let child = root.as_raw_nonzero().get();
    let mut seen = BTreeMap::<i32, Process>::new();
    let (mut looked, mut rests_until, mut samples) = (Instant::now(), Instant::now(), 0);
    for _ in Timer::new(SAMPLES_PER_S) {
        if over.load(Ordering::Relaxed) {
            break;
        }
        if looked.elapsed() >= LOOK_AGAIN {
            // Without any process left, the server has ended, which others report.
            let _ = processes.look();
            looked = Instant::now();
        }
        let began = Instant::now();
        if began < rests_until {
            continue;
        }
        let whole = samples % WHOLE == 0;
        samples += 1;
        let Some(moment) = Moment::begin(processes.spies.values(), child, whole) else { continue };
        processes.spies.retain(|pid, spy| match moment.look_at(spy) {
            Ok(look) => {
                let process = seen.entry(*pid).or_default();
                process.moments += 1;
                process.whole_moments += u64::from(whole);
                // Where py-spy does not find the lock, nothing is known of it.
                if spy.addresses.threadstate_address != 0 {
                    *process.gil_held.get_or_insert(0) += u64::from(look.gil_held);
                }
                for (trace, doing) in &look.threads {
                    process.add(collapsed(trace), *doing, 1);
                }
                true
            }
            Err(_) => {
                seen.entry(*pid).or_default().missed += 1;
                spy.process.exe().is_ok()
            }
        });
        drop(moment);
        rests_until = Instant::now() + began.elapsed() * REST;
    }
    Ok(Stacks { processes: seen.into_values().collect() })
}

/// A process at a moment.
struct Look {
    /// Threads with their states.
    threads: Vec<(StackTrace, Doing)>,
    /// Whether one of its threads held the interpreter's lock.
    gil_held: bool,
}

/// A moment at which the threads that run stand still, those of all processes at once: a process that is stopped gives its
/// CPU to another one, which would seem to run.
struct Moment {
    /// State of each thread, by ID: of those that ran or, at a whole moment, of all.
    did: BTreeMap<u64, Doing>,
    _stopped: Vec<StoppedThread>,
}

impl Moment {
    /// Stops the threads that run or could run. A thread that waits stays asleep: stopped, it would have to wake up to go to
    /// sleep again, and would seem to run if the next sample is soon after. It cannot change its stack meanwhile, because
    /// the thread that has the interpreter's lock is stopped.
    fn begin<'a>(of: impl Iterator<Item = &'a PythonSpy>, child: i32, whole: bool) -> Option<Self> {
        let (mut did, mut active) = (BTreeMap::new(), Vec::new());
        for spy in of {
            let gil = gil(spy);
            for thread in spy.process.threads().unwrap_or_default() {
                // A thread may end at any moment.
                match (thread.id(), thread.active()) {
                    (Ok(id), Ok(true)) => active.push(id),
                    (Ok(id), Ok(false)) if whole => {
                        let for_gil = waits_for(spy.pid, id, &gil);
                        let doing = if for_gil { Doing::ForGil } else { Doing::Waiting };
                        did.insert(id.unsigned_abs().into(), doing);
                    }
                    _ => {}
                }
            }
        }
        let stopped = stop(&active, child)?;
        for thread in stopped.iter().filter(|thread| whole || thread.ran) {
            let doing = if thread.ran { Doing::OnCpu } else { Doing::ForCpu };
            did.insert(thread.thread.unsigned_abs().into(), doing);
        }
        Some(Self { did, _stopped: stopped })
    }

    /// Reads the stacks of a process. Most often only one thread runs, and holds the lock: it can be read without all
    /// others, each of which takes as long.
    fn look_at(&self, spy: &mut PythonSpy) -> Result<Look, String> {
        let threads = spy.process.threads().map_err(|error| error.to_string())?;
        let ids = threads.iter().filter_map(|thread| Some(thread.id().ok()?.unsigned_abs().into()));
        let of: Vec<u64> = ids.filter(|id| self.did.contains_key(id)).collect();
        let mut read = |gil_only| {
            spy.config.gil_only = gil_only;
            spy.get_stack_traces().map_err(|error| format!("{error:#}"))
        };
        let mut traces = if of.len() <= 1 { read(true)? } else { Vec::new() };
        if !of.iter().all(|id| traces.iter().any(|trace| trace.os_thread_id == Some(*id))) {
            traces = read(false)?;
        }
        let gil_held = traces.iter().any(|trace| trace.owns_gil);
        let doing = |trace: &StackTrace| self.did.get(&trace.os_thread_id?).copied();
        let with = |trace| doing(&trace).map(|doing| (trace, doing));
        Ok(Look { threads: traces.into_iter().filter_map(with).collect(), gil_held })
    }
}

/// Returns the addresses at which threads wait for the interpreter's global lock. From Python 3.12 on, py-spy knows where
/// the lock is; before, it knows a field beside it in the same structure (`_PyRuntime`).
fn gil(spy: &PythonSpy) -> Range<usize> {
    let at = spy.addresses.threadstate_address;
    match (spy.version.major, spy.version.minor) {
        _ if at == 0 => 0..0,
        (3, 12..) => at..at + 256,
        _ => at.saturating_sub(4096)..at + 4096,
    }
}

/// Number of the system call futex(2), with which threads wait for locks.
const FUTEX: &str = if cfg!(target_arch = "aarch64") { "98" } else { "202" };

/// Returns whether a thread sleeps at one of these addresses (proc_pid_syscall(5)).
fn waits_for(process: i32, thread: i32, addresses: &Range<usize>) -> bool {
    let call = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall"));
    let call = call.unwrap_or_default();
    let mut words = call.split_ascii_whitespace();
    let (number, address) = (words.next(), words.next().and_then(|word| word.strip_prefix("0x")));
    let address = address.and_then(|digits| usize::from_str_radix(digits, 16).ok());
    number == Some(FUTEX) && address.is_some_and(|address| addresses.contains(&address))
}

/// The processes of a server.
struct Processes {
    root: Pid,
    /// Python processes, by ID.
    spies: BTreeMap<i32, PythonSpy>,
    /// Processes that cannot be read.
    others: BTreeSet<i32>,
}

impl Processes {
    /// Looks for new processes. The error says why none can be read.
    fn look(&mut self) -> Result<(), String> {
        let config = Config {
            lineno: LineNo::NoLine,
            blocking: LockingStrategy::AlreadyLocked,
            ..Config::default()
        };
        let mut why = None;
        for pid in [self.root].into_iter().chain(descendants(self.root)) {
            let pid = pid.as_raw_nonzero().get();
            if self.spies.contains_key(&pid) || self.others.contains(&pid) {
                continue;
            }
            match PythonSpy::retry_new(pid, &config, ATTEMPTS) {
                Ok(spy) => drop(self.spies.insert(pid, spy)),
                Err(error) => {
                    self.others.insert(pid);
                    why.get_or_insert(format!("{error:#}"));
                }
            }
        }
        match why {
            Some(why) if self.spies.is_empty() => {
                Err(format!("none of its processes is Node.js, or can be read as Python: {why}"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns a thread's stack as a line: from the outermost call to the innermost one.
fn collapsed(trace: &StackTrace) -> String {
    let frames: Vec<String> = trace.frames.iter().rev().map(label).collect();
    frames.join(";")
}

/// Returns a frame as `function (file)`.
fn label(frame: &Frame) -> String {
    let file = frame.short_filename.as_ref().unwrap_or(&frame.filename);
    format!("{} ({file})", frame.name).replace(';', ":")
}
