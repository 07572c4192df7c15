//! Assigns each request to a part of a round.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The marks of one round: the start of counting, the time when all users are present, and the end.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// The end of the warm-up: requests that end from here on count. See [`Timeline::place`].
    pub measured: Instant,
    /// The end of the ramp-up. Equals `measured` if iterations end the round: iterations
    /// count from the first one on.
    pub full: Instant,
    /// The end of the round; `None` if iterations end the round.
    pub end: Option<Instant>,
}

/// A part of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the round began to count.
    Warmup,
    /// Ended while users were still starting: measured, and reported separately.
    RampUp,
    /// The load is held: results describe this phase.
    Hold,
    /// Cut off by the end of the round.
    Tail,
    /// Sent once by each user after its last iteration.
    Stop,
}

impl Phase {
    /// The phases with load that is measured, and reported second by second.
    pub const MEASURED: [Self; 2] = [Self::RampUp, Self::Hold];
}

impl Timeline {
    /// Returns the phase of a request that ended at `done`, and the second in which it ended,
    /// counted from the end of the warm-up.
    ///
    /// If time ends the round, the phase follows from `done` alone. Each mark cuts through requests
    /// in flight. Placing all requests by their end, at the first mark as at the last, loses as
    /// many as it gains. If iterations end the round, exactly the requests of these iterations
    /// count: `counted` says whether this request is one of them.
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

    /// Returns the whole seconds from the end of the warm-up to `at`; zero before.
    #[must_use]
    pub fn second(&self, at: Instant) -> u32 {
        u32::try_from(at.saturating_duration_since(self.measured).as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns how long the hold has lasted at `at`, up to its end.
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
    fn only_iterations_of_the_load_count_if_iterations_end_the_round() {
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
