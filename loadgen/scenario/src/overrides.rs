//! Changes of a scenario's load by the command line.

use std::time::Duration;

use thiserror::Error;

use super::duration::LONGEST;
use super::load::{Arrivals, Load, Model, Open, Until};
use super::model::Scenario;
use super::sharing::TooFewStreams;

/// Largest number of users of a test.
pub(super) const MOST_USERS: u32 = 1_000_000;
/// Largest number of iterations of a test, shared or per user. The product with [`MOST_USERS`]
/// stays within `u64`.
pub(super) const MOST_ITERATIONS: u64 = 1_000_000_000_000;

/// Lowest rate, in requests per second: one request every 1000 s.
pub(super) const LEAST_RATE: f64 = 0.001;
/// Highest rate, in requests per second.
pub(super) const MOST_RATE: f64 = 10_000_000.0;
/// Longest wait for answers at the end of a test: the longest timeout of a step.
pub(super) const LONGEST_DRAIN: Duration = Duration::from_secs(600);
/// Default number of users in the open model, where the number of users limits the in-flight
/// requests.
pub(super) const SENDERS: u32 = 1_000;

/// Command-line options that replace values of the scenario's `[load]`. `None` keeps the scenario's
/// value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overrides {
    /// Value of `--users`: number of users, over all workers.
    pub users: Option<u32>,
    /// Value of `--ramp-up`; zero starts with the full load.
    pub ramp_up: Option<Duration>,
    /// Value of `--duration`; replaces any other end of the test.
    pub duration: Option<Duration>,
    /// Value of `--iterations`, a number shared by all users; replaces any other end of the test.
    pub iterations: Option<u64>,
    /// Value of `--rate`, in requests per second; selects the open model.
    pub rate: Option<f64>,
    /// Value of `--drain`: the longest wait for responses, after the end of a test that ends by
    /// time.
    pub drain: Option<Duration>,
}

/// Reason why the command-line options do not give a valid load.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OverrideError {
    /// `--users` is zero.
    #[error("--users must be at least 1")]
    NoUsers,
    /// `--users` is larger than supported.
    #[error("--users must be at most {}", loadgen_text::count(u64::from(MOST_USERS)))]
    TooManyUsers,
    /// `--iterations` is zero.
    #[error("--iterations must be at least 1")]
    NoIterations,
    /// `--iterations` is larger than supported.
    #[error("--iterations must be at most {}", loadgen_text::count(MOST_ITERATIONS))]
    TooManyIterations,
    /// `--duration` is zero.
    #[error("--duration must be longer than zero")]
    NoDuration,
    /// `--rate` is outside the supported range, or NaN.
    #[error(
        "--rate must be a number from {LEAST_RATE} to {}",
        loadgen_text::count(MOST_RATE as u64)
    )]
    NoRate,
    /// The option of this name would replace only a part of the scenario's stages.
    #[error("{0} alone cannot replace the stages of the scenario: add --duration or --iterations")]
    Stages(&'static str),
    /// `--rate` selects the open model, but the scenario ends after a number of iterations per
    /// user. In the open model, any idle user sends the next request.
    #[error("--rate selects the open model, which has no iterations per user")]
    PerUser,
    /// `--duration` and `--iterations` both set the end of the test.
    #[error("--duration and --iterations exclude each other: only one of them can end a test")]
    TwoEnds,
    /// The ramp-up and the duration together exceed 24 hours.
    #[error("--ramp-up and --duration together must be at most 24h")]
    TooLong,
    /// `--drain` is longer than the longest timeout of a step.
    #[error("--drain must be at most 10m, like the timeout of a step")]
    TooLongDrain,
    /// `--drain` is set, but iterations end the test: no request is in flight at such an end.
    #[error("--drain has no effect where iterations end the test: loadgen waits for all responses")]
    NoDrain,
    /// The shared connections of HTTP/2 carry fewer concurrent requests than there are users.
    #[error("{0}: change --users, or `connections` or `streams` in the scenario")]
    TooFewStreams(#[from] TooFewStreams),
    /// A search sets the rate of requests, but the step of this name is left out of iterations
    /// without its condition.
    #[error(
        "a search cannot tell the rate of requests, because the step `{0}` has a condition (`when`): \
         search without it, or run the scenario with several rates"
    )]
    Conditional(String),
}

