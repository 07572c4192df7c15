//! Flows: the journeys among which users divide their iterations.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::data::Data;

/// Name of the only flow of a scenario without `[[flow]]`, and in results that of all flows together.
pub const ITERATION: &str = "iteration";

/// Steps that a user sends in one iteration: a journey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Name of the flow, unique among the names of flows, groups and steps.
    pub name: String,
    /// Relative frequency of the flow among all flows.
    pub weight: u32,
    /// Indices of the flow's steps.
    pub steps: Range<usize>,
}

/// Time at which a user takes a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assign {
    /// Before each iteration, at random, in proportion to the weights.
    #[default]
    Iteration,
    /// Once. Users take flows in a fixed order, as evenly as the weights allow.
    User,
}

/// Condition on captured values. An iteration leaves out a step whose condition does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// The user has a value of this name.
    Present(String),
    /// The user has no value of this name.
    Absent(String),
    /// The user's values of these names are these texts.
    Equal(Vec<(String, String)>),
}

impl Given {
    /// Returns whether the condition holds for the values that a user has captured.
    #[must_use]
    pub fn holds(&self, data: &Data) -> bool {
        match self {
            Self::Present(name) => data.captured(name).is_some(),
            Self::Absent(name) => data.captured(name).is_none(),
            Self::Equal(values) => {
                values.iter().all(|(name, value)| data.captured(name) == Some(value))
            }
        }
    }

    /// Returns the names of the values that a user has if the condition holds.
    pub(super) fn present(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Self::Present(name) => (Some(name.as_str()), [].as_slice()),
            Self::Absent(_) => (None, [].as_slice()),
            Self::Equal(values) => (None, values.as_slice()),
        };
        one.into_iter().chain(several.iter().map(|(name, _)| name.as_str()))
    }
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Present(name) => write!(f, "{name} is present"),
            Self::Absent(name) => write!(f, "{name} is absent"),
            Self::Equal(values) => {
                let each = values.iter().map(|(name, value)| format!("{name} is {value:?}"));
                f.write_str(&each.collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// Number of times that an iteration sends a step: a number between two limits, all equally likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// Smallest number of times.
    pub min: u32,
    /// Largest number of times.
    pub max: u32,
}

impl Repeat {
    /// Returns the mean number of times.
    pub(super) fn mean(self) -> f64 {
        f64::midpoint(self.min.into(), self.max.into())
    }
}

impl Default for Repeat {
    fn default() -> Self {
        Self { min: 1, max: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_looks_at_captured_values() {
        let mut data = Data::new(0, 0);
        data.capture("cart", "open".to_owned());
        let equal = |value: &str| Given::Equal(vec![("cart".to_owned(), value.to_owned())]);
        assert!(Given::Present("cart".to_owned()).holds(&data));
        assert!(!Given::Absent("cart".to_owned()).holds(&data));
        assert!(Given::Absent("token".to_owned()).holds(&data));
        assert!(equal("open").holds(&data));
        assert!(!equal("closed").holds(&data));
    }
}
