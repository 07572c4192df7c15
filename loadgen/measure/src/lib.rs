//! Measures requests: turns the end of each request into the results of a round.
//!
//! An [`Outcome`] goes into a [`Recorder`], which drains each second into a [`Snapshot`].
//! Snapshots merge into a [`Series`], from which each [`Summary`] is made. Merging is associative
//! and commutative, so results depend neither on the number of threads, processes or hosts nor on
//! the order in which snapshots arrive. (Only the percentiles of a single second omit what arrives
//! more than a minute late.)

mod body_sizes;
mod connections;
mod counts;
mod handshake;
mod held_up;
mod latencies;
mod lock;
mod outcome;
mod postgres;
mod recorder;
mod resources;
mod rows;
mod seconds;
mod send_gaps;
mod series;
mod stacks;
mod strain;
mod streams;
mod summary;
mod timeline;
mod traces;

pub use body_sizes::BodySizes;
pub use connections::{AddressRecord, Connections};
pub use counts::Counts;
pub use handshake::Handshake;
pub use held_up::HeldUp;
pub use latencies::{Distribution, Latencies};
pub use outcome::{Ending, ErrorKind, Outcome, StreamTimes};
pub use postgres::PostgresActivity;
pub use recorder::Recorder;
pub use resources::{
    BALANCER, ContainerRecord, IDLE_TARGETS, LinkRecord, MachineRecord, PARTNER, PROBE, PodsRecord,
    PresentUsage, ResourceRecord, ResourceSamples, is_behind_target,
};
pub use rows::{RowsUsed, Used};
pub use seconds::{SecondRecord, StepSeconds, Told};
pub use send_gaps::{CLUMP, SendGaps, SendGapsMeter};
pub use series::{GrowingSeries, Interval, Series, Snapshot};
pub use stacks::{Doing, Process, Stacks, Threads};
pub use strain::{LATE, Strain, StrainSample};
pub use streams::StreamCounts;
pub use summary::{LatencySummary, StreamSummary, Summary};
pub use timeline::{Phase, Timeline};
pub use traces::{TraceContext, TracedEnd, TracedRequest, Traces};
