//! Divides each start of the servers into slices.

use std::time::Duration;

use crate::record::SliceRecord;

/// Shortest warm-up of a slice that is not the first of its start, unless the whole warm-up is shorter.
/// Connections are open before the warm-up, and the server is warm from the slices before: what has to
/// settle are the queue of requests, which takes some response times, and the CPUs' caches.
const SHORTEST_WARMUP: Duration = Duration::from_millis(100);

/// Slices of each start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slicing {
    /// Number of slices of each start; at least 2.
    pub slices: u32,
    /// Warm-up of each slice but the first of a start, which has the whole warm-up.
    pub warmup: Duration,
}

impl Slicing {
    /// Divides each start into this number of slices. `warmup` is the whole warm-up.
    pub fn new(slices: u32, warmup: Duration) -> Self {
        let each = warmup / slices.max(1);
        Self { slices, warmup: each.max(SHORTEST_WARMUP).min(warmup) }
    }

    /// Returns the place of a slice, from its number among the slices of all starts, from 1.
    pub fn place(&self, number: u32) -> SliceRecord {
        let before = number.saturating_sub(1);
        let (start, number) = (before / self.slices + 1, before % self.slices + 1);
        SliceRecord { start, number, of: self.slices }
    }

    /// Returns the numbers of the slices of a start, among the slices of all starts.
    pub fn numbers(&self, start: u32) -> impl Iterator<Item = u32> + use<> {
        let before = start.saturating_sub(1).saturating_mul(self.slices);
        before.saturating_add(1)..=before.saturating_add(self.slices)
    }

    /// Returns the warm-up of the slice with this number. `whole` is the whole warm-up.
    pub fn warmup_of(&self, number: u32, whole: Duration) -> Duration {
        if self.place(number).number == 1 { whole } else { self.warmup }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn slices_are_numbered_over_all_starts() {
        let slicing = Slicing::new(4, SECOND);
        let numbers: Vec<u32> = (1..=3).flat_map(|start| slicing.numbers(start)).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
        let place = |start, number| SliceRecord { start, number, of: 4 };
        let places = [1, 4, 5, 12].map(|number| slicing.place(number));
        assert_eq!(places, [place(1, 1), place(1, 4), place(2, 1), place(3, 4)]);
    }

    #[test]
    fn only_the_first_slice_of_a_start_has_the_whole_warm_up() {
        let slicing = Slicing::new(4, SECOND);
        let warmups = (1..=5).map(|number| slicing.warmup_of(number, SECOND).as_millis());
        assert_eq!(warmups.collect::<Vec<_>>(), [1_000, 250, 250, 250, 1_000]);
        assert_eq!(Slicing::new(20, SECOND).warmup, SHORTEST_WARMUP);
        assert_eq!(Slicing::new(4, Duration::ZERO).warmup, Duration::ZERO);
        let short = Duration::from_millis(60);
        assert_eq!(Slicing::new(4, short).warmup, short, "never longer than the whole");
        // A trial before the first round.
        assert_eq!(slicing.warmup_of(0, SECOND), SECOND);
    }
}
