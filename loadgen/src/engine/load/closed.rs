//! The closed model: each user sends its next request when it has its answer.

use std::time::Duration;

use crate::scenario::{Load, Until};

/// When each user may send. All times count from the common start, the beginning of the warm-up.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    users: u32,
    warmup: Duration,
    ramp_up: Duration,
    end: Option<Duration>,
}

/// What a user does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Sends.
    Now,
    /// Waits until then, and asks again.
    At(Duration),
    /// Is done: the test is over.
    Over,
}

impl Closed {
    /// The model of `load` after a warm-up, in which all users send.
    #[must_use]
    pub fn new(load: &Load, warmup: Duration) -> Self {
        let end = match load.until {
            Until::Duration(duration) => Some(warmup + load.ramp_up + duration),
            Until::Iterations(_) | Until::IterationsPerUser(_) => None,
        };
        Self { users: load.users, warmup, ramp_up: load.ramp_up, end }
    }

    /// What `user`, numbered over the whole test, does at `elapsed`. Users start one after
    /// another at even distances, the first when the ramp-up begins.
    #[must_use]
    pub fn turn(&self, user: u32, elapsed: Duration) -> Turn {
        let start = self.warmup + self.ramp_up.mul_f64(f64::from(user) / f64::from(self.users));
        if self.end.is_some_and(|end| elapsed >= end) {
            Turn::Over
        } else if elapsed < self.warmup || elapsed >= start {
            Turn::Now
        } else {
            Turn::At(start)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn closed(users: u32, warmup: u64, ramp_up: u64, duration: u64) -> Closed {
        let load = Load {
            users,
            ramp_up: Duration::from_millis(ramp_up),
            until: Until::Duration(Duration::from_millis(duration)),
        };
        Closed::new(&load, Duration::from_millis(warmup))
    }

    #[test]
    fn all_send_in_the_warm_up_then_start_one_by_one() {
        let closed = closed(4, 1_000, 2_000, 3_000);
        let at = |user, ms| closed.turn(user, Duration::from_millis(ms));
        assert_eq!((at(0, 0), at(3, 999)), (Turn::Now, Turn::Now));
        assert_eq!(at(0, 1_000), Turn::Now);
        assert_eq!(at(3, 1_000), Turn::At(Duration::from_millis(2_500)));
        assert_eq!((at(3, 2_500), at(3, 5_999)), (Turn::Now, Turn::Now));
        assert_eq!(at(0, 6_000), Turn::Over);
    }

    proptest! {
        #[test]
        fn the_ramp_is_even_to_within_one_user(
            users in 1u32..300, ramp_up in 1u64..10_000, share in 0.0f64..1.0,
        ) {
            let closed = closed(users, 0, ramp_up, 1_000);
            let elapsed = Duration::from_millis(ramp_up).mul_f64(share);
            let active = (0..users).filter(|u| closed.turn(*u, elapsed) == Turn::Now).count();
            let planned = share * f64::from(users);
            prop_assert!((active as f64 - planned).abs() <= 1.0 + 1e-3, "{active} of {planned}");
        }

        #[test]
        fn who_waits_is_told_when_to_send(
            users in 1u32..300, user in 0u32..300, ramp_up in 0u64..10_000, elapsed in 0u64..10_000,
        ) {
            let closed = closed(users, 0, ramp_up, 1_000);
            if let Turn::At(then) = closed.turn(user % users, Duration::from_millis(elapsed)) {
                prop_assert!(then > Duration::from_millis(elapsed));
                prop_assert_eq!(closed.turn(user % users, then), Turn::Now);
            }
        }
    }
}
