//! Defines on which terms a search decides about a rate.

use std::time::Duration;

use crate::analysis::Criteria;
use crate::scenario::experiment::CapacitySettings;
use crate::scenario::{OverrideError, Overrides, Scenario};

/// Terms of a search: which trials pass, how long they last, and how exact the result is.
#[derive(Debug, Clone)]
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
    ///
    /// # Errors
    /// If the load is not valid, or if iterations have steps with conditions: a search asks for a rate
    /// of requests, and could not tell how many an iteration has.
    pub fn of(
        scenario: &mut Scenario,
        settings: CapacitySettings,
        drain: Option<Duration>,
    ) -> Result<Self, OverrideError> {
        let mut in_flows = scenario.flows.iter().flat_map(|flow| flow.steps.clone());
        if let Some(step) = in_flows.find(|step| scenario.steps[*step].given.is_some()) {
            return Err(OverrideError::Conditional(scenario.steps[step].name.clone()));
        }
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
        scenario.load = scenario.load_with(overrides)?;
        Ok(Self { criteria, precision, duration, more_rounds: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    /// Returns the error for a scenario of these steps, if any.
    fn refused(steps: &str) -> Option<OverrideError> {
        let mut scenario = parse("test", "test.toml", steps).unwrap();
        let settings =
            CapacitySettings { users: None, duration: Duration::from_secs(1), precision: 0.1 };
        Terms::of(&mut scenario, settings, None).err()
    }

    #[test]
    fn a_search_needs_iterations_of_known_length() {
        let capture = "capture = { id = { json = \"/id\", optional = true } }";
        let first = format!("[[step]]\nname = \"first\"\nget = \"/\"\n{capture}\nrepeat = 3\n");
        assert_eq!(refused(&first), None);
        let next = "[[step]]\nname = \"next\"\nget = \"/\"\nwhen = { present = \"id\" }\n";
        let conditional = OverrideError::Conditional("next".to_owned());
        assert_eq!(refused(&(first + next)), Some(conditional));
    }
}
