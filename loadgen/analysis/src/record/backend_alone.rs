//! Holds the measurement of a backend alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measurement of a backend without a web server in between, as a bound for the servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendAloneRecord {
    /// Name of the backend.
    pub backend: String,
    /// Benchmark program, such as `pgbench`; `None` if nothing was measured.
    pub program: Option<String>,
    /// Operations that the program sent, in words; `None` if nothing was measured.
    pub operations: Option<String>,
    /// Clients, each with one operation at a time; `None` if nothing was measured.
    pub clients: Option<u32>,
    /// Operations per second; `None` if nothing was measured.
    pub rate_per_s: Option<f64>,
    /// Reason why nothing was measured; `None` if something was.
    pub why_not: Option<String>,
}
