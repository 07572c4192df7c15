//! Defines how long a silent peer counts as alive.

use std::time::Duration;

/// Default lease: time without a message after which a peer counts as
/// lost. A manager may set another lease.
pub const LEASE: Duration = Duration::from_secs(3);
