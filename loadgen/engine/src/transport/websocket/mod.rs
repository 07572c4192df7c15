//! The WebSocket of a user (RFC 6455), over a connection that [`super::http1`] has upgraded.
//!
//! tungstenite reads and writes the frames. No extension is offered, so that no message is
//! compressed.

mod fault;
pub(super) mod handshake;
mod message;
mod remembering;
mod slot;
mod socket;

pub(super) use self::message::{Messages, Outgoing};
pub use self::slot::Slot;
pub(super) use self::socket::Socket;
