//! Defines on which terms a search decides about a rate.

use std::time::Duration;

use crate::analysis::Criteria;
use crate::scenario::experiment::CapacitySettings;
use crate::scenario::{OverrideError, Overrides, Scenario};

/// Terms of a search: which trials pass, how long they last, and how exact the result is.
pub struct Terms {
    /// Criteria that a trial at a rate must meet for the rate to pass.
    pub criteria: Criteria,
    /// Maximum gap, at the end of a search, between the highest rate that passed and the lowest
    /// rate that failed, as a share of the lower rate: 0.05 means 5 %.
    pub precision: f64,
    /// Minimum duration for which a trial holds its rate.
    pub duration: Duration,
    /// Most rounds after the planned ones, while the capacity of a target is uncertain.
    pub more_rounds: u32,
}

impl Terms {
    /// Returns the terms of these settings, and edits the thresholds and the load of `scenario` so
    /// that a trial can be judged: see [`Criteria::of`]. `drain` replaces that of the scenario.
    pub fn of(
        scenario: &mut Scenario,
        settings: CapacitySettings,
        drain: Option<Duration>,
    ) -> Result<Self, OverrideError> {
        let CapacitySettings { users, duration, precision } = settings;
        let criteria = Criteria::of(scenario, duration);
        let overrides = Overrides {
            users,
            ramp_up: Some(Duration::ZERO),
            duration: Some(duration),
            iterations: None,
            // A placeholder: each trial sets its own rate.
            rate: Some(criteria.start_per_s()),
            drain,
        };
        scenario.load = scenario.load.clone().with_overrides(overrides)?;
        Ok(Self { criteria, precision, duration, more_rounds: 0 })
    }
}
