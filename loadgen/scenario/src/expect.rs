//! Conditions that a response must meet to be an expected response.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::grpc_status::GrpcStatuses;
use super::size_range::SizeRange;
use super::stream::ExpectedStream;

/// Conditions that a response must meet, so that the request counts as answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// Expected statuses.
    pub status: Statuses,
    /// Expected statuses of a gRPC call; `None` for a step without a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc_status: Option<GrpcStatuses>,
    /// Conditions that headers and body must meet, each of them.
    pub all: Vec<Condition>,
    /// Conditions of which headers and body must meet none.
    pub none: Vec<Condition>,
    /// Longest latency of an expected response; `None` for the timeout of the step.
    pub within: Option<Duration>,
    /// Events of the body, which are measured one by one; `None` for a body that is read as one.
    pub stream: Option<ExpectedStream>,
}

impl Expect {
    /// Returns all conditions of headers and body, those of which none may hold last.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.all.iter().chain(&self.none)
    }
}

/// A set of HTTP statuses, not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses(Vec<(u16, u16)>);

impl Statuses {
    /// Creates the set of all statuses in these ranges, each with its first and its last status.
    pub(super) fn new(ranges: Vec<(u16, u16)>) -> Self {
        Self(ranges)
    }

    /// Returns whether the set has this status.
    #[must_use]
    pub fn has(&self, status: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

/// The default: any 2xx.
impl Default for Statuses {
    fn default() -> Self {
        Self(vec![(200, 299)])
    }
}

/// Formats the set as `200`, `2xx` or `200, 2xx or 304`.
impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            match index {
                0 => {}
                _ if index + 1 == self.0.len() => f.write_str(" or ")?,
                _ => f.write_str(", ")?,
            }
            match first == last {
                true => write!(f, "{first}")?,
                false => write!(f, "{}xx", first / 100)?,
            }
        }
        Ok(())
    }
}

/// A condition of a response's headers or body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The body contains this text.
    Text(String),
    /// The body has a match of this regular expression.
    Regex(String),
    /// The JSON pointer (RFC 6901) finds a value equal to this in the body.
    Json(String, serde_json::Value),
    /// The JSON pointer (RFC 6901) finds a value of this type in the body.
    JsonType(String, JsonType),
    /// The JSON pointer (RFC 6901) finds a value whose size is in this range in the body.
    JsonSize(String, SizeRange),
    /// The first header of this name, in lower case, has a value that meets a condition.
    Header(String, HeaderCondition),
}

impl Condition {
    /// Returns whether the condition is about the response's headers.
    #[must_use]
    pub fn reads_headers(&self) -> bool {
        matches!(self, Self::Header(..))
    }

    /// Returns whether the condition is about a value in a JSON body.
    #[must_use]
    pub fn reads_json(&self) -> bool {
        matches!(self, Self::Json(..) | Self::JsonType(..) | Self::JsonSize(..))
    }
}

/// Formats what meets the condition, as a noun phrase: `a body that contains "ready"`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "a body that contains {text:?}"),
            Self::Regex(pattern) => write!(f, "a body that matches '{pattern}'"),
            Self::Json(pointer, value) => write!(f, "{value} at {pointer:?}"),
            Self::JsonType(pointer, kind) => write!(f, "{kind} at {pointer:?}"),
            Self::JsonSize(pointer, size) => write!(f, "a size {size} at {pointer:?}"),
            Self::Header(name, HeaderCondition::Present) => write!(f, "a header {name:?}"),
            Self::Header(name, HeaderCondition::Equal(value)) => {
                write!(f, "a header {name:?} of {value:?}")
            }
            Self::Header(name, HeaderCondition::Regex(pattern)) => {
                write!(f, "a header {name:?} that matches '{pattern}'")
            }
        }
    }
}

/// A type of a JSON value (RFC 8259, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of JSON Schema")]
pub enum JsonType {
    Array,
    Boolean,
    Null,
    Number,
    Object,
    String,
}

impl JsonType {
    /// Returns the type of a value.
    #[must_use]
    pub fn of(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(_) => Self::Boolean,
            serde_json::Value::Number(_) => Self::Number,
            serde_json::Value::String(_) => Self::String,
            serde_json::Value::Array(_) => Self::Array,
            serde_json::Value::Object(_) => Self::Object,
        }
    }
}

/// Formats the type with its article.
impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Array => "an array",
            Self::Boolean => "a boolean",
            Self::Null => "null",
            Self::Number => "a number",
            Self::Object => "an object",
            Self::String => "a string",
        })
    }
}

/// A condition of a header's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderCondition {
    /// Any value.
    Present,
    /// This value.
    Equal(String),
    /// A value that has a match of this regular expression.
    Regex(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_shown_as_in_the_file() {
        let shown = |ranges: &[(u16, u16)]| Statuses::new(ranges.to_vec()).to_string();
        assert_eq!(Statuses::default().to_string(), "2xx");
        assert_eq!(shown(&[(200, 200)]), "200");
        assert_eq!(shown(&[(200, 299), (304, 304)]), "2xx or 304");
        assert_eq!(shown(&[(200, 200), (400, 499), (503, 503)]), "200, 4xx or 503");
        let some = Statuses::new(vec![(200, 299), (304, 304)]);
        assert_eq!(
            [199, 200, 299, 300, 304].map(|status| some.has(status)),
            [false, true, true, false, true]
        );
    }
}
