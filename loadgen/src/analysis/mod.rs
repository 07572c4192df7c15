//! Turns records into findings and verdicts, by pure functions.
//!
//! - [`compare`], [`RunsRecord::of`](crate::record::RunsRecord::of): which target is better, within a run and between
//!   runs, by [`statistics`].
//! - [`verdicts`], [`thresholds`]: what a reader must know, and what had to hold.
//! - [`capacity`](Search): which rate a search tries next, and what it found.

mod bottleneck;
mod capacity;
mod compare;
mod figures;
mod offered_rate;
mod over_rounds;
mod plateau;
mod runs;
pub mod statistics;
pub mod steps;
pub mod thresholds;
mod trend;
pub mod verdicts;

pub use capacity::{
    Criteria, Judgement, Limits, Search, Tried, compare_capacities, curve, judge, knee,
};
pub use compare::{ByRound, Cell, compare};
pub use figures::{rates, requests_per_cpu_s, speeds};
pub use offered_rate::OfferedRate;
pub use plateau::{Loaded, Plateau};
pub use runs::{Comparable, NotComparable};
pub use trend::Trend;
