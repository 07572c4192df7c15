//! What a run sent: as digests, so that two runs can be told apart without showing what they sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The number of the way in which parts are made into digests. It goes up when the same scenario
/// gives others.
pub const SENT_FORM: u32 = 1;

/// What a scenario sends: the SHA-256 of each part of it, in hexadecimal.
///
/// Parts are taken as the scenario has them written, with placeholders: no value of `{{ env }}` is in
/// them, nor that of a header that authorizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// [`SENT_FORM`]; others are not compared with it.
    pub form: u32,
    /// What concerns all steps, such as `rows.accounts`.
    pub all_steps: BTreeMap<String, String>,
    /// By the step's name, its parts, such as `path`.
    pub steps: BTreeMap<String, BTreeMap<String, String>>,
}
