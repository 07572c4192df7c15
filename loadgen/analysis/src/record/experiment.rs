//! Holds the record of an experiment: the document that `loadgen experiment` saves and prints.

use serde::{Deserialize, Serialize};

use super::capacity::CapacityRecord;
use super::run::RunRecord;
use super::saved_as::SavedAs;
use super::scaling::ScalingRecord;

/// The saved result of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Name and version of this document's format: always [`ExperimentRecord::SCHEMA`].
    pub schema: String,
    /// Name of the experiment: the stem of its file.
    pub experiment: String,
    /// Title for people.
    pub title: String,
    /// Description for people; `None` without one.
    pub description: Option<String>,
    /// Publication that the experiment repeats; `None` for an experiment that nobody published.
    pub source: Option<SourceRecord>,
    /// Whether the quick form was measured, which has less load or fewer rounds than the full form.
    pub quick: bool,
    /// Start of the experiment, in UTC (RFC 3339).
    pub started: String,
    /// Command line, including the program.
    pub command: Vec<String>,
    /// Groups of arms, in the order of the experiment's file.
    pub groups: Vec<GroupRecord>,
    /// Findings about the claims, in the order of the experiment's file.
    pub claims: Vec<ClaimRecord>,
    /// Whether the experiment was interrupted before its planned end.
    pub interrupted: bool,
}

impl SavedAs for ExperimentRecord {
    const FILE: &str = "experiment.json";
    const SCHEMA: &str = "loadgen.experiment/1";
}

/// Publication that an experiment repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Title of the publication.
    pub title: String,
    /// Year of the publication; `None` if unknown.
    pub year: Option<u16>,
    /// Address of the publication; `None` if unknown.
    pub url: Option<String>,
    /// Respects in which the experiment differs from the publication, as phrases. Empty in records
    /// of earlier versions.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// Results of the arms of one group, which are measured in interleaved rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Name of the group.
    pub name: String,
    /// Description for people; `None` without one.
    pub description: Option<String>,
    /// Differences of the measured form from the full form of the file, as phrases: rounds, loads,
    /// warm-ups, settings of a search, and limits that could not be set.
    pub changed: Vec<String>,
    /// Arms, in the order of the experiment's file.
    pub arms: Vec<ArmRecord>,
    /// Results, with a record for the arms of each scenario, load and warm-up. A target of such a record has
    /// the name of its arm. A load without any measured round has no record. Empty in a group that
    /// searches for capacities.
    pub runs: Vec<RunRecord>,
    /// Result of the search for the arms' capacities, in a group that searches for them; `None` in
    /// other groups, and in records of earlier versions.
    #[serde(default)]
    pub capacity: Option<CapacityRecord>,
    /// How each target scales of which at least three arms differ only in their replicas or server
    /// workers. Empty in records of earlier versions.
    #[serde(default)]
    pub scaling: Vec<ScalingRecord>,
    /// Differences between the arms, observed or by declaration of the targets.
    pub differences: Vec<DifferenceRecord>,
}

/// A difference between the arms of a group, which a reader must know before comparing the arms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceRecord {
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// The difference, as a sentence that names the arms.
    pub what: String,
}

/// Kind of a difference between arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// Scenario, load or warm-up.
    Load,
    /// Number of worker processes of the target.
    ServerWorkers,
    /// Limits of the containers.
    Limits,
    /// Number of worker processes compared with the number of CPUs.
    Cpus,
    /// Software, as the targets' manifest declares it: framework, server, clients, parsers.
    Software,
    /// Size of the answers.
    AnswerSize,
    /// Keys of the answers' JSON objects.
    AnswerKeys,
}

/// An arm: a target under one load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// Name of the arm, unique in its group.
    pub name: String,
    /// Name of the target.
    pub target: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Load in words, such as `closed model, 100 users, 200 iterations per user`.
    pub load: String,
    /// Published figures of this arm.
    pub published: Vec<PublishedRecord>,
    /// Reason why the arm was left out, with advice: a program that its target requires is missing;
    /// `None` for an arm that was to be measured.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// A published figure, beside the figure that this experiment measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedRecord {
    /// Name of the metric, as in the experiment's file.
    pub metric: String,
    /// Unit of the figures: `ms`, `/s`, or `%`.
    pub unit: String,
    /// Machine of the publication; `None` if unknown.
    pub machine: Option<String>,
    /// Published figure.
    pub published: f64,
    /// Mean of the figure over whole rounds (rounds that ran as planned); `None` without such a
    /// round, or without the figure in one of them.
    pub measured: Option<f64>,
    /// Best figure of a whole round, if the publication shows the best of several runs; otherwise
    /// `None`.
    pub best_round: Option<f64>,
}

/// Finding about a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// Sentence for people: that of the experiment's file, or one made of the statement.
    pub says: String,
    /// Name of the group.
    pub group: String,
    /// Name of the metric, as in the experiment's file.
    pub metric: String,
    /// The finding.
    pub finding: Finding,
    /// Figures behind the finding: one for each ratio or value that the claim depends on.
    pub evidence: Vec<EvidenceRecord>,
    /// Published figure of the claim; `None` without one.
    pub published: Option<f64>,
    /// Reason why the claim could not be shown, for people; `None` for the other findings.
    pub why: Option<String>,
    /// Number of further rounds that would settle the claim, if the noise and the figures stay as
    /// measured; `None` if the claim is settled, or if the number is unknown.
    pub more_rounds: Option<u32>,
}

/// Finding about a claim. A finding other than `CouldNotBeShown` has a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The measurement confirms the claim.
    Held,
    /// The measurement refutes the claim.
    DidNotHold,
    /// The measurement neither confirms nor refutes the claim.
    CouldNotBeShown,
}

/// A figure behind a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// Names of the arms: one arm for a value, or two arms for the ratio of the first arm's figure
    /// to the second arm's figure.
    pub arms: Vec<String>,
    /// Value in the metric's unit, or ratio; the mean over rounds, which is the geometric mean for
    /// a ratio. `None` without a round that all the arms have.
    pub figure: Option<f64>,
    /// 95 % confidence interval of `figure`; `None` for fewer than five rounds.
    pub confidence_95: Option<[f64; 2]>,
    /// Number of whole rounds (rounds that ran as planned) that all the arms have.
    pub rounds: u32,
}
