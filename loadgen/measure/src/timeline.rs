//! Assigns each request to a phase of a round.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Points in time that divide a round into phases: the end of the warm-up, the end of the ramp-up,
/// and the end of the round.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// End of the warm-up. Requests that end from here on are counted: see [`Timeline::place`].
    pub measured: Instant,
    /// End of the ramp-up. Equals `measured` if iterations end the round, because the first
    /// iteration already counts.
    pub full: Instant,
    /// End of the round; `None` if iterations end the round.
    pub end: Option<Instant>,
}

/// Phase of a round to which a request belongs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Warm-up: requests are not counted in the results.
    #[default]
    Warmup,
    /// Ramp-up, while users are still starting. Requests are measured, but reported separately.
    RampUp,
    /// Hold, after the ramp-up: the load is complete. The results describe this phase.
    Hold,
    /// Requests that were cut off by the end of the round.
    Tail,
    /// Requests that each user sends once, after its last iteration.
    Stop,
}

impl Phase {
    /// Phases whose requests are measured and reported second by second.
    pub const MEASURED: [Self; 2] = [Self::RampUp, Self::Hold];
}

impl Timeline {
    /// Returns the phase of a request that ended at `done`, and the number of the second in which
    /// the request ended, counted from the end of the warm-up.
    ///
    /// If time ends the round, the phase follows from `done` alone. The start and the end of a
    /// phase each cut through requests in flight. Because every request belongs to the phase in
    /// which it ends, a phase gains about as many requests at its start as it loses at its end. If
    /// iterations end the round, exactly the requests of these iterations count: `counted` says
    /// whether this request belongs to a counted iteration.
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

    /// Returns the number of whole seconds from the end of the warm-up to `at`; zero if `at` is
    /// before the end of the warm-up.
    #[must_use]
    pub fn second(&self, at: Instant) -> u32 {
        u32::try_from(at.saturating_duration_since(self.measured).as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns the time from the end of the ramp-up to `at`, or to the end of the round if `at` is
    /// later; zero before the end of the ramp-up.
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
