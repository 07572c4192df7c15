//! Holds when a run was resumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One resumption of a run, by another manager after the first one had ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumedRecord {
    /// Time of the resumption, when its workers were there.
    pub at: String,
    /// Number of the first round that was measured after the resumption, from 1. Rounds with lower numbers are those from
    /// before it.
    pub from_round: u32,
    /// Time from the end of the last round that was kept, or from the start of the run if none was, to the resumption. It
    /// includes the round that was cut off, and is measured again.
    pub gap_s: f64,
    /// Differences of the manager's host since the manager before this one, such as its kernel, in sentences; empty if
    /// nothing does, and in documents of earlier versions.
    #[serde(default)]
    pub changed: Vec<String>,
}
