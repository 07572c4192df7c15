//! Starts, finds and signals the tests' own processes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::program::Project;

/// A program that a test has started. If the test has not waited for the program's
/// end, the program is killed with the test.
pub struct Started(Option<Child>);

impl Started {
    pub fn of(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    /// Waits for the program's end, and returns its output.
    pub fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns `pid` and all processes below it, found by their parents' ids.
pub fn tree(pid: u32) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(child) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The process's name, in parentheses, may contain any character.
        let after_name = stat.rsplit(')').next().unwrap();
        let parent = after_name.split_whitespace().nth(1).unwrap().parse().unwrap();
        children.entry(parent).or_default().push(child);
    }
    let mut found = HashSet::from([pid]);
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
    found
}

/// Returns the manager: the oldest process below the test's
/// process that runs in the project's folder.
pub fn manager_in(project: &Project) -> u32 {
    let folder = project.path("").canonicalize().unwrap();
    let runs_there =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    // The manager's workers run there too, as its descendants. Numbers of processes start again at
    // their end, so that the smallest is not always the oldest.
    let there = tree(std::process::id()).into_iter().filter(runs_there);
    there.max_by_key(|pid| tree(*pid).len()).unwrap()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is dead: its new parent has not reaped it yet.
    !stat.is_empty() && !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

/// Waits until none of these processes is alive. Panics after `limit`.
#[track_caller]
pub fn assert_gone(pids: &HashSet<u32>, limit: Duration) {
    let deadline = Instant::now() + limit;
    loop {
        let alive: Vec<_> = pids
            .iter()
            .filter(|pid| is_alive(**pid))
            .map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default())
            .collect();
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {alive:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns those of `pids` whose command line contains `text`.
pub fn named(pids: &HashSet<u32>, text: &str) -> Vec<u32> {
    let holds = |pid: &&u32| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.replace('\0', " ").contains(text)
    };
    pids.iter().filter(holds).copied().collect()
}

/// Returns the number of sockets that a process has open.
pub fn sockets(pid: u32) -> usize {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// Sends a signal to a process that the test started.
pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}
