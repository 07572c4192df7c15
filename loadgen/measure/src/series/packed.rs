//! Stores counts serialized, to save memory.

use serde::{Deserialize, Serialize};

use super::merge_steps;
use crate::counts::Counts;

/// Counts of an interval, by step, serialized to save memory. Equal counts have equal packed forms.
///
/// Serialized as the counts, so that bytes from a file are checked before [`Packed::unpack`] relies on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Counts>", into = "Vec<Counts>")]
pub(super) enum Packed {
    /// Counts in MessagePack. Histograms use HdrHistogram's V2 encoding, which skips runs of zero
    /// counts.
    Bytes(Box<[u8]>),
    /// Counts that cannot be encoded. A histogram's bucket can count up to 2^64 - 1 requests, but
    /// the encoding only up to 2^63 - 1. No server answers that many requests, but a worker's
    /// snapshot may claim so.
    Steps(Vec<Counts>),
}

impl From<Vec<Counts>> for Packed {
    fn from(steps: Vec<Counts>) -> Self {
        Self::new(&steps)
    }
}

impl From<Packed> for Vec<Counts> {
    fn from(packed: Packed) -> Self {
        packed.unpack()
    }
}

impl Packed {
    /// Serializes the counts of an interval.
    pub(super) fn new(steps: &[Counts]) -> Self {
        match rmp_serde::to_vec(steps) {
            Ok(bytes) => Self::Bytes(bytes.into_boxed_slice()),
            Err(_) => Self::Steps(steps.to_vec()),
        }
    }

    /// Returns the counts that were packed.
    pub(super) fn unpack(&self) -> Vec<Counts> {
        match self {
            #[expect(clippy::expect_used, reason = "`new` wrote these bytes, and nobody else")]
            Self::Bytes(bytes) => rmp_serde::from_slice(bytes).expect("our own encoding"),
            Self::Steps(steps) => steps.clone(),
        }
    }

    /// Adds the counts in `more`, step by step.
    pub(super) fn merge(&mut self, more: &[Counts]) {
        let mut steps = self.unpack();
        merge_steps(&mut steps, more);
        *self = Self::new(&steps);
    }
}
