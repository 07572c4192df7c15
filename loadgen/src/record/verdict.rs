//! What must be known before figures are believed.

use serde::{Deserialize, Serialize};

/// Something that a reader must know before believing the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What it is about, in words that programs can match.
    pub kind: VerdictKind,
    /// The target that it concerns, if one.
    pub target: Option<String>,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

impl VerdictKind {
    /// Whether a run with such a verdict has failed, whatever its thresholds say.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::NothingAnswered | Self::WentSilent | Self::ProofFailed)
    }
}

/// What a verdict is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Some requests failed.
    Errors,
    /// Nothing was answered as expected.
    NothingAnswered,
    /// From some moment on nothing was answered any more.
    WentSilent,
    /// Some requests had no answer when the drain after their round was over, nor by their timeout.
    Unanswered,
    /// A file had too few rows, so that users stopped.
    RowsRanOut,
    /// What users send when they stop failed, or was cut off.
    StopFailed,
    /// The generator was the bottleneck: the rate is its own, and the target is not ranked.
    GeneratorBound,
    /// A backend was the bottleneck: the rate is its own, and the target is not ranked.
    BackendBound,
    /// The network was the bottleneck: the rate is its own, and the target is not ranked.
    NetworkBound,
    /// The generator was short of CPU too, beside the target.
    GeneratorBusy,
    /// Other programs used the CPUs that were measured on.
    Disturbed,
    /// The hypervisor gave the CPUs to other machines.
    Stolen,
    /// A limit on CPU time was reached.
    Throttled,
    /// Targets had different limits.
    UnlikeLimits,
    /// Memory was swapped.
    Swapped,
    /// Users spent much of their time otherwise than waiting for answers.
    LittlesLaw,
    /// More users only waited longer, though no CPU and no link was at its limit.
    UsersQueue,
    /// Requests of the open model could not be sent, or not when they should have been.
    RateNotKept,
    /// Users of the closed model waited while a server stalled: its latencies don't show that.
    StallHidden,
    /// More connections were opened than there were users.
    MoreConnections,
    /// Another version of HTTP was spoken than the scenario asks for.
    OtherVersion,
    /// Addresses of the server's name did not get as many connections as others.
    UnevenAddresses,
    /// To a request that is always the same, a target gave answers of several sizes.
    AnswersVary,
    /// Targets gave answers of different sizes to the same request.
    AnswersDiffer,
    /// A worker had too little CPU, or was held up: its results are not the server's alone.
    SlowWorker,
    /// Some of a target's server workers did much less than others.
    UnequalWorkers,
    /// A process had nearly as many files open as it may.
    OpenFiles,
    /// The rate rose or fell while it was measured.
    Drift,
    /// More server workers were asked for than the target has cores.
    FewCores,
    /// PostgreSQL's data lay in memory, where `fsync` costs nothing.
    DataInMemory,
    /// Too few samples for a percentile.
    TooFewSamples,
    /// A backend does not hold what the scenario says it must.
    ProofFailed,
    /// A target ended while it was measured.
    TargetEnded,
    /// The run was interrupted.
    Interrupted,
    /// A threshold failed and ended the run.
    StoppedEarly,
}
