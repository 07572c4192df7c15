//! Searches for the highest rate that passes its trial. The search is pure: the caller runs the
//! trials, and tests can replace trials by any function.
//!
//! While trials pass, the search steps up from its start; while trials fail, down. Once the search
//! has a rate that passed and a rate that failed, the search halves the interval between the two
//! rates. All of the computation is on the scale of logarithms, so that steps are factors and the
//! precision is relative.

use crate::record::{Bound, Capacity, CapacityRound};

/// Result of a trial at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialResult {
    /// All criteria held.
    Passed,
    /// Some criterion failed.
    Failed,
    /// Some criterion failed, but the generator, a backend or the network may be the reason.
    Limited,
}

/// Range and precision of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchRange {
    /// Lowest rate that can be judged, in requests/s; greater than 0.
    pub lowest_per_s: f64,
    /// Highest rate to try, in requests/s.
    pub highest_per_s: f64,
    /// Precision at which the search ends, as a share of the rate, such as 0.05; greater than 0.
    /// The lowest rate that failed then exceeds the highest rate that passed by at most this share.
    pub precision: f64,
}

/// Greatest factor between the rates of two successive trials. A load of more than twice the load
/// that a target carries gives no further information, and leaves the target with a long backlog.
const WIDEST: f64 = 2.0;

/// A search in progress. Fields hold natural logarithms of rates in requests/s.
#[derive(Debug, Clone)]
pub struct Search {
    /// Lowest and highest rate to try.
    ends: [f64; 2],
    precision: f64,
    /// Natural logarithm of the factor by which the search next steps up or down.
    step: f64,
    next: f64,
    /// Logarithm of the highest rate that passed; `None` if no rate has passed.
    passed: Option<f64>,
    /// Logarithm of the lowest rate that did not pass, and its judgement; `None` if no rate has
    /// failed.
    failed: Option<(f64, TrialResult)>,
    /// Result of a rate that failed once and that the search tries again before accepting the
    /// failure; otherwise `None`.
    doubted: Option<TrialResult>,
    trials: u32,
}

impl Search {
    /// Returns a search without an earlier result, which starts at `start_per_s` requests/s and
    /// steps by factors of two. The first failure counts only if a second trial at the same rate
    /// fails too: otherwise, a single disturbance would exclude all higher rates.
    #[must_use]
    pub fn wide(start_per_s: f64, range: SearchRange) -> Self {
        Self::new(start_per_s, range, WIDEST.ln())
    }

    /// Returns a search that starts at `estimate_per_s` requests/s, an earlier result. The step
    /// from one rate to the next is small at first and doubles after each trial, up to a factor of
    /// two.
    #[must_use]
    pub fn near(estimate_per_s: f64, range: SearchRange) -> Self {
        Self::new(estimate_per_s, range, 2.0 * range.precision.ln_1p())
    }

    /// Returns the search of the next round. The search starts near the capacity, or its lower
    /// bound, that `rounds` found; otherwise, the search starts at `start_per_s` requests/s. The
    /// start is shifted by the precision times `chance`, a random number from -0.5 to 0.5. Without
    /// the shift, all rounds would try the same rates, and agree more closely than their knowledge
    /// allows.
    #[must_use]
    pub fn after(
        rounds: &[CapacityRound],
        start_per_s: f64,
        range: SearchRange,
        chance: f64,
    ) -> Self {
        let shift = (1.0 + range.precision).powf(chance);
        let known = Capacity::of(rounds);
        match (known.bound, known.rate_per_s) {
            (Bound::Found | Bound::AtLeast, Some(rate)) => Self::near(rate * shift, range),
            _ => Self::wide(start_per_s * shift, range),
        }
    }

    fn new(start_per_s: f64, range: SearchRange, step: f64) -> Self {
        let ends = [range.lowest_per_s.ln(), range.highest_per_s.ln()];
        Self {
            ends,
            precision: range.precision.ln_1p(),
            step: step.min(WIDEST.ln()),
            next: start_per_s.ln().max(ends[0]).min(ends[1]),
            passed: None,
            failed: None,
            doubted: None,
            trials: 0,
        }
    }

    /// Returns the next rate to try, in requests/s; `None` when the search is over.
    #[must_use]
    pub fn next_per_s(&self) -> Option<f64> {
        let over = match (self.passed, self.failed) {
            // Halving a width that has no exact half ends a little above the precision.
            (Some(passed), Some((failed, _))) => failed - passed <= self.precision * (1.0 + 1e-9),
            (Some(passed), None) => passed >= self.ends[1],
            (None, Some((failed, _))) => failed <= self.ends[0],
            (None, None) => false,
        };
        (!over).then(|| self.next.exp())
    }

    /// Records the judgement of the trial at [`Self::next_per_s`].
    pub fn judged(&mut self, judgement: TrialResult) {
        self.trials += 1;
        let doubtful = self.step >= WIDEST.ln() && self.failed.is_none();
        match judgement {
            TrialResult::Passed => self.passed = Some(self.next),
            failed if doubtful && self.doubted.is_none() => {
                self.doubted = Some(failed);
                return;
            }
            failed => self.failed = Some((self.next, failed)),
        }
        self.doubted = None;
        self.next = match (self.passed, self.failed) {
            (Some(passed), Some((failed, _))) => f64::midpoint(passed, failed),
            (Some(passed), None) => (passed + self.step).min(self.ends[1]),
            (None, failed) => (failed.map_or(self.next, |f| f.0) - self.step).max(self.ends[0]),
        };
        self.step = (2.0 * self.step).min(WIDEST.ln());
    }

    /// Returns the result of the search as round `number`; [`Bound::Unknown`] if the search has not
    /// ended. The capacity is the geometric mean of the highest rate that passed and the lowest
    /// rate that did not.
    #[must_use]
    pub fn found(&self, number: u32) -> CapacityRound {
        let bound = match (self.next_per_s(), self.passed, self.failed) {
            (Some(_), ..) => Bound::Unknown,
            (None, Some(_), Some((_, TrialResult::Limited)) | None) => Bound::AtLeast,
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
