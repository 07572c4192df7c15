//! The search for the highest rate that passes: pure, so that it can be held against any function.
//!
//! From where it starts it steps up while trials pass, or down while they fail, until it has one of
//! each; then it halves what lies between them. All of it is on the scale of logarithms, so that
//! steps are factors and the precision is relative.

use crate::record::{Bound, Capacity, CapacityRound};

/// How a trial at a rate went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// All that is asked for held.
    Passed,
    /// It did not.
    Failed,
    /// It did not, but the generator may have been why.
    Limited,
}

/// Between which rates is searched, and how precisely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The lowest rate that can be judged, in requests per second; greater than 0.
    pub lowest_per_s: f64,
    /// The highest rate that is tried.
    pub highest_per_s: f64,
    /// How far apart, as a share of the lower, the highest rate that passed and the lowest that did
    /// not may be at the end, such as 0.05; greater than 0.
    pub precision: f64,
}

/// The factor by which a rate grows, at the most, from one trial to the next: overload of more than
/// twice what a target carries tells nothing, and leaves it with work for long.
const WIDEST: f64 = 2.0;

/// A search under way. Rates are natural logarithms.
#[derive(Debug, Clone)]
pub struct Search {
    limits: [f64; 2],
    precision: f64,
    /// What the next step multiplies the rate by.
    step: f64,
    next: f64,
    /// The highest rate that passed.
    passed: Option<f64>,
    /// The lowest that did not, and how.
    failed: Option<(f64, Judgement)>,
    /// How a rate failed that is tried again before that is believed.
    doubted: Option<Judgement>,
    trials: u32,
}

impl Search {
    /// A search that knows nothing yet. It takes steps of two; that a step fails is believed only
    /// when it fails again, because one disturbance would leave all rates above it untried.
    #[must_use]
    pub fn wide(start_per_s: f64, limits: Limits) -> Self {
        Self::new(start_per_s, limits, WIDEST.ln())
    }

    /// A search that begins near an earlier result, with a small step that grows.
    #[must_use]
    pub fn near(estimate_per_s: f64, limits: Limits) -> Self {
        Self::new(estimate_per_s, limits, 2.0 * limits.precision.ln_1p())
    }

    /// The search of the round after these: near what they found, or from `start_per_s`. The first
    /// rate is shifted by `chance`, a number from -0.5 to 0.5, times the precision: otherwise all
    /// rounds would try the same rates, and agree more closely than they can know.
    #[must_use]
    pub fn after(rounds: &[CapacityRound], start_per_s: f64, limits: Limits, chance: f64) -> Self {
        let shift = (1.0 + limits.precision).powf(chance);
        let known = Capacity::of(rounds);
        match (known.bound, known.rate_per_s) {
            (Bound::Found | Bound::AtLeast, Some(rate)) => Self::near(rate * shift, limits),
            _ => Self::wide(start_per_s * shift, limits),
        }
    }

    fn new(start_per_s: f64, limits: Limits, step: f64) -> Self {
        let ends = [limits.lowest_per_s.ln(), limits.highest_per_s.ln()];
        Self {
            limits: ends,
            precision: limits.precision.ln_1p(),
            step: step.min(WIDEST.ln()),
            next: start_per_s.ln().max(ends[0]).min(ends[1]),
            passed: None,
            failed: None,
            doubted: None,
            trials: 0,
        }
    }

    /// The rate to try next, in requests per second; `None` when the search is over.
    #[must_use]
    pub fn next_per_s(&self) -> Option<f64> {
        let over = match (self.passed, self.failed) {
            // Halves of a width that has no exact one end a little above it.
            (Some(passed), Some((failed, _))) => failed - passed <= self.precision * (1.0 + 1e-9),
            (Some(passed), None) => passed >= self.limits[1],
            (None, Some((failed, _))) => failed <= self.limits[0],
            (None, None) => false,
        };
        (!over).then(|| self.next.exp())
    }

    /// Takes in how the trial at [`Self::next_per_s`] went.
    pub fn judged(&mut self, judgement: Judgement) {
        self.trials += 1;
        let doubtful = self.step >= WIDEST.ln() && self.failed.is_none();
        match judgement {
            Judgement::Passed => self.passed = Some(self.next),
            failed if doubtful && self.doubted.is_none() => {
                self.doubted = Some(failed);
                return;
            }
            failed => self.failed = Some((self.next, failed)),
        }
        self.doubted = None;
        self.next = match (self.passed, self.failed) {
            (Some(passed), Some((failed, _))) => f64::midpoint(passed, failed),
            (Some(passed), None) => (passed + self.step).min(self.limits[1]),
            (None, failed) => (failed.map_or(self.next, |f| f.0) - self.step).max(self.limits[0]),
        };
        self.step = (2.0 * self.step).min(WIDEST.ln());
    }

    /// What is known by now, as the result of round `number`. The capacity is the middle, on the
    /// scale of logarithms, between the highest rate that passed and the lowest that did not.
    #[must_use]
    pub fn found(&self, number: u32) -> CapacityRound {
        let bound = match (self.next_per_s(), self.passed, self.failed) {
            (Some(_), ..) => Bound::Unknown,
            (None, Some(_), Some((_, Judgement::Limited)) | None) => Bound::AtLeast,
            (None, Some(_), Some(_)) => Bound::Found,
            (None, None, _) => Bound::Below,
        };
        let middle = self
            .passed
            .zip(self.failed)
            .map(|(passed, (failed, _))| f64::midpoint(passed, failed).exp());
        CapacityRound {
            round: number,
            bound,
            capacity_per_s: middle.filter(|_| bound == Bound::Found),
            passed_per_s: self.passed.map(f64::exp),
            failed_per_s: self.failed.map(|(failed, _)| failed.exp()),
            trials: self.trials,
        }
    }
}

#[cfg(test)]
mod tests;
