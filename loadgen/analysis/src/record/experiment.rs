//! Holds the record of an experiment: the document that `loadgen experiment` saves and prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::CapacityRecord;
use super::run::RunRecord;
use super::saved_as::SavedAs;
use super::scaling::ScalingRecord;
use loadgen_scenario::experiment::Source;

/// The saved result of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentRecord {
    /// Name and version of the document's format: always `loadgen.experiment/1`.
    pub schema: String,
    /// Name of the experiment: its file without `.toml`.
    pub experiment: String,
    /// Title for people.
    pub title: String,
    /// Description for people; `None` if the file has none.
    pub description: Option<String>,
    /// Publication that the experiment repeats; `None` if the file has none.
    pub source: Option<SourceRecord>,
    /// Whether the quick form was measured.
    pub quick: bool,
    /// Start of the experiment.
    pub started: String,
    /// Command line, including the program.
    pub command: Vec<String>,
    /// Groups, in the order of the file.
    pub groups: Vec<GroupRecord>,
    /// Findings about the claims, in the order of the file.
    pub claims: Vec<ClaimRecord>,
    /// Whether the experiment was interrupted before its planned end. In a document that was saved
    /// while the experiment went on, `true`.
    pub interrupted: bool,
}

impl SavedAs for ExperimentRecord {
    const FILE: &str = "experiment.json";
    const SCHEMA: &str = "loadgen.experiment/1";
}

/// Publication that an experiment repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRecord {
    /// Title of the publication.
    pub title: String,
    /// Year of the publication; `None` if unknown.
    pub year: Option<u16>,
    /// Address of the publication; `None` if unknown.
    pub url: Option<String>,
    /// Respects in which the experiment differs from the publication; empty in documents of earlier
    /// versions.
    #[serde(default)]
    pub differs: Vec<String>,
}

impl From<&Source> for SourceRecord {
    fn from(source: &Source) -> Self {
        let Source { title, year, url, differs } = source.clone();
        Self { title, year, url, differs }
    }
}

/// Results of the arms of one group, which are measured in interleaved rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// Name of the group.
    pub name: String,
    /// Description for people; `None` if the file has none.
    pub description: Option<String>,
    /// Differences from the full form of the file: rounds, loads, warm-ups, settings of a search,
    /// and limits that were not in force.
    pub changed: Vec<String>,
    /// Arms, in the order of the file.
    pub arms: Vec<ArmRecord>,
    /// Results: a run for the arms of each scenario, load and warm-up. The rounds of all runs of a
    /// group are interleaved. A load without a measured round has no run. Empty in a group that
    /// searches for capacities.
    pub runs: Vec<RunRecord>,
    /// Capacity document of the group's search, in which a target has the name of its arm; `None`
    /// for a group of rounds, and in earlier versions.
    #[serde(default)]
    pub capacity: Option<CapacityRecord>,
    /// Scaling of each target of which at least three arms differ only in their replicas or server
    /// workers; empty in documents of earlier versions.
    #[serde(default)]
    pub scaling: Vec<ScalingRecord>,
    /// Differences between the arms, besides the results.
    pub differences: Vec<DifferenceRecord>,
}

/// A difference between the arms of a group, which a reader must know before comparing the arms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceRecord {
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// The difference, with the names of the arms.
    pub what: String,
}

/// Kind of a difference between arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// Scenario, load or warm-up.
    Load,
    /// Numbers of worker processes.
    ServerWorkers,
    /// Limits of the containers.
    Limits,
    /// More worker processes than CPUs.
    Cpus,
    /// Software that `targets.toml` declares.
    Software,
    /// Sizes of the responses' bodies.
    AnswerSize,
    /// Keys of the responses' JSON objects.
    AnswerKeys,
}

/// An arm: a target under one load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// Name of the arm.
    pub name: String,
    /// Name of the target, or of the server at `--url`.
    pub target: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Load in words.
    pub load: String,
    /// Published figures, each with ours.
    pub published: Vec<PublishedRecord>,
    /// Reason why the arm was left out: a program, a build or a load balancer that its target lacks;
    /// `None` if the arm was to be measured.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// A published figure, beside the figure that this experiment measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRecord {
    /// Name of the metric.
    pub metric: String,
    /// Unit of the three figures: `ms`, `/s`, `%`, `% of a core`, `µs` or `MB`.
    pub unit: String,
    /// Machine of the publication; `None` if unknown.
    pub machine: Option<String>,
    /// Published figure.
    pub published: f64,
    /// Arithmetic mean of our figure over whole rounds; `None` without a whole round, or if a
    /// whole round lacks the figure.
    pub measured: Option<f64>,
    /// Our best figure of a whole round; `None` unless the publication shows the best of several
    /// runs, or if `measured` is `null`.
    pub best_round: Option<f64>,
}

/// Finding about a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimRecord {
    /// Sentence of the file, or one made of the claim's statement.
    pub says: String,
    /// Name of the group.
    pub group: String,
    /// Name of the metric.
    pub metric: String,
    /// Lowest and highest figure that confirms the claim, in the unit of the figures of `evidence`; `null`
    /// for a side without a limit. `None` in documents of earlier versions.
    #[serde(default)]
    pub range: Option<[Option<f64>; 2]>,
    /// Finding, with a confidence of 95 %.
    pub finding: Finding,
    /// Figures behind the finding.
    pub evidence: Vec<EvidenceRecord>,
    /// Published ratio; `None` if the file has none.
    pub published: Option<f64>,
    /// Reason why the claim could not be shown; `None` if the claim held or did not hold.
    pub why: Option<String>,
    /// Further rounds that would show a difference as great as the measured one, with a probability
    /// of 90 %; `None` if the claim is settled, or if the number is unknown.
    pub more_rounds: Option<u32>,
}

/// Finding about a claim. A finding other than `CouldNotBeShown` has a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The measurement confirms the claim.
    Held,
    /// The measurement refutes the claim.
    DidNotHold,
    /// The measurement does neither.
    CouldNotBeShown,
}

/// A figure behind a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceRecord {
    /// One arm for a value, two arms for the ratio of the first to the second.
    pub arms: Vec<String>,
    /// Arithmetic mean of the values, in the unit of the metric (µs, /s, or a share), or geometric
    /// mean of the ratios, over rounds; `None` without a round that all the arms have.
    pub figure: Option<f64>,
    /// 95 % confidence interval of `figure`, by Student's t; `None` with fewer than five rounds.
    pub confidence_95: Option<[f64; 2]>,
    /// Whole rounds that all the arms have.
    pub rounds: u32,
}
