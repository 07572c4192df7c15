//! Describes one TLS handshake.

use std::time::Duration;

/// A completed TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Time from the opened TCP connection to the end of the handshake.
    pub time: Duration,
    /// TLS version and cipher suite, such as `TLS 1.3, AES_128_GCM_SHA256`.
    pub suite: String,
    /// Whether the handshake resumed an earlier session.
    pub is_resumed: bool,
}
