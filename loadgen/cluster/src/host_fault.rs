//! Why a host cannot be used.

use std::fmt;

/// Reason why a host cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFault {
    /// The reason, in the words of loadgen, of ssh, or of a program on the host.
    pub why: String,
    /// Whether ssh itself failed: it reached the host not at all, or not as a user.
    pub is_of_ssh: bool,
}

impl From<String> for HostFault {
    fn from(why: String) -> Self {
        Self { why, is_of_ssh: false }
    }
}

impl fmt::Display for HostFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
