//! Holds what a gate against regressions found: whether targets are slower than they were, or than
//! the first target.

use serde::{Deserialize, Serialize};

/// Judgement of targets against a base: of each target of a run against the first target, or of each
/// target in later runs against itself in the first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRecord {
    /// Name of the first target, or of the first run, with which the others are compared.
    pub base: String,
    /// Greatest loss that is accepted, in %.
    pub limit_percent: f64,
    /// The other targets, or the targets of the other runs.
    pub judged: Vec<JudgedTarget>,
}

/// Judgement of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedTarget {
    /// Name of the target; of saved runs, with the name of the run, such as `sanic (after)`.
    pub target: String,
    /// Figure of which the target lost something.
    pub of: LossOf,
    /// Loss in %; negative for a gain. `None` if the target cannot be judged.
    pub loss_percent: Option<f64>,
    /// Confidence interval of the loss, in %. The level is 95 % for all targets together (Bonferroni).
    /// `None` if the target cannot be judged.
    pub confidence_percent: Option<[f64; 2]>,
    /// Judgement.
    pub judgement: Judgement,
    /// Reason why the target cannot be judged; `None` if it can.
    pub why_not: Option<String>,
    /// Number of further rounds that would most likely settle an open judgement; `None` for another
    /// judgement, and if more than 1,000 rounds are needed.
    pub more_rounds: Option<u32>,
}

/// Figure of which a target lost something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossOf {
    /// Expected answers per second, in the closed model: a loss is a lower rate.
    Rate,
    /// Median latency, in the open model: a loss is a longer latency.
    Latency,
    /// CPU time per expected answer, in a duet: a loss is more CPU time.
    CpuTime,
    /// Capacity, of searches: a loss is a lower capacity.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// A loss of more than the limit is shown: the whole interval is above the limit.
    Slower,
    /// A loss of no more than the limit is shown: the whole interval is below the limit.
    NotSlower,
    /// Neither is shown: the limit is within the interval.
    Open,
    /// The target cannot be judged.
    Unjudged,
}
