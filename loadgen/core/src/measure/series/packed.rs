//! Holds counts in little memory.

use super::merge_steps;
use crate::measure::counts::Counts;

/// The counts of an interval, by step, in little memory. Equal counts have equal packed forms.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Packed {
    /// MessagePack, with histograms in the V2 encoding, which skips runs of zero counts.
    Bytes(Box<[u8]>),
    /// Counts that can't be encoded. A histogram's bucket holds up to 2^64 - 1 requests, the
    /// encoding up to 2^63 - 1: no server answers as many, but a worker's snapshots may claim so.
    Steps(Vec<Counts>),
}

impl Packed {
    /// Packs the counts of an interval.
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

    /// Adds `more`, step by step.
    pub(super) fn merge(&mut self, more: &[Counts]) {
        let mut steps = self.unpack();
        merge_steps(&mut steps, more);
        *self = Self::new(&steps);
    }
}
