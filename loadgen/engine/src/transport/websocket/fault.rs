//! Says why a WebSocket failed.

use std::io;

use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::transport::{Failure, tls};
use loadgen_measure::ErrorKind;

/// Returns why reading or writing failed.
pub(super) fn of(error: &Error) -> Failure {
    match error {
        Error::Io(error) => of_connection(error),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => cut_off(),
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Failure::new(
            ErrorKind::Expectation,
            "a message is longer than 16 MiB, the limit for messages of a WebSocket",
        ),
        Error::Utf8(_) => broken("a text message is not UTF-8"),
        Error::Protocol(error) => broken(&error.to_string()),
        other => broken(&other.to_string()),
    }
}

fn of_connection(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_off(),
        _ => tls::of_exchange(error)
            .unwrap_or_else(|| Failure::new(ErrorKind::Reset, error.to_string())),
    }
}

fn cut_off() -> Failure {
    let what = "the connection of the WebSocket was closed without a close frame";
    Failure::new(ErrorKind::Reset, what)
}

fn broken(what: &str) -> Failure {
    let what = format!("the server broke the WebSocket protocol: {what}");
    Failure::new(ErrorKind::Protocol, what)
}

/// Returns the failure of a step whose WebSocket the server closes.
pub(super) fn closed(frame: Option<&CloseFrame>) -> Failure {
    let what = match frame {
        None => "the server closed the WebSocket, without a code".to_owned(),
        Some(frame) => return closed_with(frame.code.into(), &frame.reason),
    };
    Failure::new(ErrorKind::Reset, what)
}

/// Returns the failure of a step whose WebSocket the server closes with this code and reason.
pub(super) fn closed_with(code: u16, reason: &str) -> Failure {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason:?}") };
    let what = format!("the server closed the WebSocket with code {code}{reason}");
    Failure::new(ErrorKind::Reset, what)
}