impl Scenario {
    /// Returns the scenario's load with the values of the command-line options in place of the
    /// scenario's values, after the same checks as for the scenario.
    pub fn load_with(&self, overrides: Overrides) -> Result<Load, OverrideError> {
        let load = self.load.clone().with_overrides(overrides)?;
        self.http.sharing.check(load.users)?;
        Ok(load)
    }
}

impl Load {
    /// Returns the load with the values of the command-line options in place of the scenario's
    /// values, after the same checks as for the scenario.
    fn with_overrides(self, overrides: Overrides) -> Result<Self, OverrideError> {
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
                // Former users become senders, which must be numerous enough for the rate.
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
        // In the open model users are senders, which stages do not define.
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

    /// Returns whether ramp-up and duration together exceed 24 hours, the longest test.
    pub(super) fn is_too_long(&self) -> bool {
        self.ramp_up.saturating_add(self.held().unwrap_or_default()) > LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Stage;

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
    fn no_override_changes_no_load() {
        assert_eq!(load().with_overrides(Overrides::default()), Ok(load()));
    }

    #[test]
    fn an_overriding_end_replaces_the_other() {
        let by_time = Overrides { duration: Some(SECOND), ..Overrides::default() };
        let by_count = Overrides { iterations: Some(9), ..Overrides::default() };
        let timed = load().with_overrides(by_time).unwrap();
        assert_eq!(timed.until, Until::Duration(SECOND));
        assert_eq!(timed.with_overrides(by_count).unwrap().until, Until::Iterations(9));
    }

    #[test]
    fn a_rate_selects_the_open_model() {
        let asked = Overrides { rate: Some(2.5), iterations: Some(9), ..Overrides::default() };
        let open = load().with_overrides(asked).unwrap();
        let model = Model::Open(Open { rate: 2.5, arrivals: Arrivals::Even });
        assert_eq!((open.model, open.users), (model, SENDERS));
        let few = Overrides { users: Some(3), rate: Some(5.0), ..Overrides::default() };
        let few = open.with_overrides(few).unwrap();
        assert_eq!((few.most(), few.users, few.until), (5.0, 3, Until::Iterations(9)));
    }

    #[test]
    fn stages_are_replaced_completely_or_refused() {
        let stages = vec![Stage { to: 8.0, over: SECOND }];
        let staged = Load { until: Until::Stages(stages), ..load() };
        let users = Overrides { users: Some(3), ..Overrides::default() };
        let refused = staged.clone().with_overrides(users);
        assert_eq!(refused, Err(OverrideError::Stages("--users")));
        let held = Overrides { duration: Some(SECOND), ..users };
        assert_eq!(staged.with_overrides(held).unwrap().until, Until::Duration(SECOND));
    }

    #[test]
    fn users_beyond_the_shared_connections_are_refused() {
        let text =
            "http = { version = \"2\", connections = 2, streams = 10 }\n[[step]]\nget = \"/\"";
        let scenario = crate::parse("test", "test.toml", text).unwrap();
        let with =
            |users| scenario.load_with(Overrides { users: Some(users), ..Overrides::default() });
        assert_eq!(with(20).unwrap().users, 20);
        let error = with(21).unwrap_err().to_string();
        assert!(error.contains("20 requests at a time, fewer than 21 users"), "{error}");
        // A rate brings 1,000 users.
        let by_rate = Overrides { rate: Some(1.0), iterations: Some(1), ..Overrides::default() };
        assert!(matches!(scenario.load_with(by_rate), Err(OverrideError::TooFewStreams(_))));
    }

    #[test]
    fn impossible_overrides_are_refused() {
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
