//! Which CPUs the target, the backends and the load generator get, so that none slows another.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

/// The CPUs of each part of a test; an empty list is not pinned.
///
/// With three CPUs or more the lists are disjoint, and together they are what loadgen was given.
/// CPUs are taken as equals: that two of them may be threads of one core is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layout {
    /// The server under test.
    pub target: Vec<usize>,
    /// Redis and PostgreSQL.
    pub backends: Vec<usize>,
    /// loadgen itself and its workers.
    pub generator: Vec<usize>,
}

impl Layout {
    /// Nobody is pinned.
    pub fn unpinned() -> Self {
        Self::default()
    }

    /// Shares out `mask`, for a target with this many worker processes.
    ///
    /// With one CPU there is nothing to share; with two the target has the last one for itself.
    pub fn new(mask: &[usize], server_workers: u32) -> Self {
        let cpus = mask.len();
        match cpus {
            0 | 1 => return Self::unpinned(),
            2 => {
                let (first, last) = (mask[..1].to_vec(), mask[1..].to_vec());
                return Self { target: last, backends: first.clone(), generator: first };
            }
            _ => {}
        }
        let backends = if cpus >= 8 { 2 } else { 1 };
        let wanted = usize::try_from(server_workers).unwrap_or(usize::MAX);
        let target = wanted.min(cpus - backends - 1).max(1);
        let (rest, target) = mask.split_at(cpus - target);
        let (generator, backends) = rest.split_at(rest.len() - backends);
        Self { target: target.to_vec(), backends: backends.to_vec(), generator: generator.to_vec() }
    }

    /// All CPUs that somebody is kept to; none where nobody is pinned.
    #[must_use]
    pub fn all(&self) -> BTreeSet<usize> {
        [&self.target, &self.backends, &self.generator].into_iter().flatten().copied().collect()
    }

    /// [`Layout::new`] for the CPUs that loadgen was given; ask before [`pin_self`].
    pub fn here(server_workers: u32) -> Self {
        Self::new(&available(), server_workers)
    }
}

/// The CPUs that this process may use, in order; none where the system does not tell.
#[cfg(target_os = "linux")]
pub fn available() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let mask = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// The CPUs that this process may use, in order; none where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn available() -> Vec<usize> {
    Vec::new()
}

/// Keeps this thread, and all that it starts from now on, on these CPUs; an empty list changes nothing.
///
/// Call it before the runtime starts its threads: they would not follow.
#[cfg(target_os = "linux")]
pub fn pin_self(cpus: &[usize]) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpus.is_empty() {
        return Ok(());
    }
    let mut mask = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no CPU {cpu}")));
        }
        mask.set(cpu);
    }
    Ok(sched_setaffinity(None, &mask)?)
}

/// Does nothing: CPUs cannot be pinned on this system.
#[cfg(not(target_os = "linux"))]
pub fn pin_self(_cpus: &[usize]) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_machines() {
        assert_eq!(Layout::new(&[3], 4), Layout::unpinned());
        let two = Layout::new(&[4, 6], 4);
        assert_eq!((two.target, two.backends, two.generator), (vec![6], vec![4], vec![4]));
        let three = Layout::new(&[0, 1, 2], 4);
        assert_eq!((three.target, three.backends, three.generator), (vec![2], vec![1], vec![0]));
    }

    #[test]
    fn large_machines() {
        let eight = Layout::new(&[0, 1, 2, 3, 4, 5, 6, 7], 2);
        assert_eq!(eight.target, [6, 7]);
        assert_eq!(eight.backends, [4, 5]);
        assert_eq!(eight.generator, [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn three_or_more_are_shared_out_whole(
            mask in proptest::collection::btree_set(0usize..512, 3..64),
            workers in 0u32..100,
        ) {
            let mask: Vec<_> = mask.into_iter().collect();
            let Layout { target, backends, generator } = Layout::new(&mask, workers);
            prop_assert!(!target.is_empty() && !backends.is_empty() && !generator.is_empty());
            prop_assert!(target.len() <= usize::max(1, workers as usize));
            let mut all = [target, backends, generator].concat();
            all.sort_unstable();
            prop_assert_eq!(all, mask);
        }
    }
}
