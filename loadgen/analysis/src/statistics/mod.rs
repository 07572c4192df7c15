//! Provides the statistics of figures that were measured in rounds.
//!
//! All computations are on the scale of logarithms: rates and latencies are never negative, their
//! noise is in proportion to them, and a difference of logarithms is a ratio, whichever of the two
//! figures comes first. The method follows Georges, Buytaert and Eeckhout, "Statistically Rigorous
//! Java Performance Evaluation" (2007), and Kalibera and Jones, "Rigorous Benchmarking in
//! Reasonable Time" (2013): the independent unit of repetition is the round, not the request. The
//! order of the targets is Williams' (1949).

mod holm;
mod order;
mod power;
mod sample;
mod share;
#[cfg(test)]
pub(crate) mod simulations;
mod stages;

pub use holm::{Family, holm, levels};
pub use order::order;
pub use power::{rounds_needed, rounds_to_exclude};
pub use sample::{Sample, mean_95};
pub use share::wilson_95;

/// Significance level: the accepted probability of claiming a difference that does not exist, 5 %.
/// Confidence intervals exclude the same share.
pub const LEVEL: f64 = 0.05;

/// Standard deviation over starts of the natural logarithm of a server's figure, such as its rate, that is assumed
/// where only one start is measured: a third more than the simulations of starts assume.
pub const OVER_STARTS: f64 = 0.02;
