//! Error codes, and the failures that they mean.

use std::fmt::{self, Display, Formatter};

use crate::transport::failure::{Failure, Work};
use loadgen_measure::ErrorKind;

/// Longest part of a server's explanation that is shown, in characters.
const LONGEST: usize = 80;

/// An error code (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub(super) u32);

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl Code {
    pub(super) const PROTOCOL_ERROR: Self = Self(1);
    pub(super) const FLOW_CONTROL_ERROR: Self = Self(3);
    pub(super) const STREAM_CLOSED: Self = Self(5);
    pub(super) const FRAME_SIZE_ERROR: Self = Self(6);
    pub(super) const REFUSED_STREAM: Self = Self(7);
    pub(super) const CANCEL: Self = Self(8);
    pub(super) const COMPRESSION_ERROR: Self = Self(9);
    pub(super) const ENHANCE_YOUR_CALM: Self = Self(11);
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

/// Violation of HTTP/2 by the server: the error code to send, and a description for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) code: Code,
    pub(super) what: &'static str,
}

impl Breach {
    /// The server does not even try.
    pub(super) const HTTP1: Self =
        Self::of_protocol("the server answers in HTTP/1.1: it does not speak HTTP/2 at this port");

    pub(super) const fn new(code: Code, what: &'static str) -> Self {
        Self { code, what }
    }

    /// A breach that has no code of its own.
    pub(super) const fn of_protocol(what: &'static str) -> Self {
        Self::new(Code::PROTOCOL_ERROR, what)
    }

    pub(super) fn failure(self) -> Failure {
        if self == Self::HTTP1 {
            return Failure::new(ErrorKind::Protocol, self.what);
        }
        let Self { code, what } = self;
        Failure::new(ErrorKind::Protocol, format!("the server breaks HTTP/2: {code} ({what})"))
    }
}

/// Returns a breach that has no code of its own.
pub(super) fn breach<T>(what: &'static str) -> Result<T, Breach> {
    Err(Breach::of_protocol(what))
}

/// The server ends one stream. `refused` is what is known of its work if it says that it has not processed the request.
pub(super) fn reset(code: Code, refused: Work) -> Failure {
    let failure = Failure::new(ErrorKind::Reset, format!("the server sent RST_STREAM: {code}"));
    match code {
        // RFC 9113, section 8.7.
        Code::REFUSED_STREAM => failure.with(refused),
        _ => failure,
    }
}

/// The server ends the connection, and explains it with these bytes.
pub(super) fn going_away(code: Code, explanation: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(explanation);
    let text: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let text = if text.is_empty() { text } else { format!(" ({text})") };
    Failure::new(ErrorKind::Reset, format!("the server sent GOAWAY: {code}{text}"))
}
