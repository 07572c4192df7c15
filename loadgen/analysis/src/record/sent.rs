//! Holds digests of the requests that a run sent, so that two runs can be told apart without
//! disclosing the requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the digests' format. The number increases when the same scenario gives other digests.
pub const SENT_FORM: u32 = 2;

/// Digests of the requests that a scenario sends: the SHA-256 of each part, in hexadecimal.
///
/// Parts are digested as written in the scenario, with placeholders: they contain neither a value
/// of `{{ env }}` nor the value of a header that authorizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentRecord {
    /// Format of the digests; digests of different formats are not compared.
    pub form: u32,
    /// Digests of the parts that concern all steps, by part: `http`, `on_error`, `flows`,
    /// `order_of_steps`, `rows.NAME` for each file of rows, and `grpc` for the compiled `.proto`
    /// files.
    pub all_steps: BTreeMap<String, String>,
    /// Digests of the parts of each step, by step and part: `method`, `path`, `headers`, `body`,
    /// `expect`, `counters`, `capture`, `timeout`, `weight`, `when`, `repeat`, `redirects` where it is
    /// not that of `[http]`, and `action` for a gRPC call and a use of a WebSocket.
    pub steps: BTreeMap<String, BTreeMap<String, String>>,
}
