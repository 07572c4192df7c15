//! Measuring: from the end of one request to what happened in a round.
//!
//! An [`Outcome`] goes into a [`Recorder`], which drains each second into a [`Snapshot`];
//! snapshots merge into a [`Series`], from which each [`Summary`] is made.
//! Merging is associative and commutative, so it matters neither on how many threads, processes
//! or hosts a request ran, nor in which order their snapshots arrive. (Only the percentiles of a single
//! second leave out what comes more than a minute late.)

mod body_sizes;
mod connections;
mod counts;
mod latencies;
mod outcome;
mod recorder;
mod resources;
mod rows;
mod seconds;
mod series;
mod strain;
mod summary;
mod timeline;

pub use body_sizes::BodySizes;
pub use connections::{AddressRecord, Connections};
pub use counts::Counts;
pub use latencies::{Distribution, Latencies};
pub use outcome::{Ending, ErrorKind, Outcome};
pub use recorder::Recorder;
pub use resources::{ContainerRecord, LinkRecord, MachineRecord, ResourceRecord, ResourceSamples};
pub use rows::{RowsUsed, Used};
pub use seconds::{SecondRecord, StepSeconds, Told};
pub use series::{GrowingSeries, Interval, Series, Snapshot};
pub use strain::{LATE, Strain, StrainSample};
pub use summary::{LatencySummary, Summary};
pub use timeline::{Phase, Timeline};
