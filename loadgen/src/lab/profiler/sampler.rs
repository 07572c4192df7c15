//! Samples the stacks of Python processes, by py-spy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use py_spy::config::{LineNo, LockingStrategy};
use py_spy::timer::Timer;
use py_spy::{Config, Frame, PythonSpy, StackTrace};
use rustix::process::Pid;

use super::SAMPLES_PER_S;
use crate::lab::service::guard::descendants;
use crate::measure::Stacks;

/// Interval at which new processes are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Attempts to read a process that has just been started.
const ATTEMPTS: u64 = 5;

/// Samples a process and its descendants at random moments until `over`.
///
/// # Errors
/// If none of them is a Python process that may be read: says why, as a phrase.
pub(super) fn sample(root: Pid, over: &AtomicBool) -> Result<Stacks, String> {
    let mut processes = Processes { root, spies: BTreeMap::new(), others: BTreeSet::new() };
    processes.look()?;
    let (mut stacks, mut looked) = (Stacks::default(), Instant::now());
    for _ in Timer::new(SAMPLES_PER_S) {
        if over.load(Ordering::Relaxed) {
            break;
        }
        if looked.elapsed() >= LOOK_AGAIN {
            // Without any process left, the server has ended, which others report.
            let _ = processes.look();
            looked = Instant::now();
        }
        stacks.moments += 1;
        processes.spies.retain(|_, spy| match look_at(spy) {
            Ok(traces) => {
                for trace in &traces {
                    stacks.add(collapsed(trace), trace.active, trace.owns_gil);
                }
                true
            }
            Err(_) => {
                stacks.missed += 1;
                spy.process.exe().is_ok()
            }
        });
    }
    Ok(stacks)
}

/// Returns the stacks of a process's threads, of which `active` says whether a thread was running or could run.
///
/// Only such threads are stopped for it. A thread that waits stays asleep: stopped, it would have to wake up to go to
/// sleep again, and would seem to run if the next sample is soon after. It cannot change its stack meanwhile, because
/// the thread that has the interpreter's lock is stopped.
fn look_at(spy: &mut PythonSpy) -> Result<Vec<StackTrace>, String> {
    let (mut running, mut locks) = (BTreeSet::<u64>::new(), Vec::new());
    for thread in spy.process.threads().map_err(|error| error.to_string())? {
        // A thread may end at any moment.
        if let (Ok(id), Ok(true), Ok(lock)) = (thread.id(), thread.active(), thread.lock()) {
            running.insert(id.unsigned_abs().into());
            locks.push(lock);
        }
    }
    let mut traces = spy.get_stack_traces().map_err(|error| format!("{error:#}"))?;
    for trace in &mut traces {
        trace.active = trace.os_thread_id.is_some_and(|id| running.contains(&id));
    }
    Ok(traces)
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
                Err(format!("none of its processes can be read as Python: {why}"))
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
