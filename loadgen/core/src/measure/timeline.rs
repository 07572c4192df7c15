//! Which part of a round a request belongs to.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The marks of one round: when it starts to count, when all users are there, and when it ends.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// The end of the warm-up: what is sent from here on is counted.
    pub measured: Instant,
    /// The end of the ramp-up; where iterations end the round, they count from the start.
    pub full: Instant,
    /// The end of the round; `None` where iterations end it.
    pub end: Option<Instant>,
}

/// A part of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the round began to count.
    Warmup,
    /// Ended while users were still starting: measured, and reported apart.
    RampUp,
    /// What results speak of.
    Hold,
    /// Cut off by the end of the round.
    Tail,
    /// Sent once by each user after its last iteration.
    Stop,
}

impl Phase {
    /// While there is load that is measured: what is told second by second.
    pub const MEASURED: [Self; 2] = [Self::RampUp, Self::Hold];
}

impl Timeline {
    /// The phase and the second of a request that ended at `done`: the second, from the end of the
    /// warm-up, in which it ended.
    ///
    /// Where time ends the round, the phase follows from `done` alone: each mark cuts through
    /// requests that are under way, and placing all of them by their end, at the first mark as at
    /// the last, loses as many as it gains. Where iterations end it, there are so many to count
    /// and no others: `counted` tells whether this request belongs to one of them.
    #[must_use]
    pub fn place(&self, counted: bool, done: Instant) -> (Phase, u32) {
        let second = self.second(done);
        match self.end {
            _ if done < self.measured => (Phase::Warmup, 0),
            None if !counted => (Phase::Warmup, 0),
            Some(end) if done > end => (Phase::Tail, second),
            _ if done < self.full => (Phase::RampUp, second),
            _ => (Phase::Hold, second),
        }
    }

    /// Whole seconds from the end of the warm-up to `at`; zero before.
    #[must_use]
    pub fn second(&self, at: Instant) -> u32 {
        u32::try_from(at.saturating_duration_since(self.measured).as_secs()).unwrap_or(u32::MAX)
    }

    /// How long the hold has lasted at `at`, up to its end.
    #[must_use]
    pub fn held(&self, at: Instant) -> Duration {
        self.end.map_or(at, |end| at.min(end)).saturating_duration_since(self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> (Instant, Timeline) {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        (start, Timeline { measured: at(1), full: at(3), end: Some(at(13)) })
    }

    #[test]
    fn a_request_belongs_to_the_second_in_which_it_ended() {
        let (start, timeline) = timeline();
        for (done, expected) in [
            (999, (Phase::Warmup, 0)),
            (1_000, (Phase::RampUp, 0)),
            (1_999, (Phase::RampUp, 0)),
            (2_999, (Phase::RampUp, 1)),
            (3_000, (Phase::Hold, 2)),
            (13_000, (Phase::Hold, 12)),
            (13_001, (Phase::Tail, 12)),
        ] {
            let done_at = start + Duration::from_millis(done);
            for counted in [false, true] {
                assert_eq!(timeline.place(counted, done_at), expected, "{done} ms");
            }
        }
    }

    #[test]
    fn where_iterations_end_the_round_these_count_and_no_others() {
        let (start, timeline) = timeline();
        let timeline = Timeline { full: timeline.measured, end: None, ..timeline };
        let done = start + Duration::from_secs(20);
        assert_eq!(timeline.place(false, done), (Phase::Warmup, 0));
        assert_eq!(timeline.place(true, done), (Phase::Hold, 19));
    }

    #[test]
    fn the_hold_starts_when_the_ramp_ends_and_stops_at_the_end() {
        let (start, timeline) = timeline();
        let held = |s| timeline.held(start + Duration::from_secs(s)).as_secs();
        assert_eq!((held(2), held(3), held(8), held(13), held(20)), (0, 0, 5, 10, 10));
    }
}
