//! Finds the load that a target carries: searches for the highest rate at which all criteria hold,
//! and computes the curve of latency over throughput with its knee.

mod criteria;
mod curve;
mod rounds;
mod search;
mod uncertain;

pub use criteria::{Criteria, judge};
pub use curve::{Tried, curve, knee};
pub use rounds::compare_capacities;
pub use search::{Search, SearchRange, TrialResult};
pub use uncertain::{Uncertain, uncertain, wide_percent};
