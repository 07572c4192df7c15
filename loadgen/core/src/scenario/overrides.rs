//! What the command line changes in a scenario's load.

use std::time::Duration;

use thiserror::Error;

use super::duration::LONGEST;
use super::load::{Arrivals, Load, Model, Open, Until};

/// The most users of a test.
pub(super) const MOST_USERS: u32 = 1_000_000;
/// The most iterations, shared or per user. With [`MOST_USERS`] the product stays within `u64`.
pub(super) const MOST_ITERATIONS: u64 = 1_000_000_000_000;

/// The least rate: one request in a quarter of an hour.
pub(super) const LEAST_RATE: f64 = 0.001;
/// The highest rate, in requests per second.
pub(super) const MOST_RATE: f64 = 10_000_000.0;
/// The longest wait for answers at the end of a test: as long as the longest timeout of a step.
pub(super) const LONGEST_DRAIN: Duration = Duration::from_secs(600);
/// Users of the open model where nobody says how many: the most that send at the same time.
pub(super) const SENDERS: u32 = 1_000;

/// What the command line asks for instead of what the scenario's `[load]` says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overrides {
    /// `--users`
    pub users: Option<u32>,
    /// `--ramp-up`
    pub ramp_up: Option<Duration>,
    /// `--duration`; replaces any iterations.
    pub duration: Option<Duration>,
    /// `--iterations`, shared by all users; replaces the duration.
    pub iterations: Option<u64>,
    /// `--rate`, in requests per second; makes it the open model.
    pub rate: Option<f64>,
    /// `--drain`
    pub drain: Option<Duration>,
}

/// Why the command line's wishes make no load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OverrideError {
    /// Zero users.
    #[error("--users must be at least 1")]
    NoUsers,
    /// More users than are supported.
    #[error("--users must be at most {}", super::file::thousands(u64::from(MOST_USERS)))]
    TooManyUsers,
    /// Zero iterations.
    #[error("--iterations must be at least 1")]
    NoIterations,
    /// More iterations than are supported.
    #[error("--iterations must be at most {}", super::file::thousands(MOST_ITERATIONS))]
    TooManyIterations,
    /// A duration of zero.
    #[error("--duration must be longer than zero")]
    NoDuration,
    /// A rate that is none, or too high.
    #[error(
        "--rate must be a number from {LEAST_RATE} to {}",
        super::file::thousands(MOST_RATE as u64)
    )]
    NoRate,
    /// Only a part of what stages say.
    #[error(
        "the scenario has stages: {0} alone can't take their place, only together with --duration"
    )]
    Stages(&'static str),
    /// A limit of each user where users are only senders.
    #[error("--rate makes it the open model, which has no iterations per user")]
    PerUser,
    /// Two ends for one test.
    #[error("--duration and --iterations exclude each other: a test ends by one of them")]
    TwoEnds,
    /// The whole test would take more than a day.
    #[error("--ramp-up and --duration together must be at most 24h")]
    TooLong,
    /// Answers would be waited for longer than any request may take.
    #[error("--drain must be at most 10m, as the timeout of a step")]
    TooLongDrain,
    /// Nothing is in flight at an end by iterations.
    #[error("--drain has no meaning where iterations end the test: all answers are waited for")]
    NoDrain,
}

impl Load {
    /// The load with the command line's wishes in place of the scenario's, checked like the
    /// scenario itself.
    pub fn with_overrides(self, overrides: Overrides) -> Result<Self, OverrideError> {
        let until = match (overrides.duration, overrides.iterations) {
            (Some(_), Some(_)) => return Err(OverrideError::TwoEnds),
            (Some(duration), None) => Until::Duration(duration),
            (None, Some(iterations)) => Until::Iterations(iterations),
            (None, None) => self.until,
        };
        let (model, users) = match (self.model, overrides.rate) {
            (model, None) => (model, self.users),
            (Model::Open(open), Some(rate)) => (Model::Open(Open { rate, ..open }), self.users),
            (Model::Closed, Some(rate)) => {
                // What were users become senders, of which there should be enough.
                (Model::Open(Open { rate, arrivals: Arrivals::default() }), self.users.max(SENDERS))
            }
        };
        let load = Self {
            model,
            users: overrides.users.unwrap_or(users),
            ramp_up: overrides.ramp_up.unwrap_or(self.ramp_up),
            think_time: self.think_time,
            until,
            drain: overrides.drain.unwrap_or(self.drain),
        };
        load.check(&overrides).map(|()| load)
    }

