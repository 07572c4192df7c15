//! Puts saved results in order: what each target's figures were over time, which of them can be compared, and when
//! a figure changed.
//!
//! - `entry`: what the history keeps of one result. `lines`: the results that can be compared.

mod entry;
mod lines;

pub use entry::{Entry, Figure, Kind, MeasuredTarget, Metric};
pub use lines::{Change, FEWEST, History, Line, TargetHistory};
