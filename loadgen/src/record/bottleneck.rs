//! Who kept a rate from being higher.

use serde::{Deserialize, Serialize};

/// Who kept the rate from being higher. Of those that follow each other, the later spoils more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Nobody that was seen: no CPU and no link was at its limit. Something else may have been, such as a
    /// number of threads, or a lock.
    Nobody,
    /// The server under test, as it should be.
    Target,
    /// This backend.
    Backend(String),
    /// The link between loadgen's machine and the server.
    Network,
    /// loadgen itself.
    Generator,
}

impl Bottleneck {
    /// Whether a rate says something of the target: what somebody else limits does not.
    #[must_use]
    pub fn is_of_target(&self) -> bool {
        matches!(self, Self::Nobody | Self::Target)
    }
}
