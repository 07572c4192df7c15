//! Holds the documents that are saved and printed, as plain data. `experiment` writes the
//! documents; `analysis` and `report` read them. Field names carry their unit.
//!
//! Each field is declared here alone: its JSON Schema (`loadgen schema --document`) and its row in
//! `docs/reference/result-document.md` (`make reference`) follow from its name, its type and its
//! comment. The last clause of the comment says when the field is `None`.

mod account;
mod backend_alone;
mod bottleneck;
mod capacity;
mod comparison;
mod connections;
mod degraded;
mod duet;
mod environment;
mod experiment;
mod flow;
mod gate;
mod git;
mod json;
mod load;
mod occupancy;
mod over_rounds;
mod percentile;
mod precision;
mod probe;
mod profile;
mod proof;
mod resumed;
mod round;
mod run;
mod runs;
mod saved_as;
mod scaling;
mod schedule;
mod schema;
mod sent;
mod slices;
mod stage;
mod system;
mod target;
mod telemetry;
mod threshold;
mod verdict;

pub use account::AccountRecord;
pub use backend_alone::BackendAloneRecord;
pub use bottleneck::Bottleneck;
pub use capacity::{
    Bound, Capacity, CapacityRecord, CapacityRound, CapacityTarget, CurvePoint, SearchRecord,
    TrialRecord,
};
pub use comparison::{Comparison, FEWEST_ROUNDS, Lack, LatencyPair, Pair, Placing, RankedBy, Test};
pub use connections::ConnectionsRecord;
pub use degraded::{Degraded, LossRecord};
pub use duet::{DuetPair, DuetRecord, NoRates, PartnerRecord};
pub use environment::{Environment, FilesystemRecord, LimitsRecord};
pub use experiment::{
    ArmRecord, ClaimRecord, DifferenceKind, DifferenceRecord, EvidenceRecord, ExperimentRecord,
    Finding, GroupRecord, PublishedRecord, SourceRecord,
};
pub use flow::FlowRecord;
pub use gate::{GateRecord, JudgedTarget, Judgement, LossOf};
pub use git::GitRecord;
pub use json::json;
pub use load::{LoadChangeRecord, LoadRecord, StageRecord};
pub use occupancy::{OccupancyRecord, PoolRecord, WaitRecord};
pub use over_rounds::{LatencyOverRounds, OverRounds, ShareOverRounds, StepOverRounds};
pub use percentile::Percentile;
pub use precision::PrecisionRecord;
pub use probe::{ProbeRatio, ProbeRecord};
pub use profile::{
    CostRecord, FunctionDifference, FunctionRecord, PackageRecord, ProfileDifference, ProfileRecord,
};
pub use proof::{ExpectedContentRecord, ProofRecord};
pub use resumed::ResumedRecord;
pub use round::{
    HeldUpRecord, ReceivedRecord, ReplicaRecord, RoundRecord, RowsRecord, WorkerRecord,
};
pub use run::{Calibration, FROM_URL, NoiseFloor, RunRecord, StoppedEarly};
pub use runs::{
    Absent, COMPARE_SCHEMA, ComparedRun, ComparedTarget, RunsRecord, SentUnlike, Unlike,
};
pub use saved_as::SavedAs;
pub use scaling::{Amdahl, Estimate, Law, Scaling, ScalingRecord, Speedup, Usl};
pub use schedule::ScheduleRecord;
pub use schema::{document_schema, json_schema};
pub use sent::{SENT_FORM, SentRecord};
pub use slices::{SliceRecord, SlicesPair, SlicesRecord};
pub use stage::StageResult;
pub use system::{SharedCoreRecord, SystemRecord};
pub use target::{ServerRecord, ServerSize, TargetRecord};
pub use telemetry::{SlowRequest, SpansRecord, TelemetryRecord};
pub use threshold::{FailedBy, ThresholdRecord};
pub use verdict::{Verdict, VerdictKind};
