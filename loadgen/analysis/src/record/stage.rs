//! Holds the results of one stage of a staged load.

use serde::{Deserialize, Serialize};

use loadgen_measure::Summary;

/// Results of one stage of a load that changes in stages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// Number of the stage, counted from 1 in the load's list of stages.
    pub stage: u32,
    /// Planned users, or requests/s in the open model, at the beginning of the stage.
    pub from: f64,
    /// Planned users, or requests/s in the open model, at the end of the stage.
    pub to: f64,
    /// Planned beginning of the stage, in s from the end of the warm-up.
    pub begin_s: f64,
    /// Planned end of the stage, in s from the end of the warm-up.
    pub end_s: f64,
    /// Time of the stage that was measured, in s; all rounds together.
    pub held_s: f64,
    /// Results of the requests that ended in the stage, all steps together. Requests that the end
    /// of the round cut off belong to the last stage.
    pub total: Summary,
}
