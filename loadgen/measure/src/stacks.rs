//! Counts the stacks of a program's threads, sampled at random moments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Stacks of the threads of a program's processes, sampled at random moments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stacks {
    /// The processes that were read.
    pub processes: Vec<Process>,
}

/// Samples of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Process {
    /// Number of moments at which it was read; 0 if only its stacks are known.
    pub moments: u64,
    /// Number of moments at which it could not be read.
    pub missed: u64,
    /// Number of the moments at which it was read, and also the threads were read that did not run.
    pub whole_moments: u64,
    /// Number of these moments at which one of its threads held the interpreter's global lock; `None` for a program
    /// without one.
    pub gil_held: Option<u64>,
    /// Threads that were seen, by stack: the frames from the outermost call to the innermost one, separated
    /// by `;`, each as `function (file)`. These are the collapsed stacks of Brendan Gregg's FlameGraph.
    pub threads: BTreeMap<String, Threads>,
}

/// Threads that had one stack, by what they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Threads {
    /// Number of threads that ran.
    pub on_cpu: u64,
    /// Number of threads that waited for a CPU.
    pub for_cpu: u64,
    /// Number of threads that waited for the interpreter's global lock.
    pub for_gil: u64,
    /// Number of threads that waited for something else.
    pub waiting: u64,
}

/// State of a thread at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It ran.
    OnCpu,
    /// It could run if it had a CPU.
    ForCpu,
    /// It waited for the interpreter's global lock.
    ForGil,
    /// It waited for something else.
    Waiting,
}

impl Process {
    /// Adds threads with this stack.
    pub fn add(&mut self, stack: String, doing: Doing, threads: u64) {
        let of = self.threads.entry(stack).or_default();
        *match doing {
            Doing::OnCpu => &mut of.on_cpu,
            Doing::ForCpu => &mut of.for_cpu,
            Doing::ForGil => &mut of.for_gil,
            Doing::Waiting => &mut of.waiting,
        } += threads;
    }

    /// Returns the number of threads that ran, over all moments.
    #[must_use]
    pub fn on_cpu(&self) -> u64 {
        self.threads.values().map(|threads| threads.on_cpu).sum()
    }
}

impl Stacks {
    /// Adds what another sampler saw of other processes, or of other times.
    pub fn merge(&mut self, other: Self) {
        self.processes.extend(other.processes);
    }

    /// Returns the number of threads that ran, over all processes and moments.
    #[must_use]
    pub fn on_cpu(&self) -> u64 {
        self.processes.iter().map(Process::on_cpu).sum()
    }

    /// Returns the stacks of threads that ran, with the number of threads over all processes and moments.
    #[must_use]
    pub fn ran(&self) -> BTreeMap<&str, u64> {
        let mut ran = BTreeMap::new();
        for (stack, threads) in self.processes.iter().flat_map(|process| &process.threads) {
            if threads.on_cpu > 0 {
                *ran.entry(stack.as_str()).or_default() += threads.on_cpu;
            }
        }
        ran
    }
}

impl From<Process> for Stacks {
    fn from(process: Process) -> Self {
        Self { processes: vec![process] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_samplers_saw_is_added_up() {
        let mut one = Process { moments: 3, ..Process::default() };
        one.add("main (a.py);serve (b.py)".to_owned(), Doing::OnCpu, 2);
        one.add("main (a.py);serve (b.py)".to_owned(), Doing::ForGil, 1);
        one.add("main (a.py)".to_owned(), Doing::Waiting, 1);
        let mut other = Process::default();
        other.add("main (a.py);serve (b.py)".to_owned(), Doing::OnCpu, 1);
        let mut all = Stacks::from(one);
        all.merge(other.into());
        assert_eq!((all.processes.len(), all.on_cpu()), (2, 3));
        assert_eq!(all.ran(), [("main (a.py);serve (b.py)", 3)].into());
        let busy = Threads { on_cpu: 2, for_gil: 1, ..Threads::default() };
        assert_eq!(all.processes[0].threads["main (a.py);serve (b.py)"], busy);
    }
}
