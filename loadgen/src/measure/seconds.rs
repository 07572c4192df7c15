//! A round second by second, as the run record has it.

use serde::{Deserialize, Serialize};

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
