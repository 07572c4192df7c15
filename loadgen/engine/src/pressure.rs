//! The pressure on this process's CPUs: how long its threads waited for a CPU, and how long its CPUs were busy, with any
//! program's work. A process that shares its CPUs with others uses only a part of them, even when it has more work than
//! they can do.

use std::collections::BTreeMap;

use super::cpu_ticks::Ticks;
use super::schedstat;

/// Counters of this process's threads and CPUs at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Pressure {
    /// Time that each thread has waited for a CPU, in ns, by its number.
    waited: BTreeMap<u32, u64>,
    /// Time of the CPUs on which this process may run.
    cpus: BTreeMap<usize, Ticks>,
}

impl Pressure {
    pub fn now() -> Self {
        let threads = schedstat::threads(std::process::id()).into_iter();
        Self { waited: threads.map(|(number, of)| (number, of.waited)).collect(), cpus: own_cpus() }
    }

    /// Returns the time that this process's threads have waited for a CPU since `earlier`, in ns. Of a thread that has
    /// ended meanwhile, the last part is not known.
    pub fn waited_ns_since(&self, earlier: &Self) -> u64 {
        let since = |(thread, now): (&u32, &u64)| {
            now.saturating_sub(earlier.waited.get(thread).copied().unwrap_or_default())
        };
        self.waited.iter().map(since).sum()
    }

    /// Returns the share of the time since `earlier` for which this process's CPUs were busy (0 to 1); `None` where the
    /// system does not tell.
    pub fn busy_since(&self, earlier: &Self) -> Option<f64> {
        let since = |(cpu, now): (&usize, &Ticks)| Some(now.since(earlier.cpus.get(cpu)?));
        let (mut total, mut idle) = (0, 0);
        for ticks in self.cpus.iter().filter_map(since) {
            total += ticks.total;
            idle += ticks.idle;
        }
        (total > 0).then(|| (total - idle) as f64 / total as f64)
    }
}

/// Returns the time of the CPUs on which this process may run.
#[cfg(target_os = "linux")]
fn own_cpus() -> BTreeMap<usize, Ticks> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(own) = sched_getaffinity(None) else { return BTreeMap::new() };
    let mut cpus = Ticks::now();
    cpus.retain(|number, _| *number < CpuSet::MAX_CPU && own.is_set(*number));
    cpus
}

#[cfg(not(target_os = "linux"))]
fn own_cpus() -> BTreeMap<usize, Ticks> {
    BTreeMap::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_and_busy_time_are_those_between_two_moments() {
        let cpus = |stat: &str| Ticks::parse(stat);
        let earlier = Pressure {
            waited: BTreeMap::from([(1, 500), (2, 7)]),
            cpus: cpus("cpu0 100 0 0 100 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0\n"),
        };
        let now = Pressure {
            // Thread 2 has ended, and thread 3 is new.
            waited: BTreeMap::from([(1, 800), (3, 40)]),
            cpus: cpus("cpu0 200 0 0 100 0 0 0 0\ncpu1 150 0 0 150 0 0 0 0\n"),
        };
        assert_eq!(now.waited_ns_since(&earlier), 340);
        assert_eq!(now.busy_since(&earlier), Some(0.75));
        assert_eq!(now.busy_since(&now), None, "no time has passed");
        assert_eq!(Pressure::default().busy_since(&earlier), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_tells_both() {
        let now = Pressure::now();
        assert!(!now.waited.is_empty() && !now.cpus.is_empty(), "{now:?}");
    }
}
