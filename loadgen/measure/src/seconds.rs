//! Entries of the record of a run for each second of a round.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::latencies::Latencies;

/// Results of one second of a round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondRecord {
    /// Number of the second, in s from the end of the warm-up.
    pub second: u32,
    /// Expected responses that ended in the second.
    pub answered: u64,
    /// Requests that failed in the second.
    pub errors: u64,
    /// Median latency of the expected responses; `None` with too few samples.
    pub p50_us: Option<u64>,
    /// 99th percentile of the latency of the expected responses; `None` with too few samples.
    pub p99_us: Option<u64>,
}

/// Results of one step for each second of a round. Each list has one value per second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSeconds {
    /// Expected responses that ended in each second.
    pub answered: Vec<u64>,
    /// Requests that failed in each second.
    pub errors: Vec<u64>,
    /// Median latency of the expected responses in each second; an element is `null` if its samples
    /// are too few.
    pub p50_us: Vec<Option<u64>>,
    /// 99th percentile of the latency in each second; an element is `null` if its samples are too
    /// few.
    pub p99_us: Vec<Option<u64>>,
}

/// Results of one second: of all steps together, and of each step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Results of all steps together.
    pub all: SecondRecord,
    /// Results of each step, in the order of the scenario.
    pub steps: Vec<SecondRecord>,
}

impl Told {
    /// Computes the results of a second from the counts of each step.
    #[must_use]
    pub fn of(second: u32, steps: &[Counts]) -> Self {
        let each = steps.iter().map(|step| SecondRecord::of(second, std::slice::from_ref(step)));
        Self { all: SecondRecord::of(second, steps), steps: each.collect() }
    }

    /// Adds the results of requests that were reported late. A known percentile stays unchanged; a
    /// percentile that is `None` is taken from `late`.
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
    /// Computes the results of one second from all these counts together.
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
    /// Appends the results of a second; `None` means that no request ended in the second.
    pub fn push(&mut self, second: Option<&SecondRecord>) {
        self.answered.push(second.map_or(0, |it| it.answered));
        self.errors.push(second.map_or(0, |it| it.errors));
        self.p50_us.push(second.and_then(|it| it.p50_us));
        self.p99_us.push(second.and_then(|it| it.p99_us));
    }

    /// Returns the results at `index` of each list, as results of `second`. Returns zeros and
    /// `None` past the end of the lists.
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
