//! Action of a user in a step: an HTTP request, a gRPC call, or a use of the user's WebSocket.

use serde::{Deserialize, Serialize};

/// Action of a user in a step.
///
/// A user has at most one WebSocket (RFC 6455). It stays open over iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends an HTTP request, and reads the response.
    #[default]
    Request,
    /// Makes a gRPC call: an HTTP/2 request with messages, answered with messages.
    Call,
    /// Opens the user's WebSocket, with an HTTP request of its own connection.
    Connect,
    /// Sends a message over the user's WebSocket.
    Send {
        /// Whether the step ends with a message of the server, rather than with the send.
        reply: bool,
    },
    /// Waits for a message over the user's WebSocket.
    Receive,
    /// Closes the user's WebSocket, with the closing handshake.
    Close,
}

impl Action {
    /// Returns the word for the action, in place of the method of a request; `None` for a request.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Request => None,
            Self::Call => Some("GRPC"),
            Self::Connect => Some("WEBSOCKET"),
            Self::Send { .. } => Some("SEND"),
            Self::Receive => Some("RECEIVE"),
            Self::Close => Some("CLOSE"),
        }
    }

    /// Returns whether the action opens or uses a WebSocket.
    #[must_use]
    pub fn uses_socket(self) -> bool {
        self == Self::Connect || self.needs_socket()
    }

    /// Returns whether the action needs an open WebSocket.
    #[must_use]
    pub fn needs_socket(self) -> bool {
        matches!(self, Self::Send { .. } | Self::Receive | Self::Close)
    }

    /// Returns whether the action ends with a message of the server.
    #[must_use]
    pub fn ends_with_message(self) -> bool {
        matches!(self, Self::Send { reply: true } | Self::Receive)
    }
}
