//! Holds what a gate against regressions found: whether targets are slower than they were, or than
//! the first target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Judgement of targets against a base: of each target of a run against the first target, or of each
/// target in later runs against itself in the first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// First target, with which the others are compared.
    pub base: String,
    /// Greatest accepted loss.
    pub limit_percent: f64,
    /// The other targets.
    pub judged: Vec<JudgedTarget>,
}

/// Judgement of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedTarget {
    /// Name of the target.
    pub target: String,
    /// Figure of the loss.
    pub of: LossOf,
    /// Loss; negative for a gain. `None` if `unjudged`.
    pub loss_percent: Option<f64>,
    /// Confidence interval of the loss, at 95 % for all targets together (Bonferroni); `None` if
    /// `unjudged`.
    pub confidence_percent: Option<[f64; 2]>,
    /// Whether a loss of more than the limit is shown.
    pub judgement: Judgement,
    /// Reason why the target cannot be judged; `None` if judged.
    pub why_not: Option<String>,
    /// Further rounds that would most likely settle an open judgement; `None` unless `open`, or if
    /// more than 1,000 rounds are needed.
    pub more_rounds: Option<u32>,
}

/// Figure of which a target lost something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossOf {
    /// Lower, in the closed model.
    Rate,
    /// Longer median, in the open model.
    Latency,
    /// More per expected response, in a duet.
    CpuTime,
    /// Lower, of searches.
    Capacity,
}

impl JudgedTarget {
    /// Returns the judgement of a target that cannot be judged.
    #[must_use]
    pub fn unjudged(target: &str, of: LossOf, why_not: String) -> Self {
        Self {
            target: target.to_owned(),
            of,
            loss_percent: None,
            confidence_percent: None,
            judgement: Judgement::Unjudged,
            why_not: Some(why_not),
            more_rounds: None,
        }
    }
}

impl Judgement {
    /// Returns whether a gate fails with this judgement: a loss is shown, or nothing can be said.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Slower | Self::Unjudged)
    }
}

impl GateRecord {
    /// Returns whether a target has this judgement.
    #[must_use]
    pub fn has(&self, judgement: Judgement) -> bool {
        self.judged.iter().any(|one| one.judgement == judgement)
    }
}

/// Whether a loss of more than the limit is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The whole interval is above the limit.
    Slower,
    /// The whole interval is below the limit.
    NotSlower,
    /// The limit is within the interval.
    Open,
    /// The target cannot be judged.
    Unjudged,
}
