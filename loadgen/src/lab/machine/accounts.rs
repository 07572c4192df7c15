//! Measures the load of a machine's CPUs in a period, and influences that slow all programs on the
//! machine, such as swapping.
//!
//! The sources are Linux's own accounts: `/proc/stat` and `/proc/vmstat` (proc(5)), and `cpu.stat`
//! of cgroups of version 2. On other systems all values are zero or empty.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::network::{self, Links};
use crate::engine::control_group::field;
use crate::engine::cpu_ticks::Ticks;
use crate::measure::MachineRecord;

/// The machine's counters at one moment: CPU time, throttled time, swapped pages and network
/// traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    cpus: BTreeMap<usize, Ticks>,
    throttled_us: u64,
    swapped_pages: u64,
    links: Links,
}

/// Activity of the machine between two moments.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Share of time in which each CPU was busy, for any cause, in %. The key is the CPU's number.
    pub busy_percent: BTreeMap<usize, f64>,
    /// Share of time in which each CPU ran programs, without interrupts, in %. The key is the CPU's
    /// number.
    pub programs_percent: BTreeMap<usize, f64>,
    /// Influences that slow all programs: CPU time taken by the hypervisor, throttling, swapping
    /// and the busiest network link.
    pub taken: MachineRecord,
}

impl Accounts {
    /// Reads the machine's current counters. A counter that cannot be read is zero.
    #[must_use]
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let vmstat = read("/proc/vmstat");
        let group = read("/proc/self/cgroup");
        let group = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        let cgroup = read(&format!("/sys/fs/cgroup{}/cpu.stat", group.trim_end_matches('/')));
        Self {
            cpus: Ticks::now(),
            throttled_us: field(&cgroup, "throttled_usec"),
            swapped_pages: field(&vmstat, "pswpin") + field(&vmstat, "pswpout"),
            links: network::links(),
        }
    }

    /// Returns the machine's activity since the counters `earlier` were read, `elapsed` ago.
    #[must_use]
    pub fn since(&self, earlier: &Self, elapsed: Duration) -> Machine {
        let spent = |(cpu, now): (&usize, &Ticks)| Some((*cpu, now.since(earlier.cpus.get(cpu)?)));
        let spent: BTreeMap<usize, Ticks> = self.cpus.iter().filter_map(spent).collect();
        let share = |of: fn(&Ticks) -> u64| -> BTreeMap<usize, f64> {
            spent.iter().map(|(cpu, ticks)| (*cpu, percent(of(ticks), ticks.total))).collect()
        };
        let sum = |of: fn(&Ticks) -> u64| spent.values().map(of).sum::<u64>();
        Machine {
            busy_percent: share(|ticks| ticks.total - ticks.idle),
            programs_percent: share(|ticks| ticks.programs),
            taken: MachineRecord {
                stolen_percent: percent(sum(|ticks| ticks.stolen), sum(|ticks| ticks.total)),
                throttled_ms: self.throttled_us.saturating_sub(earlier.throttled_us) as f64 / 1e3,
                swapped_pages: self.swapped_pages.saturating_sub(earlier.swapped_pages),
                fullest_link: network::fullest(&earlier.links, &self.links, elapsed),
            },
        }
    }
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(stat: &str) -> Accounts {
        Accounts { cpus: Ticks::parse(stat), ..Accounts::default() }
    }

    #[test]
    fn shares_refer_to_the_time_between_two_readings() {
        let earlier = accounts("cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 100 0 0 100 0 0 0 0 0 0");
        let mut now = accounts("cpu1 130 5 5 150 0 2 3 5 30 0\nintr 1 2 3");
        now.throttled_us = 2_500;
        now.swapped_pages = 7;
        let machine = now.since(&earlier, Duration::from_secs(1));
        assert_eq!(machine.busy_percent, BTreeMap::from([(1, 50.0)]));
        assert_eq!(machine.programs_percent, BTreeMap::from([(1, 40.0)]));
        let taken = machine.taken;
        assert_eq!((taken.stolen_percent, taken.throttled_ms), (5.0, 2.5));
        assert_eq!(taken.swapped_pages, 7);
    }

    #[test]
    fn absent_figures_count_as_zero() {
        assert_eq!(
            Accounts::default().since(&Accounts::default(), Duration::ZERO),
            Machine::default()
        );
        assert_eq!(field("pswpin 12\npswpout 3\n", "pswpout"), 3);
        assert_eq!(field("pswpin2 12", "pswpin"), 0);
    }
}
