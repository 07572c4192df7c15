//! How much load, for how long, and who decides when a request is sent.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much load, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Who decides when a request is sent.
    pub model: Model,
    /// Users of the whole test, over all workers: in the closed model all of them send, in the open
    /// model they are the most that have a request under way at the same time. At least 1. Where
    /// there are stages, the most users of any.
    pub users: u32,
    /// The time over which the load rises from nothing; zero starts with all of it.
    pub ramp_up: Duration,
    /// How long a user waits between an answer and its next request.
    pub think_time: Option<ThinkTime>,
    /// When the test ends.
    pub until: Until,
    /// How long after an end by time the answers to requests in flight are waited for.
    pub drain: Duration,
}

/// How long is waited at the end of a test by time, if nobody says otherwise.
pub const DRAIN: Duration = Duration::from_secs(3);

/// How long a user waits between an answer and its next request; in the open model only between
/// the requests of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTime {
    /// Always as long.
    Fixed(Duration),
    /// Any time from the one to the other, each as likely.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest; not shorter than that.
        max: Duration,
    },
    /// Mostly short, sometimes long: exponentially distributed.
    Exponential {
        /// The mean.
        mean: Duration,
    },
}

/// Who decides when a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The user that waits for its answer: a slow server is asked less.
    Closed,
    /// The clock: requests arrive at a rate, however the server does.
    Open(Open),
}

/// The open model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Requests per second over all workers; where there are stages, the highest rate of any.
    /// Greater than 0.
    pub rate: f64,
    /// How they are spread over time.
    pub arrivals: Arrivals,
}

/// How requests are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At even distances.
    #[default]
    Even,
    /// Each by chance, whenever the others come: a Poisson process, as of many people who know
    /// nothing of each other.
    Poisson,
}

/// When a test ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// This long after the ramp-up has ended.
    Duration(Duration),
    /// When the users together have begun and ended this many iterations.
    Iterations(u64),
    /// When each user has ended this many iterations.
    IterationsPerUser(u64),
    /// When these are over, one after another. There is no ramp-up beside them. Never empty.
    Stages(Vec<Stage>),
}

/// A change of the load in a straight line, from what it was before: nothing, before the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Users, or requests per second, at its end.
    pub to: f64,
    /// How long it takes; zero for a jump.
    pub over: Duration,
}

impl Load {
    /// How long the load is held after the ramp-up; `None` where iterations end the test.
    #[must_use]
    pub fn held(&self) -> Option<Duration> {
        match &self.until {
            Until::Duration(duration) => Some(*duration),
            Until::Iterations(_) | Until::IterationsPerUser(_) => None,
            Until::Stages(stages) => Some(stages.iter().map(|stage| stage.over).sum()),
        }
    }

    /// The time over which users start before the load is held; iterations count from the first.
    #[must_use]
    pub fn before_hold(&self) -> Duration {
        self.held().map_or(Duration::ZERO, |_| self.ramp_up)
    }

    /// What the load is counted in, and the most of it: users, or requests per second.
    #[must_use]
    pub fn most(&self) -> f64 {
        match self.model {
            Model::Closed => f64::from(self.users),
            Model::Open(open) => open.rate,
        }
    }

    /// The load after the warm-up as straight lines, one after another. The last one has no end
    /// where iterations end the test; these count from the first one that is begun, so that there
    /// is no ramp-up apart.
    #[must_use]
    pub fn stages(&self) -> Vec<Stage> {
        if let Until::Stages(stages) = &self.until {
            return stages.clone();
        }
        let to = self.most();
        let held = self.held().unwrap_or(Duration::MAX);
        vec![Stage { to, over: self.ramp_up }, Stage { to, over: held }]
    }
}

impl fmt::Display for ThinkTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Duration| humantime::format_duration(*time);
        match self {
            Self::Fixed(always) => write!(f, "{}", time(always)),
            Self::Uniform { min, max } => write!(f, "{} to {}", time(min), time(max)),
            Self::Exponential { mean } => write!(f, "exponential, {} on average", time(mean)),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Even => "evenly spaced",
            Self::Poisson => "Poisson",
        })
    }
}
