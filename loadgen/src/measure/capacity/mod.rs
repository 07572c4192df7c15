//! How much a target carries: the search for the highest rate at which all that is asked for holds,
//! the curve of latency over throughput with its knee, and the record of both.

mod curve;
mod record;
mod search;

pub use curve::{CurvePoint, Tried, curve, knee};
pub use record::*;
pub use search::{Judgement, Limits, Search};
