//! Holds the facts that a reader must know before believing the figures.

use serde::{Deserialize, Serialize};

/// A fact that a reader must know before believing the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Kind of the fact, as an identifier that programs can match.
    pub kind: VerdictKind,
    /// Name of the target concerned; `None` if the verdict concerns the whole run.
    pub target: Option<String>,
    /// Description of the observation.
    pub message: String,
    /// Recommended action.
    pub advice: String,
}

impl Verdict {
    /// Returns the message, followed by the code of the verdict's kind in brackets.
    #[must_use]
    pub fn coded(&self) -> String {
        self.kind.coded(&self.message)
    }
}

impl VerdictKind {
    /// Returns `text`, followed by the code of this kind in brackets, such as `[target_ended]`.
    #[must_use]
    pub fn coded(self, text: &str) -> String {
        format!("{text} [{}]", self.as_ref())
    }

    /// Returns whether a verdict of this kind makes a run a failure, even if all thresholds hold.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::NothingAnswered | Self::TargetEnded | Self::WentSilent | Self::ProofFailed
        )
    }
}

/// Kind of a verdict. The code of a kind, in documents and in reports, is the kind's name in snake
/// case.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::AsRefStr, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VerdictKind {
    /// Some requests failed.
    Errors,
    /// No request was answered as expected.
    NothingAnswered,
    /// From some moment on, many requests failed.
    Collapsed,
    /// From some moment on, the target answered no request.
    WentSilent,
    /// Some requests had no answer by their timeout, or by the end of the drain after their round.
    Unanswered,
    /// The server closed connections before it processed requests on them, and many of these were sent again.
    Resent,
    /// A data file had too few rows, so that users without a row stopped.
    RowsRanOut,
    /// Final requests, which users send when the users stop, failed or were cut off.
    StopFailed,
    /// The generator (loadgen itself) was the bottleneck and determined the rate, so the target is
    /// not ranked.
    GeneratorBound,
    /// A backend was the bottleneck and determined the rate, so the target is not ranked.
    BackendBound,
    /// The network was the bottleneck and determined the rate, so the target is not ranked.
    NetworkBound,
    /// The generator (loadgen itself) was short of CPU, although not found to be the bottleneck.
    GeneratorBusy,
    /// The generator (loadgen itself) read streams late, so that times of events include its delays.
    SlowReader,
    /// Other programs used too much CPU time on the CPUs of the test.
    Disturbed,
    /// Targets that were up without load, in slices, used too much CPU time.
    IdleTargetsBusy,
    /// Another loadgen measured on the same machine at the same time.
    MeasuredTogether,
    /// The hypervisor gave the CPUs to other machines.
    Stolen,
    /// A CPU limit stopped a container, or loadgen and its processes, for part of the time.
    Throttled,
    /// Targets had different limits of CPU or memory.
    UnlikeLimits,
    /// Memory was swapped.
    Swapped,
    /// Parts of the test ran on hardware threads of the same cores.
    SharedCores,
    /// The frequency of the CPUs could vary with the load.
    FrequencyVaries,
    /// The kernel's clock is slow to read.
    SlowClock,
    /// The machine was busy before the run, and what other programs used during the run is unknown.
    BusyBefore,
    /// Processes of loadgen stood still for some time: they were stopped, suspended, or got no CPU.
    HeldUp,
    /// Users spent much of their time on something other than waiting for responses.
    LittlesLaw,
    /// More users got no more answers and only waited longer, although no CPU and no link was at
    /// its limit.
    UsersQueue,
    /// Requests of the open model were not sent, or were sent late.
    RateNotKept,
    /// Requests of the open model were sent closer together or further apart than planned.
    ScheduleNotKept,
    /// The closed model hid a stall: users waited while a server stalled, and the latencies do not
    /// show the stall.
    StallHidden,
    /// The latencies of the load differ from those of the probe, another client at the same time.
    ProbeDiffers,
    /// More connections were opened than the round had users.
    MoreConnections,
    /// Server and loadgen used another version of HTTP than the scenario requests.
    OtherVersion,
    /// The target wrote much to its log, which is a part of what was measured.
    MuchLogged,
    /// Some IP addresses of the server's host name got fewer connections than others.
    UnevenAddresses,
    /// A target gave answers of several sizes to a request that is always the same.
    AnswersVary,
    /// Targets gave answers of different sizes to the same request.
    AnswersDiffer,
    /// A worker had too little CPU or was delayed, so that its results include its own delays.
    SlowWorker,
    /// Some of a target's server workers did much less than others.
    UnequalWorkers,
    /// Some of a target's replicas sent fewer responses than others.
    UnequalReplicas,
    /// The replicas of a target sent more or fewer responses than loadgen received.
    ReplicasMiscounted,
    /// A process had nearly as many files open as its limit allows.
    OpenFiles,
    /// The rate or the CPU time per request changed during the measurement. Earlier versions called
    /// this verdict `drift`.
    #[serde(alias = "drift")]
    NotSteady,
    /// Targets had more server workers than cores.
    FewCores,
    /// PostgreSQL's data lay in memory, where `fsync` costs nothing.
    DataInMemory,
    /// Some percentiles are missing, because there were too few samples.
    TooFewSamples,
    /// A backend does not hold the content that the scenario requires.
    ProofFailed,
    /// A target or a backend ended by itself during the measurement.
    TargetEnded,
    /// The run was interrupted.
    Interrupted,
    /// A threshold failed and ended the run (`--fail-fast`).
    StoppedEarly,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_earlier_versions_can_be_read() {
        let kind: VerdictKind = serde_json::from_str("\"drift\"").unwrap();
        assert_eq!(kind, VerdictKind::NotSteady);
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"not_steady\"");
    }
}
