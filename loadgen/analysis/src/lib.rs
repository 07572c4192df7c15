//! Turns records into findings and verdicts, by pure functions.
//!
//! - [`compare()`], [`RunsRecord::of`](crate::record::RunsRecord::of): find the better target, within
//!   a run and between runs, by [`statistics`].
//!   [`by_start`] reduces slices to starts, the unit of all of them.
//! - [`verdicts`], [`thresholds`]: the facts that a reader must know, and the bounds that had to
//!   hold.
//! - [`claims`]: whether published claims hold; [`unlike`]: what makes a comparison unfair;
//!   [`changed_limits`]: the limits of an experiment's file that were not in force.
//! - [`scaling`]: how throughput grows with replicas or server workers.
//! - [`attribute`]: which functions the CPU time of a request goes to, and what the threads wait for;
//!   [`explain_difference`]: those by which two targets differ.
//! - [`capacity`](Search): chooses the next rate that a search tries, and combines the results.

mod bottleneck;
mod capacity;
pub mod claims;
mod compare;
mod curves;
mod differences;
mod duet;
mod effective;
mod fairness;
mod figures;
mod gate;
pub mod history;
mod limits_in_force;
mod loss;
mod offered_rate;
mod over_rounds;
mod plateau;
mod precision;
mod probe;
mod profile;
pub mod record;
mod runs;
pub mod scaling;
mod slices;
mod starts;
pub mod statistics;
mod steady;
pub mod steps;
pub mod thresholds;
pub mod verdicts;
mod whole_seconds;

pub use capacity::{
    Criteria, Search, SearchRange, TrialResult, Tried, Uncertain, compare_capacities, curve, judge,
    knee, uncertain, wide_percent,
};
pub use compare::{ByPercentile, ByRound, Cell, compare, compare_in_one_start, compare_in_stages};
pub use curves::{Counted, curves, curves_of_run, grows_with_the_target};
pub use differences::{commits, differences, same_commits};
pub use duet::compare_duets;
pub use effective::effective_samples;
pub use fairness::{Compared, confounded, unlike};
pub use figures::{by_percentile, rates, requests_per_cpu_s, speeds};
pub use limits_in_force::{Ran, changed_limits, cpus, limits_in_force};
pub use offered_rate::OfferedRate;
pub use plateau::{Loaded, Plateau};
pub use precision::Needed;
pub use probe::probe_ratios;
pub use profile::{Profile, attribute, explain_difference};
pub use runs::{Comparable, NotComparable};
pub use slices::{MostVariance, most_variance, variation};
pub use starts::{by_start, starts};
