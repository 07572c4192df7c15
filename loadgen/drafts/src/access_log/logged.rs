//! Requests as lines of access logs have them.

use std::borrow::Cow;

/// Format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    /// Apache's, with or without quoted fields at the end, and what Python's development servers write.
    Common,
    /// nginx's default, and gunicorn's.
    Combined,
    /// hypercorn's default: without a query.
    Hypercorn,
    /// granian's default: without a query.
    Granian,
    /// uvicorn's default, without times, or with those of Python's `logging`.
    Uvicorn,
    /// Caddy's default.
    Caddy,
    /// Other JSON.
    Json,
}

/// A request as a line of the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Logged<'a> {
    /// Its method.
    pub method: Method,
    /// Path and query, perhaps with escapes of the log ([`Format::is_escaped`]).
    pub target: Cow<'a, [u8]>,
    /// Status of the response.
    pub status: u16,
    /// Seconds since 1970, if the line has a time.
    pub time: Option<i64>,
    /// Name of the person who logged in, if the line has one.
    pub person: Option<Cow<'a, [u8]>>,
}

/// Methods that a draft tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    /// Reads.
    Get,
    /// Reads without the body.
    Head,
    /// May write.
    Other,
}

impl Method {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            _ => Self::Other,
        }
    }
}

impl Format {
    /// Whether the log has targets as they were sent: otherwise it has decoded paths, without queries.
    pub(super) fn has_raw_targets(self) -> bool {
        !matches!(self, Self::Hypercorn | Self::Granian)
    }

    /// Whether targets have the escapes of [`super::text::unescape`].
    pub(super) fn is_escaped(self) -> bool {
        matches!(self, Self::Common | Self::Combined)
    }

    /// Returns the name of the format.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Common => "Common Log Format",
            Self::Combined => "Combined Log Format",
            Self::Hypercorn => "hypercorn's access log",
            Self::Granian => "granian's access log",
            Self::Uvicorn => "uvicorn's access log",
            Self::Caddy => "Caddy's JSON",
            Self::Json => "JSON",
        }
    }
}
