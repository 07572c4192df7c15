//! Holds how well the schedule of the open model was kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_measure::{LatencySummary, SendGaps};

/// How well the planned times of the open model were kept in a round: of the first request of each
/// iteration, in the hold. A gap is the time between two successive sends of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRecord {
    /// Gaps between planned sends.
    pub planned_gap_us: LatencySummary,
    /// Gaps between actual sends.
    pub sent_gap_us: LatencySummary,
    /// Distance between both distributions, from 0 to 1: at least this share of the gaps was longer
    /// or shorter than planned by more than a tolerance.
    pub gap_distance: f64,
    /// Most requests that one process planned to send within 1 ms.
    pub planned_clump: u64,
    /// Most requests that one process sent within 1 ms.
    pub clump: u64,
}

impl ScheduleRecord {
    /// Summarizes the gaps; `None` without gaps, as in the closed model.
    #[must_use]
    pub fn of(gaps: &SendGaps) -> Option<Self> {
        Some(Self {
            gap_distance: gaps.distance()?,
            planned_gap_us: LatencySummary::from(&gaps.planned),
            sent_gap_us: LatencySummary::from(&gaps.sent),
            planned_clump: gaps.planned_clump,
            clump: gaps.clump,
        })
    }
}
