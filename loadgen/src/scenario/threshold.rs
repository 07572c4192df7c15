//! What must hold for a run to pass.
use serde::{Deserialize, Serialize};

/// What must hold for a run to pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {}
