//! Reads how long each CPU of this machine was busy: the lines of `/proc/stat` (proc(5)) that begin with `cpu`.

use std::collections::BTreeMap;
use std::fs;

/// Time that one CPU has spent since the machine started, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// All time.
    pub total: u64,
    /// Time without work, also while a disk was awaited.
    pub idle: u64,
    /// Time with programs, without interrupts.
    pub programs: u64,
    /// Time that the hypervisor gave to other machines.
    pub stolen: u64,
}

impl Ticks {
    /// Returns the time of each CPU so far, by its number; empty where the system does not tell.
    #[must_use]
    pub fn now() -> BTreeMap<usize, Self> {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Reads the lines of the single CPUs.
    #[must_use]
    pub fn parse(stat: &str) -> BTreeMap<usize, Self> {
        stat.lines().filter_map(cpu).collect()
    }

    /// Returns the time since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // The kernel's idle time may decrease slightly.
        let idle = self.idle.saturating_sub(earlier.idle);
        Self {
            total: self.total.saturating_sub(earlier.total).max(idle),
            idle,
            programs: self.programs.saturating_sub(earlier.programs),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

/// Parses a line for one CPU: `cpu0`, then user, nice, system, idle, iowait, irq, softirq and steal. The fields after
/// steal do not count, because user and nice already include these fields.
fn cpu(line: &str) -> Option<(usize, Ticks)> {
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let times: Vec<u64> = words.take(8).map(|word| word.parse().unwrap_or(0)).collect();
    let [user, nice, system, idle, iowait, _, _, steal] = times[..] else { return None };
    let ticks = Ticks {
        total: times.iter().sum(),
        idle: idle + iowait,
        programs: user + nice + system,
        stolen: steal,
    };
    Some((number, ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_single_cpus_are_read() {
        let all =
            Ticks::parse("cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 130 5 5 150 0 2 3 5 30 0\nintr 1 2 3\n");
        let ticks = Ticks { total: 300, idle: 150, programs: 140, stolen: 5 };
        assert_eq!(all, BTreeMap::from([(1, ticks)]));
        assert_eq!(Ticks::parse("cpu0 1 2\ncpux 1 2 3 4 5 6 7 8\n"), BTreeMap::new());
    }
}
