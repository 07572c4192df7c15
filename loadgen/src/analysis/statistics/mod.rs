//! What can be said of figures that were measured in rounds.
//!
//! All of it is on the scale of logarithms: rates and latencies are never negative, their noise is
//! in proportion to them, and a difference of logarithms is a ratio, whichever way round it is
//! taken. The method follows Georges, Buytaert and Eeckhout, "Statistically Rigorous Java
//! Performance Evaluation" (2007), and Kalibera and Jones, "Rigorous Benchmarking in Reasonable
//! Time" (2013): the round, not the request, is what is repeated independently.

mod holm;
mod power;
mod sample;
#[cfg(test)]
mod simulations;

pub use holm::holm;
pub use power::rounds_needed;
pub use sample::Sample;

/// The share of false claims that is accepted, and what an interval leaves out: 5 %.
pub const LEVEL: f64 = 0.05;
