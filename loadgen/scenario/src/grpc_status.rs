//! Statuses of gRPC calls.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a gRPC call: a number, of which gRPC names those up to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcStatus(u32);

impl GrpcStatus {
    /// The call succeeded.
    pub const OK: Self = Self(0);

    /// All named statuses (<https://grpc.io/docs/guides/status-codes/>).
    pub const NAMED: [(&'static str, Self); 17] = [
        ("OK", Self::OK),
        ("CANCELLED", Self(1)),
        ("UNKNOWN", Self(2)),
        ("INVALID_ARGUMENT", Self(3)),
        ("DEADLINE_EXCEEDED", Self(4)),
        ("NOT_FOUND", Self(5)),
        ("ALREADY_EXISTS", Self(6)),
        ("PERMISSION_DENIED", Self(7)),
        ("RESOURCE_EXHAUSTED", Self(8)),
        ("FAILED_PRECONDITION", Self(9)),
        ("ABORTED", Self(10)),
        ("OUT_OF_RANGE", Self(11)),
        ("UNIMPLEMENTED", Self(12)),
        ("INTERNAL", Self(13)),
        ("UNAVAILABLE", Self(14)),
        ("DATA_LOSS", Self(15)),
        ("UNAUTHENTICATED", Self(16)),
    ];

    /// Reads the value of a header `grpc-status`: decimal digits; `None` for anything else.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let number = is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok())?;
        number.map(Self)
    }
}

/// Formats the name of the status, or `code 99` for a number without a name.
impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.iter().find(|(_, status)| status == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

/// A set of statuses of gRPC calls, not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcStatuses(Vec<GrpcStatus>);

impl GrpcStatuses {
    pub(super) fn new(statuses: Vec<GrpcStatus>) -> Self {
        Self(statuses)
    }

    /// Returns whether the set has this status.
    #[must_use]
    pub fn has(&self, status: GrpcStatus) -> bool {
        self.0.contains(&status)
    }
}

/// The default: only `OK`.
impl Default for GrpcStatuses {
    fn default() -> Self {
        Self(vec![GrpcStatus::OK])
    }
}

/// Formats the set as `OK`, or `OK, NOT_FOUND or ABORTED`.
impl fmt::Display for GrpcStatuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, status) in self.0.iter().enumerate() {
            match index {
                0 => {}
                _ if index + 1 == self.0.len() => f.write_str(" or ")?,
                _ => f.write_str(", ")?,
            }
            status.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_with_a_name() {
        for (number, (name, status)) in GrpcStatus::NAMED.into_iter().enumerate() {
            assert_eq!(GrpcStatus::parse(number.to_string().as_bytes()), Some(status));
            assert_eq!(status.to_string(), name);
        }
        assert_eq!(GrpcStatus::parse(b"17").unwrap().to_string(), "code 17");
        for text in ["", "-1", "+1", "x", "4294967296", "0 ", "\u{661}"] {
            assert_eq!(GrpcStatus::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_set_is_shown_as_a_phrase() {
        let [ok, _, _, _, _, none, ..] = GrpcStatus::NAMED.map(|(_, status)| status);
        assert_eq!(GrpcStatuses::default().to_string(), "OK");
        assert_eq!(GrpcStatuses::new(vec![ok, none]).to_string(), "OK or NOT_FOUND");
        let three = GrpcStatuses::new(vec![ok, none, GrpcStatus(99)]);
        assert_eq!(three.to_string(), "OK, NOT_FOUND or code 99");
        assert!(three.has(none) && !GrpcStatuses::default().has(none));
    }
}
