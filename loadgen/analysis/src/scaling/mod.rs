//! Fits scaling curves to throughput X that was measured at several sizes N, such as numbers of
//! replicas or worker processes, in several rounds.
//!
//! # The laws
//!
//! - Amdahl's law (G. M. Amdahl, "Validity of the single processor approach to achieving large
//!   scale computing capabilities", AFIPS 1967): X(N) = λN / (1 + σ(N − 1)), where σ is the serial
//!   share of the work.
//! - The Universal Scalability Law, USL (N. J. Gunther, *Guerrilla Capacity Planning*, 2007):
//!   X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), where σ is contention and κ is crosstalk, the cost of
//!   keeping each pair consistent. Throughput is greatest at N = √((1 − σ)/κ).
//!
//! In both laws 0 ≤ σ ≤ 1, and κ ≥ 0.
//!
//! # The fit
//!
//! N/X is linear in 1/λ, σ/λ and κ/λ. The errors of X are in proportion to X, and those of N/X in
//! proportion to N/X, so least squares on N/X would let the sizes of the least throughput per replica
//! decide. The fit therefore takes the logarithms of both sides,
//! ln X = ln λ + ln N − ln(1 + σ(N − 1) + κN(N − 1)), and minimizes the squares of their differences
//! (R. J. Carroll and D. Ruppert, "Power Transformations When Fitting Theoretical
//! Models to Data", JASA 79, 1984). Each round has a λ of its own, so that a round on a slow machine
//! changes neither σ nor κ. The logarithms of these λ are linear parameters and drop out of the
//! minimization (G. H. Golub and V. Pereyra, "The Differentiation of Pseudo-Inverses and Nonlinear
//! Least Squares Problems Whose Variables Separate", SIAM J. Numer. Anal. 10, 1973): only σ and κ
//! are searched for. A coefficient that leaves its range is fixed at the bound, and the other one
//! is fitted again.
//!
//! # The intervals
//!
//! The independent unit of repetition is the round, as in [`crate::statistics`]. One
//! Gauss–Newton step from the common fit gives the coefficients of each round, and Student's t over
//! rounds gives the 95 % confidence intervals. This method needs no assumption about the noise
//! within a round, which may differ between sizes and depend on the noise of other sizes. The method
//! remains valid if some rounds are noisier than others (R. Ibragimov and U. K. Müller, "t-Statistic
//! Based Correlation and Heterogeneity Robust Inference", J. Bus. Econ. Stat. 28, 2010). A variance
//! pooled over all rates would have more degrees of freedom and give narrower intervals, but on a
//! simulated machine that drifts within each round (eight sizes, five rounds), these intervals
//! contained the true σ of Amdahl's law in only 65 % of the sets.
//!
//! The interval of the peak, which is a ratio, is Fieller's (E. C. Fieller, "Some Problems in
//! Interval Estimation", J. R. Stat. Soc. B 16, 1954). `simulations.rs` checks how often the
//! intervals contain the truth.
//!
//! The step ignores the bounds, and can lead to a negative coefficient although the estimate is 0.
//! An interval reaches as far from the estimate as from the result of the step, and ends at the
//! bounds: at the bound 0 it is [0, upper], and never empty.
//!
//! # Limits
//!
//! The intervals assume that the law holds. [`Amdahl::lack_of_fit`](crate::record::Amdahl::lack_of_fit) and [`Usl::lack_of_fit`](crate::record::Usl::lack_of_fit) tell
//! whether the measured rates contradict the law. Amdahl's law counts crosstalk as serial work, so
//! the interval of [`Amdahl::serial`](crate::record::Amdahl::serial) is too narrow for a target whose crosstalk is too small to be
//! shown by the rounds. A target that becomes faster or slower in the course of each round needs a
//! new random order of the sizes in each round.

mod estimate;
mod law;
mod least_squares;
mod models;
mod rounds;
#[cfg(test)]
mod simulations;
#[cfg(test)]
mod tests;
mod words;

use rounds::Rounds;
pub use words::{Unit, sentence};

use crate::record::Scaling;

/// Least number of distinct sizes for Amdahl's law: one more than its coefficients λ and σ, because
/// the law passes through any two rates, whether the target follows it or not.
pub const FEWEST_SIZES_AMDAHL: usize = 3;

/// Least number of distinct sizes for the USL: one more than its coefficients λ, σ and κ.
pub const FEWEST_SIZES_USL: usize = 4;

/// One measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Number of replicas or worker processes, at least 1.
    pub size: u32,
    /// Number of the round. A round measures the sizes soon after each other, so that a change of
    /// the machine's speed affects all of them.
    pub round: u32,
    /// Rate in requests/s, or in any other unit.
    pub rate: f64,
}

/// Reason why no law can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CannotFit {
    /// A size is 0.
    #[error("round {0} has a rate at size 0: sizes start at 1")]
    SizeZero(u32),
    /// A rate is not a finite number above 0, and has no logarithm.
    #[error("size {} has a rate of {} in round {}: the fit needs finite rates above 0", .0.size, .0.rate, .0.round)]
    Rate(Observation),
    /// No round measured two sizes, so that nothing separates the size from the round.
    #[error("no round has rates at two sizes: measure every size in every round")]
    OneSizePerRound,
    /// There are fewer than three distinct sizes.
    #[error(
        "rates at {0} distinct sizes fit any scaling law: measure at least {FEWEST_SIZES_AMDAHL}"
    )]
    TooFewSizes(usize),
    /// The search for the coefficients found none that are finite.
    #[error("the rates differ so much between sizes that no scaling law describes them")]
    Undetermined,
}

/// Fits both laws to these observations, in any order. Several rates of one size in one round count
/// as one: their geometric mean. Rounds that measured a single size are left out.
///
/// A single round gives coefficients without intervals. Fewer than four distinct sizes give no USL.
///
/// # Errors
///
/// Returns an error if a size is 0, if a rate is not a finite number above 0, for fewer than three
/// distinct sizes in rounds that measured two or more, or if the rates determine no finite
/// coefficients.
pub fn fit(observations: &[Observation]) -> Result<Scaling, CannotFit> {
    let rounds = Rounds::of(observations)?;
    Scaling::of(&rounds).ok_or(CannotFit::Undetermined)
}