    fn check(&self, overrides: &Overrides) -> Result<(), OverrideError> {
        let open = match self.model {
            Model::Closed => None,
            Model::Open(open) => Some(open),
        };
        // In the open model users are senders, of which stages say nothing.
        let parts = [
            ("--ramp-up", overrides.ramp_up.is_some()),
            ("--rate", overrides.rate.is_some()),
            ("--users", overrides.users.is_some() && open.is_none()),
        ];
        if let (Until::Stages(_), Some((part, _))) = (&self.until, parts.iter().find(|(_, is)| *is))
        {
            return Err(OverrideError::Stages(part));
        }
        if open.is_some_and(|open| !(LEAST_RATE..=MOST_RATE).contains(&open.rate)) {
            return Err(OverrideError::NoRate);
        }
        if let (Some(_), Until::IterationsPerUser(_)) = (open, &self.until) {
            return Err(OverrideError::PerUser);
        }
        if self.users == 0 {
            return Err(OverrideError::NoUsers);
        }
        if self.users > MOST_USERS {
            return Err(OverrideError::TooManyUsers);
        }
        match self.until {
            Until::Duration(duration) if duration.is_zero() => Err(OverrideError::NoDuration),
            Until::Iterations(0) => Err(OverrideError::NoIterations),
            Until::Iterations(n) if n > MOST_ITERATIONS => Err(OverrideError::TooManyIterations),
            _ if overrides.drain.is_some() && self.held().is_none() => Err(OverrideError::NoDrain),
            _ if self.drain > LONGEST_DRAIN => Err(OverrideError::TooLongDrain),
            _ if self.is_too_long() => Err(OverrideError::TooLong),
            _ => Ok(()),
        }
    }

    /// Whether ramp-up and duration together exceed the longest test.
    pub(super) fn is_too_long(&self) -> bool {
        self.ramp_up.saturating_add(self.held().unwrap_or_default()) > LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::scenario::Stage;

    const SECOND: Duration = Duration::from_secs(1);

    fn load() -> Load {
        let until = Until::IterationsPerUser(7);
        Load {
            model: Model::Closed,
            users: 5,
            ramp_up: Duration::ZERO,
            think_time: None,
            until,
            drain: Duration::ZERO,
        }
    }

    #[test]
    fn nothing_asked_changes_nothing() {
        assert_eq!(load().with_overrides(Overrides::default()), Ok(load()));
    }

    #[test]
    fn one_end_replaces_the_other() {
        let by_time = Overrides { duration: Some(SECOND), ..Overrides::default() };
        let by_count = Overrides { iterations: Some(9), ..Overrides::default() };
        let timed = load().with_overrides(by_time).unwrap();
        assert_eq!(timed.until, Until::Duration(SECOND));
        assert_eq!(timed.with_overrides(by_count).unwrap().until, Until::Iterations(9));
    }

    #[test]
    fn a_rate_makes_it_the_open_model() {
        let asked = Overrides { rate: Some(2.5), iterations: Some(9), ..Overrides::default() };
        let open = load().with_overrides(asked).unwrap();
        let model = Model::Open(Open { rate: 2.5, arrivals: Arrivals::Even });
        assert_eq!((open.model, open.users), (model, SENDERS));
        let few = Overrides { users: Some(3), rate: Some(5.0), ..Overrides::default() };
        let few = open.with_overrides(few).unwrap();
        assert_eq!((few.most(), few.users, few.until), (5.0, 3, Until::Iterations(9)));
    }

    #[test]
    fn stages_are_replaced_whole_or_not_at_all() {
        let stages = vec![Stage { to: 8.0, over: SECOND }];
        let staged = Load { until: Until::Stages(stages), ..load() };
        let users = Overrides { users: Some(3), ..Overrides::default() };
        let refused = staged.clone().with_overrides(users);
        assert_eq!(refused, Err(OverrideError::Stages("--users")));
        let held = Overrides { duration: Some(SECOND), ..users };
        assert_eq!(staged.with_overrides(held).unwrap().until, Until::Duration(SECOND));
    }

    #[test]
    fn wishes_that_make_no_load_are_refused() {
        let none = Overrides::default();
        let cases = [
            (Overrides { users: Some(0), ..none }, OverrideError::NoUsers),
            (Overrides { users: Some(MOST_USERS + 1), ..none }, OverrideError::TooManyUsers),
            (Overrides { iterations: Some(0), ..none }, OverrideError::NoIterations),
            (Overrides { rate: Some(0.0), ..none }, OverrideError::NoRate),
            (Overrides { rate: Some(f64::NAN), ..none }, OverrideError::NoRate),
            (Overrides { rate: Some(1.0), ..none }, OverrideError::PerUser),
            (Overrides { iterations: Some(u64::MAX), ..none }, OverrideError::TooManyIterations),
            (Overrides { duration: Some(Duration::ZERO), ..none }, OverrideError::NoDuration),
            (
                Overrides { duration: Some(SECOND), iterations: Some(1), ..none },
                OverrideError::TwoEnds,
            ),
            (Overrides { drain: Some(SECOND), ..none }, OverrideError::NoDrain),
            (
                Overrides { duration: Some(SECOND), drain: Some(601 * SECOND), ..none },
                OverrideError::TooLongDrain,
            ),
            (
                Overrides { duration: Some(LONGEST), ramp_up: Some(SECOND), ..none },
                OverrideError::TooLong,
            ),
        ];
        for (overrides, error) in cases {
            assert_eq!(load().with_overrides(overrides), Err(error), "{overrides:?}");
        }
        assert_eq!(OverrideError::TooManyUsers.to_string(), "--users must be at most 1,000,000");
    }
}
