//! Text with generated parts.
use serde::{Deserialize, Serialize};

/// Text with generated parts, parsed once and rendered for each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Template {}
