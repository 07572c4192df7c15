//! Counts the stacks of a program's threads, sampled at random moments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Stacks of the threads of a program's processes, sampled at random moments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stacks {
    /// Threads that were seen, by stack: the frames from the outermost call to the innermost one, separated
    /// by `;`, each as `function (file)`. These are the collapsed stacks of Brendan Gregg's FlameGraph.
    pub threads: BTreeMap<String, Threads>,
    /// Number of moments, over all samplers.
    pub moments: u64,
    /// Number of times that a process could not be read at such a moment.
    pub missed: u64,
}

/// Threads that had one stack, by what they did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Threads {
    /// Number of threads that ran or could run.
    pub on_cpu: u64,
    /// Number of those that held the interpreter's global lock.
    pub with_gil: u64,
    /// Number of threads that waited.
    pub waiting: u64,
}

impl Stacks {
    /// Adds a thread with this stack.
    pub fn add(&mut self, stack: String, on_cpu: bool, has_gil: bool) {
        let of = self.threads.entry(stack).or_default();
        of.on_cpu += u64::from(on_cpu);
        of.with_gil += u64::from(on_cpu && has_gil);
        of.waiting += u64::from(!on_cpu);
    }

    /// Adds what another sampler saw.
    pub fn merge(&mut self, other: Self) {
        for (stack, threads) in other.threads {
            let of = self.threads.entry(stack).or_default();
            of.on_cpu += threads.on_cpu;
            of.with_gil += threads.with_gil;
            of.waiting += threads.waiting;
        }
        self.moments += other.moments;
        self.missed += other.missed;
    }

    /// Returns the number of threads that ran or could run.
    #[must_use]
    pub fn on_cpu(&self) -> u64 {
        self.threads.values().map(|threads| threads.on_cpu).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_samplers_saw_is_added_up() {
        let mut one = Stacks { moments: 3, missed: 1, ..Stacks::default() };
        one.add("main (a.py);serve (b.py)".to_owned(), true, true);
        one.add("main (a.py);serve (b.py)".to_owned(), true, false);
        let mut all = Stacks { moments: 2, ..Stacks::default() };
        all.add("main (a.py)".to_owned(), false, true);
        all.merge(one);
        assert_eq!((all.moments, all.missed, all.on_cpu()), (5, 1, 2));
        let waiting = Threads { waiting: 1, ..Threads::default() };
        assert_eq!(all.threads["main (a.py)"], waiting, "a thread that waits holds no lock");
        let busy = Threads { on_cpu: 2, with_gil: 1, waiting: 0 };
        assert_eq!(all.threads["main (a.py);serve (b.py)"], busy);
    }
}
