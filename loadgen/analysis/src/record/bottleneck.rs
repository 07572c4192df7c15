//! Names the party that limited a rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The party that limited a rate. The variants are in ascending order of how much they spoil the
/// measurement; of two bottlenecks that are equally frequent, the later variant counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// No party that loadgen observes: no CPU and no link was at its limit. Something else may have
    /// been, such as a number of threads, or a lock.
    Nobody,
    /// The server under test.
    Target,
    /// The backend of this name.
    Backend(String),
    /// The link between loadgen's machine and the server.
    Network,
    /// loadgen itself.
    Generator,
}

impl Bottleneck {
    /// Returns whether the rate describes the target: false if loadgen itself, a backend or the
    /// network limited the rate.
    #[must_use]
    pub fn is_of_target(&self) -> bool {
        matches!(self, Self::Nobody | Self::Target)
    }
}
