//! Divides the CPUs between the target, the backends and the load generator, so
//! that none of them slows another.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

/// Assignment of CPUs to the target, the backends and the load generator. A part with an empty list
/// is not pinned.
///
/// With three CPUs or more the lists are disjoint, and together they hold all CPUs that loadgen may
/// use; but a probe shares the CPU of a generator that has only one. All CPUs count as equal, even if
/// two CPUs are hardware threads of the same core.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layout {
    /// CPUs of the server under test.
    pub target: Vec<usize>,
    /// CPUs of Redis and PostgreSQL.
    pub backends: Vec<usize>,
    /// CPUs of loadgen and its workers.
    pub generator: Vec<usize>,
    /// CPU of the probe: one of its own, or the generator's. Empty without a probe.
    #[serde(default)]
    pub probe: Vec<usize>,
}

impl Layout {
    /// Returns a layout that pins no process to a CPU.
    pub fn unpinned() -> Self {
        Self::default()
    }

    /// Divides the CPUs in `mask` between a target with `server_workers` worker processes, the
    /// backends and the load generator.
    ///
    /// With one CPU nothing is pinned. With two CPUs the target has the last CPU to itself.
    pub fn new(mask: &[usize], server_workers: u32) -> Self {
        let cpus = mask.len();
        match cpus {
            0 | 1 => return Self::unpinned(),
            2 => {
                let (first, last) = (mask[..1].to_vec(), mask[1..].to_vec());
                let (target, backends) = (last, first.clone());
                return Self { target, backends, generator: first, probe: Vec::new() };
            }
            _ => {}
        }
        let backends = if cpus >= 8 { 2 } else { 1 };
        let wanted = usize::try_from(server_workers).unwrap_or(usize::MAX);
        let target = wanted.min(cpus - backends - 1).max(1);
        let (rest, target) = mask.split_at(cpus - target);
        let (generator, backends) = rest.split_at(rest.len() - backends);
        Self {
            target: target.to_vec(),
            backends: backends.to_vec(),
            generator: generator.to_vec(),
            probe: Vec::new(),
        }
    }

    /// Returns the layout with a CPU for a probe, which measures beside the load: one of the
    /// generator's if it has several, because the probe must not wait for the generator. Otherwise the
    /// probe shares the generator's CPU.
    #[must_use]
    pub fn with_probe(mut self) -> Self {
        self.probe = match self.generator.len() {
            0 | 1 => self.generator.clone(),
            several => self.generator.split_off(several - 1),
        };
        self
    }

    /// Returns every CPU in the lists of the layout; empty if nothing is pinned.
    #[must_use]
    pub fn all(&self) -> BTreeSet<usize> {
        let parts = [&self.target, &self.backends, &self.generator, &self.probe];
        parts.into_iter().flatten().copied().collect()
    }

    /// Divides the CPUs that this process may use, as [`Layout::new`] does. Must be called before
    /// [`pin_self`], because [`pin_self`] reduces the CPUs that this process may use.
    pub fn here(server_workers: u32) -> Self {
        Self::new(&available(), server_workers)
    }
}

/// Returns the CPUs that this process may use, in ascending order; empty if the system call fails.
pub fn available() -> Vec<usize> {
    allowed_to(None)
}

/// Returns the CPUs that the process `pid` may use, or this process for `None`, in ascending order;
/// empty if the system call fails.
#[cfg(target_os = "linux")]
pub fn allowed_to(pid: Option<u32>) -> Vec<usize> {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity};
    let pid = pid.and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    let mask = sched_getaffinity(pid).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// Returns an empty list: loadgen determines the CPUs of a process only on Linux.
#[cfg(not(target_os = "linux"))]
pub fn allowed_to(_pid: Option<u32>) -> Vec<usize> {
    Vec::new()
}

/// Pins this thread to `cpus`, and with it all threads and processes that this thread starts later.
/// An empty list changes nothing.
///
/// Must be called before the Tokio runtime starts its threads, because threads that already run are
/// not pinned.
#[cfg(target_os = "linux")]
pub fn pin_self(cpus: &[usize]) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpus.is_empty() {
        return Ok(());
    }
    let mut mask = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("CPU {cpu} does not exist")));
        }
        mask.set(cpu);
    }
    Ok(sched_setaffinity(None, &mask)?)
}

/// Does nothing: loadgen pins threads to CPUs only on Linux.
#[cfg(not(target_os = "linux"))]
pub fn pin_self(_cpus: &[usize]) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_machines_share_cpus_between_parts() {
        assert_eq!(Layout::new(&[3], 4), Layout::unpinned());
        let two = Layout::new(&[4, 6], 4);
        assert_eq!((two.target, two.backends, two.generator), (vec![6], vec![4], vec![4]));
        let three = Layout::new(&[0, 1, 2], 4);
        assert_eq!((three.target, three.backends, three.generator), (vec![2], vec![1], vec![0]));
    }

    #[test]
    fn large_machines_give_each_part_its_own_cpus() {
        let eight = Layout::new(&[0, 1, 2, 3, 4, 5, 6, 7], 2);
        assert_eq!(eight.target, [6, 7]);
        assert_eq!(eight.backends, [4, 5]);
        assert_eq!(eight.generator, [0, 1, 2, 3]);
    }

    #[test]
    fn a_probe_has_a_cpu_of_its_own_where_the_generator_has_two() {
        let probe = |cpus: std::ops::Range<usize>| {
            let layout = Layout::new(&cpus.collect::<Vec<_>>(), 1).with_probe();
            (layout.generator, layout.probe)
        };
        assert_eq!(probe(0..1), (vec![], vec![]));
        assert_eq!(probe(0..2), (vec![0], vec![0]));
        assert_eq!(probe(0..3), (vec![0], vec![0]));
        assert_eq!(probe(0..4), (vec![0], vec![1]));
        assert_eq!(probe(0..8), (vec![0, 1, 2, 3], vec![4]));
        let layout = Layout::new(&[0, 1, 2, 3], 1).with_probe();
        assert_eq!(layout.all(), (0..4).collect());
    }

    proptest! {
        #[test]
        fn three_or_more_cpus_are_all_assigned_once(
            mask in proptest::collection::btree_set(0usize..512, 3..64),
            workers in 0u32..100,
        ) {
            let mask: Vec<_> = mask.into_iter().collect();
            let Layout { target, backends, generator, .. } = Layout::new(&mask, workers);
            prop_assert!(!target.is_empty() && !backends.is_empty() && !generator.is_empty());
            prop_assert!(target.len() <= usize::max(1, workers as usize));
            let mut all = [target, backends, generator].concat();
            all.sort_unstable();
            prop_assert_eq!(all, mask);
        }
    }
}
