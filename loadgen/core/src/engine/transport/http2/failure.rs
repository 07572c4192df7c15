//! Says in words why a request over HTTP/2 failed.

use std::io;

use h2::{Error, Reason};

use super::wire::Line;
use crate::engine::transport::Failure;
use crate::measure::ErrorKind;

/// Longest part of a server's explanation that is shown, in characters.
const LONGEST: usize = 80;

/// Classifies an error of the connection whose stream shares `line`.
pub(super) fn failure(error: &Error, line: &Line) -> Failure {
    if line.is_http1() {
        let message = "the server answers in HTTP/1.1: it does not speak HTTP/2 at this port";
        return Failure::new(ErrorKind::Protocol, message);
    }
    if let Some(fault) = line.fault() {
        return fault.clone();
    }
    if let Some(io) = error.get_io() {
        // h2 says "broken pipe" of a connection that the server has closed.
        let is_closed = match io.kind() {
            io::ErrorKind::UnexpectedEof => true,
            io::ErrorKind::BrokenPipe => io.get_ref().is_some(),
            _ => false,
        };
        let message = match (is_closed, line.is_silent()) {
            (true, true) => "the server closed the connection without a word of HTTP/2".to_owned(),
            (true, false) => "the server closed the connection".to_owned(),
            (false, _) => io.to_string(),
        };
        return Failure::new(ErrorKind::Reset, message);
    }
    let code = error.reason().map(name).unwrap_or_default();
    match (error.is_remote(), error.is_go_away()) {
        (true, true) => {
            let message = format!("the server sent GOAWAY: {code}{}", explanation(error));
            Failure::new(ErrorKind::Reset, message)
        }
        (true, false) => {
            Failure::new(ErrorKind::Reset, format!("the server sent RST_STREAM: {code}"))
        }
        (false, _) if error.is_library() => {
            let message = format!("the server breaks HTTP/2: {code}{}", explanation(error));
            Failure::new(ErrorKind::Protocol, message)
        }
        (false, _) => Failure::new(ErrorKind::Protocol, error.to_string()),
    }
}

/// Returns the name of an error code (RFC 9113, section 7).
fn name(reason: Reason) -> String {
    match u32::from(reason) {
        0..=13 => format!("{reason:?}"),
        code => format!("error code {code:#x}"),
    }
}

/// Returns the explanation that came with an error, in parentheses; empty if there is none.
fn explanation(error: &Error) -> String {
    let text = error.to_string();
    // h2 shows the explanation as `(b"…")` after the error, and tells it in no other way.
    let found = text.split_once("(b\"").and_then(|(_, rest)| rest.strip_suffix("\")"));
    let Some(found) = found else { return String::new() };
    format!(" ({})", found.chars().take(LONGEST).collect::<String>())
}
