//! A round second by second, as the run record has it.

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::latencies::Latencies;

/// One second of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecondRecord {
    /// From the end of the warm-up.
    pub second: u32,
    /// Expected answers that ended in it.
    pub answered: u64,
    /// Requests that failed in it.
    pub errors: u64,
    /// The median latency of the expected answers, in µs.
    pub p50_us: Option<u64>,
    /// Their 99th percentile, in µs.
    pub p99_us: Option<u64>,
}

/// A step second by second: one figure for each of the round's seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepSeconds {
    /// Expected answers that ended in it.
    pub answered: Vec<u64>,
    /// Requests that failed in it.
    pub errors: Vec<u64>,
    /// The median latency of the expected answers, in µs.
    pub p50_us: Vec<Option<u64>>,
    /// Their 99th percentile, in µs.
    pub p99_us: Vec<Option<u64>>,
}

/// What is told of one second.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// All steps together.
    pub all: SecondRecord,
    /// Each step.
    pub steps: Vec<SecondRecord>,
}

impl Told {
    /// Of what happened in it, by step.
    #[must_use]
    pub fn of(second: u32, steps: &[Counts]) -> Self {
        let each = steps.iter().map(|step| SecondRecord::of(second, std::slice::from_ref(step)));
        Self { all: SecondRecord::of(second, steps), steps: each.collect() }
    }

    /// Adds what came afterwards: it is counted, but tells of percentiles only where there were none.
    pub fn add_late(&mut self, late: &Self) {
        self.all.add_late(&late.all);
        for (index, late) in late.steps.iter().enumerate() {
            match self.steps.get_mut(index) {
                Some(step) => step.add_late(late),
                None => self.steps.push(late.clone()),
            }
        }
    }
}

impl SecondRecord {
    /// Of all these together.
    fn of(second: u32, counts: &[Counts]) -> Self {
        let mut answered = Latencies::default();
        counts.iter().for_each(|counts| answered.merge(&counts.answered));
        Self {
            second,
            answered: answered.len(),
            errors: counts.iter().map(Counts::failures).fold(0, u64::saturating_add),
            p50_us: answered.quantile(0.5),
            p99_us: answered.quantile(0.99),
        }
    }

    fn add_late(&mut self, late: &Self) {
        self.answered = self.answered.saturating_add(late.answered);
        self.errors = self.errors.saturating_add(late.errors);
        self.p50_us = self.p50_us.or(late.p50_us);
        self.p99_us = self.p99_us.or(late.p99_us);
    }
}

impl StepSeconds {
    /// Adds a second; nothing happened where it is `None`.
    pub fn push(&mut self, second: Option<&SecondRecord>) {
        self.answered.push(second.map_or(0, |it| it.answered));
        self.errors.push(second.map_or(0, |it| it.errors));
        self.p50_us.push(second.and_then(|it| it.p50_us));
        self.p99_us.push(second.and_then(|it| it.p99_us));
    }

    /// The one at `index`, which is this `second`; nothing happened in it where there is none.
    #[must_use]
    pub fn at(&self, index: usize, second: u32) -> SecondRecord {
        SecondRecord {
            second,
            answered: self.answered.get(index).copied().unwrap_or(0),
            errors: self.errors.get(index).copied().unwrap_or(0),
            p50_us: self.p50_us.get(index).copied().flatten(),
            p99_us: self.p99_us.get(index).copied().flatten(),
        }
    }
}
