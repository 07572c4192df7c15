//! Holds what became of the requests that a round was planned to send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ends of all planned requests of a round that lacks results of workers: `planned` is the sum of all other fields.
/// With the warm-up, whose requests are in no other figure, unless iterations end the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountRecord {
    /// Requests that the load has, with changes of the load while the round ran.
    pub planned: u64,
    /// Requests with the expected response.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that the end of the round cut off.
    pub cancelled: u64,
    /// Requests whose time came, but for which no user was free.
    pub unsent: u64,
    /// Requests without a known end, because their worker was lost, or its report did not arrive. The worker may have sent
    /// them or not: they waited or were in flight at its last report, or were due after it, before others took over.
    /// Without a takeover, these are also those that were due long after the loss, which nobody sent.
    pub lost: u64,
}
