//! The closed model: each user sends its next request after it has its answer.

use std::time::Duration;

use super::profile::LoadProfile;
use loadgen_scenario::Load;

/// Plan of when each user may send. All times count from the common start, which is the
/// beginning of the warm-up.
#[derive(Debug, Clone)]
pub struct Closed {
    users: LoadProfile,
    end: Option<Duration>,
}

/// Next action of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The user sends now.
    Now,
    /// The user waits until this time, and asks again.
    At(Duration),
    /// The user is done, because the test is over.
    Over,
}

impl Closed {
    /// Creates the model of `load`, after a warm-up of this length in
    /// which all users of the first stage send.
    #[must_use]
    pub fn new(load: &Load, warmup: Duration) -> Self {
        let end = load.held().map(|held| warmup + load.ramp_up + held);
        Self { users: LoadProfile::new(warmup, &load.stages(), 1.0), end }
    }

    /// Returns a copy of this model in which the number of users is `users` from `at` on.
    #[must_use]
    pub fn changed(&self, at: Duration, users: u32) -> Self {
        Self { users: self.users.changed(at, users.into()), ..*self }
    }

    /// Returns what the user with the number `user` in the whole test does at `elapsed`. While the
    /// load is *n* users, the users with numbers below *n* send.
    #[must_use]
    pub fn turn(&self, user: u32, elapsed: Duration) -> Turn {
        if self.end.is_some_and(|end| elapsed >= end) {
            return Turn::Over;
        }
        let now = elapsed.as_secs_f64();
        match (self.users.when_above(user.into(), now), self.end) {
            (Some(then), _) if then <= now => Turn::Now,
            // One nanosecond more, because rounding may give a time before that moment.
            (Some(then), _) => Turn::At(Duration::from_secs_f64(then) + Duration::from_nanos(1)),
            (None, Some(end)) => Turn::At(end),
            (None, None) => Turn::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_scenario::{Model, Stage, Until};
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn closed(users: u32, warmup: u32, ramp_up: u32, until: Until) -> Closed {
        let load = Load {
            model: Model::Closed,
            users,
            ramp_up: ramp_up * MS,
            think_time: None,
            until,
            drain: Duration::ZERO,
        };
        Closed::new(&load, warmup * MS)
    }

    fn for_ms(duration: u32) -> Until {
        Until::Duration(duration * MS)
    }

    fn active(closed: &Closed, elapsed: Duration) -> usize {
        (0..400).filter(|user| closed.turn(*user, elapsed) == Turn::Now).count()
    }

    #[test]
    fn all_users_send_in_the_warm_up_then_start_one_by_one() {
        let closed = closed(4, 1_000, 2_000, for_ms(3_000));
        let at = |user, ms| closed.turn(user, ms * MS);
        assert_eq!((at(0, 0), at(3, 999)), (Turn::Now, Turn::Now));
        assert_eq!(at(0, 1_000), Turn::Now);
        let Turn::At(then) = at(3, 1_000) else { panic!("{:?}", at(3, 1_000)) };
        assert!(then.abs_diff(2_500 * MS) < Duration::from_micros(1), "{then:?}");
        assert_eq!((at(3, 2_501), at(3, 5_999)), (Turn::Now, Turn::Now));
        assert_eq!(at(0, 6_000), Turn::Over);
    }

    #[test]
    fn stages_rise_fall_and_jump() {
        let stages = [(10, 1_000), (10, 1_000), (50, 0), (50, 1_000), (0, 1_000)];
        let stages = stages.map(|(to, ms)| Stage { to: f64::from(to), over: ms * MS });
        let closed = closed(50, 0, 0, Until::Stages(stages.to_vec()));
        let found = [0, 500, 1_500, 2_000, 2_999, 3_500, 3_990].map(|ms| active(&closed, ms * MS));
        assert_eq!(found, [1, 6, 10, 50, 50, 25, 1]);
        // A user that does not come back waits for the end, and a later user for the jump.
        assert_eq!(closed.turn(49, 3_500 * MS), Turn::At(4_000 * MS));
        assert_eq!(closed.turn(30, Duration::ZERO), Turn::At(2_000 * MS + Duration::from_nanos(1)));
        assert_eq!(closed.turn(0, 4_000 * MS), Turn::Over);
    }

    #[test]
    fn a_change_replaces_the_planned_users() {
        let stages = [(10, 1_000), (50, 1_000), (0, 1_000)];
        let stages = stages.map(|(to, ms)| Stage { to: f64::from(to), over: ms * MS });
        let planned = closed(50, 0, 0, Until::Stages(stages.to_vec()));
        let up = planned.changed(500 * MS, 200);
        let found = [400, 500, 2_000, 2_999].map(|ms| active(&up, ms * MS));
        assert_eq!(found, [active(&planned, 400 * MS), 200, 200, 200]);
        assert_eq!(up.turn(150, 400 * MS), Turn::At(500 * MS + Duration::from_nanos(1)));
        let down = up.changed(1_000 * MS, 3);
        let found = [900, 1_000, 2_999].map(|ms| active(&down, ms * MS));
        assert_eq!(found, [200, 3, 3]);
        // A surplus user waits for the end.
        assert_eq!(down.turn(3, 1_000 * MS), Turn::At(3_000 * MS));
        assert_eq!(down.turn(0, 3_000 * MS), Turn::Over);
    }

    #[test]
    fn iterations_have_no_end_in_time() {
        let closed = closed(2, 0, 1_000, Until::Iterations(5));
        assert_eq!(closed.turn(1, 100_000_000 * MS), Turn::Now);
    }

    proptest! {
        #[test]
        fn the_ramp_is_linear_to_within_one_user(
            users in 1u32..300, ramp_up in 1u32..10_000, share in 0.0f64..1.0,
        ) {
            let closed = closed(users, 0, ramp_up, for_ms(1_000));
            let active = active(&closed, (ramp_up * MS).mul_f64(share));
            let planned = share * f64::from(users);
            prop_assert!((active as f64 - planned).abs() <= 1.0 + 1e-3, "{active} of {planned}");
        }

        #[test]
        fn a_waiting_user_gets_the_time_of_its_turn(
            users in 1u32..300, user in 0u32..300, ramp_up in 0u32..10_000, elapsed in 0u32..10_000,
        ) {
            let closed = closed(users, 0, ramp_up, for_ms(1_000));
            if let Turn::At(then) = closed.turn(user % users, elapsed * MS) {
                prop_assert!(then > elapsed * MS);
                prop_assert_eq!(closed.turn(user % users, then), Turn::Now);
            }
        }
    }
}
