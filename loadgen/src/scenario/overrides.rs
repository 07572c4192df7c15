//! What the command line changes in a scenario's load.

use std::time::Duration;

use thiserror::Error;

use super::duration::LONGEST;
use super::model::{Load, Until};

/// The most users of a test.
pub(super) const MOST_USERS: u32 = 1_000_000;
/// The most iterations, shared or per user. With [`MOST_USERS`] the product stays within `u64`.
pub(super) const MOST_ITERATIONS: u64 = 1_000_000_000_000;

/// What the command line asks for instead of what the scenario's `[load]` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--users`
    pub users: Option<u32>,
    /// `--ramp-up`
    pub ramp_up: Option<Duration>,
    /// `--duration`; replaces any iterations.
    pub duration: Option<Duration>,
    /// `--iterations`, shared by all users; replaces the duration.
    pub iterations: Option<u64>,
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
    /// Two ends for one test.
    #[error("--duration and --iterations exclude each other: a test ends by one of them")]
    TwoEnds,
    /// The whole test would take more than a day.
    #[error("--ramp-up and --duration together must be at most 24h")]
    TooLong,
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
        let load = Self {
            users: overrides.users.unwrap_or(self.users),
            ramp_up: overrides.ramp_up.unwrap_or(self.ramp_up),
            until,
        };
        load.check().map(|()| load)
    }

    fn check(&self) -> Result<(), OverrideError> {
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
            _ if self.is_too_long() => Err(OverrideError::TooLong),
            _ => Ok(()),
        }
    }

    /// Whether ramp-up and duration together exceed the longest test.
    pub(super) fn is_too_long(&self) -> bool {
        let duration = match self.until {
            Until::Duration(duration) => duration,
            Until::Iterations(_) | Until::IterationsPerUser(_) => Duration::ZERO,
        };
        self.ramp_up.saturating_add(duration) > LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn load() -> Load {
        Load { users: 5, ramp_up: Duration::ZERO, until: Until::IterationsPerUser(7) }
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
    fn wishes_that_make_no_load_are_refused() {
        let none = Overrides::default();
        let cases = [
            (Overrides { users: Some(0), ..none }, OverrideError::NoUsers),
            (Overrides { users: Some(MOST_USERS + 1), ..none }, OverrideError::TooManyUsers),
            (Overrides { iterations: Some(0), ..none }, OverrideError::NoIterations),
            (Overrides { iterations: Some(u64::MAX), ..none }, OverrideError::TooManyIterations),
            (Overrides { duration: Some(Duration::ZERO), ..none }, OverrideError::NoDuration),
            (
                Overrides { duration: Some(SECOND), iterations: Some(1), ..none },
                OverrideError::TwoEnds,
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
