//! Times in which a process that sends the load was held up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Times within the hold of a round in which a process sent and read nothing, although it had to: it was stopped, its
/// machine was suspended, or it got no CPU. Latencies and rates then are not the server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldUp {
    /// Sum of all these times.
    pub total: Duration,
    /// The longest of them.
    pub longest: Duration,
}

impl HeldUp {
    /// Adds one such time.
    pub fn add(&mut self, time: Duration) {
        self.total = self.total.saturating_add(time);
        self.longest = self.longest.max(time);
    }

    /// Whether the process was never held up.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.total.is_zero()
    }

    /// Whether the figures of a hold of this length cannot bear it: more than one percent of the time is missing in the
    /// rate, and in the open model more than one request in a hundred was late, which is p99.
    #[must_use]
    pub fn spoils(&self, held: Duration) -> bool {
        const MOST: f64 = 0.01;
        !self.is_none() && self.total.as_secs_f64() >= MOST * held.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_of_the_time_spoils_a_round() {
        let ms = Duration::from_millis;
        let mut held_up = HeldUp::default();
        assert!(!held_up.spoils(ms(10_000)) && !held_up.spoils(Duration::ZERO));
        held_up.add(ms(60));
        assert!(!held_up.spoils(ms(10_000)));
        held_up.add(ms(40));
        assert_eq!(held_up, HeldUp { total: ms(100), longest: ms(60) });
        assert!(held_up.spoils(ms(10_000)) && !held_up.spoils(ms(10_001)));
        held_up.add(Duration::MAX);
        assert_eq!(held_up.total, Duration::MAX);
    }
}
