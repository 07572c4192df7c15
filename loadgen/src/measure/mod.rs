//! Measuring: from the end of one request to the record of a whole run.
//!
//! An [`Outcome`] goes into a [`Recorder`], which drains each second into a [`Snapshot`];
//! snapshots merge into a [`Series`], from which a [`Summary`] and the [`RunRecord`] are made.
//! Merging is associative and commutative, so it matters neither on how many threads, processes
//! or hosts a request ran, nor in which order their snapshots arrive. (Only the percentiles of a single
//! second leave out what comes more than a minute late.)

mod across;
mod body_sizes;
mod bottleneck;
mod capacity;
mod carried;
mod compare;
mod connections;
mod counts;
mod distribution;
mod figures;
mod latencies;
mod outcome;
mod over_rounds;
mod plateau;
mod proof;
mod record;
mod recorder;
mod resources;
mod rows;
mod seconds;
mod sent;
mod series;
mod statistics;
mod strain;
mod summary;
mod timeline;
mod trend;
mod verdict;

pub use across::{
    Absent, COMPARE_SCHEMA, Comparable, ComparedRun, ComparedTarget, NotComparable, Regression,
    RunsRecord, SentUnlike, Unlike,
};
pub use body_sizes::BodySizes;
pub use capacity::{
    Bound, CAPACITY_SCHEMA, Capacity, CapacityRecord, CapacityRound, CapacityTarget, CurvePoint,
    Judgement, Limits, Search, SearchRecord, TrialRecord, Tried, compare_capacities, curve, knee,
};
pub use carried::Asked;
pub use compare::{ByRound, Cell, Comparison, Lack, Pair, Placing, RankedBy, Test, compare};
pub use connections::{AddressRecord, Connections};
pub use counts::Counts;
pub use distribution::Distribution;
pub use figures::{rates, requests_per_cpu_s, speeds};
pub use latencies::Latencies;
pub use outcome::{Ending, ErrorKind, Outcome};
pub use over_rounds::{LatencyOverRounds, OverRounds};
pub use plateau::{Loaded, Plateau};
pub use proof::{Claimed, ProofRecord};
pub use record::*;
pub use recorder::Recorder;
pub use resources::{
    ContainerRecord, LimitsRecord, LinkRecord, MachineRecord, ResourceRecord, ResourceSamples,
};
pub use rows::{RowsRecord, RowsUsed, Used};
pub use seconds::{SecondRecord, StepSeconds, Told};
pub use sent::{SENT_FORM, SentRecord};
pub use series::{GrowingSeries, Interval, Series, Snapshot};
pub use statistics::FEWEST_ROUNDS;
pub use strain::{LATE, Pulse, Strain};
pub use summary::{LatencySummary, Summary};
pub use timeline::{Phase, Timeline};
pub use trend::Trend;
pub use verdict::{Verdict, VerdictKind};
