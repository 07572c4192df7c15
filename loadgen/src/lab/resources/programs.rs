//! CPU time of all programs of the machine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use sysinfo::{Pid, System};

/// CPU time of all processes within a measurement.
#[derive(Debug, Default)]
pub(super) struct Programs {
    processes: HashMap<(Pid, u64), Program>,
}

#[derive(Debug)]
struct Program {
    name: String,
    parent: Option<Pid>,
    /// CPU time at the start of the measurement, 0 if the process started later, in ms.
    first_ms: u64,
    /// CPU time at the last sample, in ms.
    last_ms: u64,
}

/// Programs are named from this share of one CPU on, in %; and at most so many.
const NAMED_PERCENT: f64 = 1.0;
const MOST_NAMED: usize = 3;

impl Programs {
    /// Adds the sample of this number, from 0.
    pub(super) fn look_at(&mut self, system: &System, number: usize) {
        for (pid, process) in system.processes() {
            let now = process.accumulated_cpu_time();
            let seen = self.processes.entry((*pid, process.start_time()));
            let program = seen.or_insert_with(|| Program {
                name: process.name().to_string_lossy().into_owned(),
                parent: process.parent(),
                first_ms: if number == 0 { now } else { 0 },
                last_ms: now,
            });
            program.last_ms = now;
        }
    }

    /// Returns these processes with all their descendants.
    pub(super) fn trees(&self, roots: &BTreeSet<u32>) -> BTreeSet<Pid> {
        let mut members: BTreeSet<Pid> = roots.iter().map(|pid| Pid::from_u32(*pid)).collect();
        loop {
            let is_child = |of: &Program| of.parent.is_some_and(|it| members.contains(&it));
            let children = self.processes.iter().filter(|(_, of)| is_child(of));
            let new: Vec<Pid> =
                children.map(|((pid, _), _)| *pid).filter(|pid| !members.contains(pid)).collect();
            if new.is_empty() {
                return members;
            }
            members.extend(new);
        }
    }

    /// Returns the CPU time of these processes, in % of one CPU.
    pub(super) fn percent(&self, members: &BTreeSet<Pid>, elapsed: Duration) -> f64 {
        let of = self.processes.iter().filter(|((pid, _), _)| members.contains(pid));
        share(of.map(|(_, program)| program.used_ms()).sum(), elapsed)
    }

    /// Returns the busiest programs other than `members`: the CPU time of all processes of a name, in
    /// % of one CPU.
    pub(super) fn busiest(
        &self,
        members: &BTreeSet<Pid>,
        elapsed: Duration,
    ) -> BTreeMap<String, f64> {
        let mut by_name: BTreeMap<&String, u64> = BTreeMap::new();
        let others = self.processes.iter().filter(|((pid, _), _)| !members.contains(pid));
        others.for_each(|(_, of)| *by_name.entry(&of.name).or_default() += of.used_ms());
        let mut all: Vec<(String, f64)> = by_name
            .into_iter()
            .map(|(name, ms)| (name.clone(), share(ms, elapsed)))
            .filter(|(_, percent)| *percent >= NAMED_PERCENT)
            .collect();
        all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        all.into_iter().take(MOST_NAMED).collect()
    }
}

impl Program {
    fn used_ms(&self) -> u64 {
        self.last_ms.saturating_sub(self.first_ms)
    }
}

fn share(ms: u64, elapsed: Duration) -> f64 {
    ms as f64 / elapsed.as_secs_f64().max(f64::EPSILON) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns programs: each with its process, parent, name, and CPU time in ms.
    fn programs(all: &[(u32, u32, &str, u64)]) -> Programs {
        let program = |(pid, parent, name, ms): &(u32, u32, &str, u64)| {
            let parent = Some(Pid::from_u32(*parent));
            let program =
                Program { name: (*name).to_owned(), parent, first_ms: 100, last_ms: 100 + ms };
            ((Pid::from_u32(*pid), 0), program)
        };
        Programs { processes: all.iter().map(program).collect() }
    }

    #[test]
    fn the_busiest_programs_exclude_the_server_and_its_children() {
        let all = programs(&[
            (10, 1, "gunicorn", 5),
            (11, 10, "gunicorn", 900),
            (12, 11, "convert", 50),
            (20, 1, "make", 5),
            (21, 20, "rustc", 400),
            (22, 20, "rustc", 300),
            (23, 1, "ld", 80),
            (24, 1, "cc1", 90),
        ]);
        let server = all.trees(&BTreeSet::from([10]));
        let second = Duration::from_secs(1);
        assert!((all.percent(&server, second) - 95.5).abs() < 1e-9);
        let busiest = all.busiest(&server, second);
        let expected = [("cc1", 9.0), ("ld", 8.0), ("rustc", 70.0)];
        assert_eq!(busiest, expected.map(|(name, percent)| (name.to_owned(), percent)).into());
    }
}
