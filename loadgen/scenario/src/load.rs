//! Amount and duration of the load, and the load model.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Amount and duration of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Model that decides when a request is sent.
    pub model: Model,
    /// Users of the whole test, over all workers; at least 1. In the closed model, all users send.
    /// In the open model, at most this many users have a request in flight at the same time. With
    /// stages in the closed model, the largest number of users of any stage.
    pub users: u32,
    /// Time over which the load rises from zero; zero starts with the full load.
    pub ramp_up: Duration,
    /// Time that a user waits between a response and the user's next request; `None` for no wait.
    pub think_time: Option<ThinkTime>,
    /// Condition that ends the test.
    pub until: Until,
    /// Longest wait for the responses to in-flight requests, after the end of a test that ends by
    /// time.
    pub drain: Duration,
}

/// Time that each round runs before its measurements count, unless an option or an experiment sets
/// another.
pub const WARMUP: Duration = Duration::from_secs(1);

/// Time that a user waits between a response and the user's next request. In the open model, users
/// wait only between the requests of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTime {
    /// Always the same time.
    Fixed(Duration),
    /// Any time from `min` to `max`, uniformly distributed.
    Uniform {
        /// Shortest time.
        min: Duration,
        /// Longest time; not shorter than `min`.
        max: Duration,
    },
    /// Exponentially distributed time: mostly short, sometimes long.
    Exponential {
        /// Mean time.
        mean: Duration,
    },
}

/// Model that decides when a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Each user waits for a response before the user's next request, so a slow server receives
    /// fewer requests.
    Closed,
    /// The clock decides when a request is sent: requests arrive at a given rate, regardless of the
    /// server's speed.
    Open(Open),
}

/// Parameters of the open model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Requests per second over all workers; greater than
    /// 0. With stages, the highest rate of any stage.
    pub rate: f64,
    /// Distribution of requests over time.
    pub arrivals: Arrivals,
}

/// Distribution of requests over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Requests arrive at even intervals.
    #[default]
    Even,
    /// Requests arrive at random times, independent of each other: a Poisson process, like the
    /// requests of many people who know nothing of each other.
    Poisson,
}

/// Condition that ends a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Ends the test this long after the end of the ramp-up.
    Duration(Duration),
    /// Ends the test when all users together have begun and ended this many iterations.
    Iterations(u64),
    /// Ends the test when each user has ended this many iterations.
    IterationsPerUser(u64),
    /// Ends the test after these consecutive stages, of which at least one exists. A test with
    /// stages has no ramp-up.
    Stages(Vec<Stage>),
}

/// A linear change of the load, from the level at the end of the previous stage; the first stage
/// starts from zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Users or requests per second at the end of the stage.
    pub to: f64,
    /// Duration of the stage; zero changes the load at once.
    pub over: Duration,
}

impl Load {
    /// Returns the duration of the load after the ramp-up; `None` if iterations end the test.
    #[must_use]
    pub fn held(&self) -> Option<Duration> {
        match &self.until {
            Until::Duration(duration) => Some(*duration),
            Until::Iterations(_) | Until::IterationsPerUser(_) => None,
            Until::Stages(stages) => Some(stages.iter().map(|stage| stage.over).sum()),
        }
    }

    /// Returns the duration of the ramp-up phase. The result is zero if iterations end the test,
    /// because the first iteration already counts.
    #[must_use]
    pub fn before_hold(&self) -> Duration {
        self.held().map_or(Duration::ZERO, |_| self.ramp_up)
    }

    /// Returns the highest load: users in the closed model, requests per second in the open model.
    #[must_use]
    pub fn most(&self) -> f64 {
        match self.model {
            Model::Closed => f64::from(self.users),
            Model::Open(open) => open.rate,
        }
    }

    /// Returns the ends of all stages but the last, counted from the end of the warm-up. Empty for a
    /// load without stages. Stages without a duration at the end of the load are left out.
    #[must_use]
    pub fn stage_ends(&self) -> Vec<Duration> {
        let Until::Stages(stages) = &self.until else { return Vec::new() };
        let mut end = Duration::ZERO;
        let ends = stages.iter().map(|stage| {
            end += stage.over;
            end
        });
        let ends: Vec<Duration> = ends.collect();
        let last = end;
        ends.into_iter().filter(|end| *end < last).collect()
    }

    /// Returns the load after the warm-up as consecutive linear stages, including the ramp-up. If
    /// iterations end the test, the last stage has no end ([`Duration::MAX`]). The ramp-up of such
    /// a test is no separate phase, because the first iteration already counts.
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

impl ThinkTime {
    /// Returns the mean time.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match self {
            Self::Fixed(always) => *always,
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::Exponential { mean } => *mean,
        }
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
