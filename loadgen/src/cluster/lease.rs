//! Defines how long a silent peer counts as alive.

use std::time::Duration;

/// Default lease: a peer that is silent for this long is lost, unless
/// its manager sets another lease.
pub(super) const LEASE: Duration = Duration::from_secs(3);
