//! Expectation of a body that arrives as a stream of events.

use std::fmt;
use std::sync::OnceLock;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

use super::size_range::SizeRange;

/// Expectation of a body whose events are measured one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedStream {
    /// Format of the events; `None` for the format that fits the response's media type.
    pub format: Option<StreamFormat>,
    /// Expected number of events, without the end marker.
    pub events: SizeRange,
    /// Marker that ends the events; `None` for a stream that ends with its body.
    pub end: Option<EndMarker>,
    /// Whether loadgen ends the request at the end marker or, without one, at the last of `events`.
    #[serde(default)]
    pub closes: bool,
}

impl ExpectedStream {
    /// Returns the number of events at which loadgen ends the request; `None` if no number ends it.
    #[must_use]
    pub fn last_event(&self) -> Option<u64> {
        self.events.exact().filter(|_| self.closes && self.end.is_none())
    }
}

/// The default: at least one event, up to the end of the body.
impl Default for ExpectedStream {
    fn default() -> Self {
        Self { format: None, events: SizeRange::least(1), end: None, closes: false }
    }
}

/// Format of the events in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamFormat {
    /// Server-sent events (WHATWG HTML, section 9.2).
    Events,
    /// One event in each line that is not empty, such as JSON in NDJSON.
    Lines,
    /// Messages of a gRPC call. Their data is not looked at.
    Messages,
}

/// Event that ends a stream, by its data: the lines of `data` of a server-sent event, or the text of a
/// line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndMarker {
    /// The data is this text.
    Equal(String),
    /// The data has a match of this regular expression.
    Regex(Pattern),
}

impl EndMarker {
    /// Returns whether an event with this data is the marker.
    #[must_use]
    pub fn is(&self, data: &[u8]) -> bool {
        match self {
            Self::Equal(text) => text.as_bytes() == data,
            Self::Regex(pattern) => pattern.has_match_in(data),
        }
    }
}

/// A regular expression that is compiled at its first use, once for all users of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern {
    text: String,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates the pattern of a valid regular expression.
    pub(super) fn new(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    fn has_match_in(&self, data: &[u8]) -> bool {
        // The scenario's parser has refused invalid expressions.
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(data))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Formats the stream as a noun phrase: `a stream of 20 events, then "[DONE]"`.
impl fmt::Display for ExpectedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {}", self.events.counted("event"))?;
        match &self.end {
            None => Ok(()),
            Some(EndMarker::Equal(text)) => write!(f, ", then {text:?}"),
            Some(EndMarker::Regex(pattern)) => write!(f, ", then a match of '{}'", pattern.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_shown_with_its_end() {
        assert_eq!(ExpectedStream::default().to_string(), "a stream of >= 1 event");
        let end = Some(EndMarker::Equal("[DONE]".to_owned()));
        let twenty =
            ExpectedStream { events: SizeRange::only(20), end, ..ExpectedStream::default() };
        assert_eq!(twenty.to_string(), "a stream of 20 events, then \"[DONE]\"");
    }

    #[test]
    fn a_marker_is_the_whole_data_or_a_part() {
        let equal = EndMarker::Equal("[DONE]".to_owned());
        assert!(equal.is(b"[DONE]") && !equal.is(b"[DONE] ") && !equal.is(b""));
        let regex = EndMarker::Regex(Pattern::new(r#""done": ?true"#.to_owned()));
        assert!(regex.is(b"{\"done\":true}") && !regex.is(b"{\"done\":false}"));
        let text = serde_json::to_string(&regex).unwrap();
        assert_eq!(text, r#"{"regex":"\"done\": ?true"}"#);
        assert!(serde_json::from_str::<EndMarker>(&text).unwrap().is(b"\"done\": true"));
    }
}
