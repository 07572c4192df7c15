//! Load levels to which a running load can change.

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::load::{Model, Until};
use super::model::Scenario;
use super::overrides::{LEAST_RATE, MOST_RATE, MOST_USERS};
use super::sharing::TooFewStreams;

/// A level to which the load of a running test can change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadLevel {
    /// Number of users in the closed model, over all workers.
    Users(u32),
    /// Requests per second in the open model, over all workers.
    Rate(f64),
}

/// Reason why a running load cannot change to a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Diagnostic)]
pub enum LoadLevelError {
    /// The number of users is zero, or larger than supported.
    #[error(
        "users must be a whole number from 1 to {}",
        loadgen_text::count(u64::from(MOST_USERS))
    )]
    #[diagnostic(
        code(users_out_of_range),
        help("to stop the load, use `loadgen ctl --run DIR stop`")
    )]
    Users,
    /// The rate is outside the supported range, or NaN.
    #[error("rate must be a number from {LEAST_RATE} to {}", loadgen_text::count(MOST_RATE as u64))]
    #[diagnostic(
        code(rate_out_of_range),
        help("to stop the load, use `loadgen ctl --run DIR stop`")
    )]
    Rate,
    /// The level is a number of users, but the load follows the open model.
    #[error("the load follows the open model, where users only limit the in-flight requests")]
    #[diagnostic(
        code(load_is_open),
        help("change the rate instead: `rate R`, in requests per second")
    )]
    IsOpen,
    /// The level is a rate, but the load follows the closed model.
    #[error("the load follows the closed model, which has no rate: users wait for responses")]
    #[diagnostic(code(load_is_closed), help("change the number of users instead: `users N`"))]
    IsClosed,
    /// The level is a number of users, but iterations end the round.
    #[error("iterations end this round, and are already divided among its users")]
    #[diagnostic(
        code(load_has_iterations),
        help("the number of users can change only where time ends a round: set a duration")
    )]
    Iterations,
    /// The shared connections of HTTP/2 carry fewer concurrent requests than the level has users.
    #[error(transparent)]
    #[diagnostic(
        code(too_few_streams),
        help("use fewer users, or more `connections` or `streams` in the scenario")
    )]
    Streams(TooFewStreams),
}

impl LoadLevel {
    /// Checks that the level is within the range that a scenario can set.
    ///
    /// # Errors
    /// [`LoadLevelError::Users`] or [`LoadLevelError::Rate`].
    pub fn check(self) -> Result<(), LoadLevelError> {
        match self {
            Self::Users(users) if !(1..=MOST_USERS).contains(&users) => Err(LoadLevelError::Users),
            Self::Rate(rate) if !(LEAST_RATE..=MOST_RATE).contains(&rate) => {
                Err(LoadLevelError::Rate)
            }
            _ => Ok(()),
        }
    }
}

impl Scenario {
    /// Checks that the load can change to `level` while running.
    ///
    /// # Errors
    /// If the level is out of range or has no meaning for this load.
    pub fn check_change(&self, level: LoadLevel) -> Result<(), LoadLevelError> {
        level.check()?;
        match (level, self.load.model, &self.load.until) {
            (LoadLevel::Users(_), Model::Open(_), _) => Err(LoadLevelError::IsOpen),
            (LoadLevel::Rate(_), Model::Closed, _) => Err(LoadLevelError::IsClosed),
            (LoadLevel::Users(_), _, Until::Iterations(_) | Until::IterationsPerUser(_)) => {
                Err(LoadLevelError::Iterations)
            }
            (LoadLevel::Users(users), ..) => {
                self.http.sharing.check(users).map_err(LoadLevelError::Streams)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Load, Open, parse};
    use std::time::Duration;

    fn with_load(model: Model, until: Until) -> Scenario {
        let scenario = parse("test", "test.toml", "[[step]]\nget = \"/\"").unwrap();
        let load = Load { model, until, ..scenario.load.clone() };
        Scenario { load, ..scenario }
    }

    #[test]
    fn users_beyond_the_shared_connections_are_refused() {
        let text =
            "http = { version = \"2\", connections = 2, streams = 10 }\n[[step]]\nget = \"/\"";
        let scenario = parse("test", "test.toml", text).unwrap();
        assert_eq!(scenario.check_change(LoadLevel::Users(20)), Ok(()));
        let refused = scenario.check_change(LoadLevel::Users(21));
        assert!(matches!(refused, Err(LoadLevelError::Streams(_))), "{refused:?}");
    }

    #[test]
    fn users_change_the_closed_model_and_rates_the_open() {
        let open = Model::Open(Open { rate: 5.0, arrivals: Arrivals::Even });
        let timed = Until::Duration(Duration::from_secs(1));
        let counted = Until::Iterations(9);
        let cases = [
            (Model::Closed, &timed, LoadLevel::Users(1_000_000), Ok(())),
            (Model::Closed, &timed, LoadLevel::Users(1_000_001), Err(LoadLevelError::Users)),
            (Model::Closed, &timed, LoadLevel::Users(0), Err(LoadLevelError::Users)),
            (Model::Closed, &timed, LoadLevel::Rate(5.0), Err(LoadLevelError::IsClosed)),
            (Model::Closed, &counted, LoadLevel::Users(5), Err(LoadLevelError::Iterations)),
            (
                Model::Closed,
                &Until::IterationsPerUser(1),
                LoadLevel::Users(5),
                Err(LoadLevelError::Iterations),
            ),
            (open, &timed, LoadLevel::Rate(0.001), Ok(())),
            (open, &counted, LoadLevel::Rate(1e7), Ok(())),
            (open, &timed, LoadLevel::Rate(0.0), Err(LoadLevelError::Rate)),
            (open, &timed, LoadLevel::Rate(f64::NAN), Err(LoadLevelError::Rate)),
            (open, &timed, LoadLevel::Rate(f64::INFINITY), Err(LoadLevelError::Rate)),
            (open, &timed, LoadLevel::Users(5), Err(LoadLevelError::IsOpen)),
        ];
        for (model, until, level, expected) in cases {
            let found = with_load(model, until.clone()).check_change(level);
            assert_eq!(found, expected, "{model:?} {until:?} {level:?}");
        }
    }
}
