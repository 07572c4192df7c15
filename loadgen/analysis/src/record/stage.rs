//! Holds the results of one stage of a staged load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_measure::Summary;

/// Results of one stage of a load that changes in stages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageResult {
    /// Number of the stage, from 1, in `stages` of the load.
    pub stage: u32,
    /// Planned load at the beginning of the stage: users, or requests/s in the open model.
    pub from: f64,
    /// Planned load at the end of the stage: users, or requests/s in the open model.
    pub to: f64,
    /// Planned beginning of the stage, from the end of the warm-up.
    pub begin_s: f64,
    /// Planned end of the stage, from the end of the warm-up.
    pub end_s: f64,
    /// Time of the stage that was measured, all rounds together; rates refer to this time.
    pub held_s: f64,
    /// Results of the stage, all steps together. Requests that the end of the round cut off belong
    /// to the last stage.
    pub total: Summary,
}
