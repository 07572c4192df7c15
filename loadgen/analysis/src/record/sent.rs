//! Holds digests of the requests that a run sent, so that two runs can be told apart without
//! disclosing the requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the digests' format. The number increases when the same scenario gives other digests.
pub const SENT_FORM: u32 = 2;

/// Digests of the requests that a scenario sends: the SHA-256 of each part, in hexadecimal.
///
/// Parts are digested as written in the scenario, with placeholders: they contain neither a value
/// of `{{ env }}` nor the value of a header that authorizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// Format of the digests: [`SENT_FORM`]. Digests of different formats are not compared.
    pub form: u32,
    /// Digests of the parts that concern all steps, by the part's name, such as `rows.accounts`.
    pub all_steps: BTreeMap<String, String>,
    /// Digests of the parts of each step, by the step's name and the part's name, such as `path`.
    pub steps: BTreeMap<String, BTreeMap<String, String>>,
}
