//! How long a silent peer is believed to be there.

use std::time::Duration;

/// A peer that was silent for this long is lost, unless its manager says otherwise.
pub const LEASE: Duration = Duration::from_secs(3);
