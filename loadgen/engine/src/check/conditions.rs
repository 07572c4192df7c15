//! Holds responses against the conditions of a step's `expect`.

use memchr::memmem::Finder;
use regex::bytes::Regex;
use serde_json::Value;

use super::{Wrong, same, shown, without_mark};
use crate::transport::Headers;
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Condition, Expect, HeaderCondition, JsonType};

/// Conditions of one step, ready to be held against responses: regular expressions are compiled
/// once for all users of the process.
#[derive(Debug)]
pub(super) struct Conditions {
    of_headers: Vec<Ready>,
    of_text: Vec<Ready>,
    of_json: Vec<Ready>,
}

#[derive(Debug)]
struct Ready {
    condition: Condition,
    /// Whether a response must meet the condition, rather than must not.
    must_hold: bool,
    prepared: Prepared,
}

#[derive(Debug)]
enum Prepared {
    Nothing,
    Finder(Box<Finder<'static>>),
    Regex(Regex),
}

impl Conditions {
    /// Prepares all conditions of `expect`.
    pub(super) fn new(expect: &Expect) -> Self {
        let mut prepared =
            Self { of_headers: Vec::new(), of_text: Vec::new(), of_json: Vec::new() };
        for (conditions, must_hold) in [(&expect.all, true), (&expect.none, false)] {
            for condition in conditions {
                let group = if condition.reads_headers() {
                    &mut prepared.of_headers
                } else if condition.reads_json() {
                    &mut prepared.of_json
                } else {
                    &mut prepared.of_text
                };
                group.push(Ready::new(condition, must_hold));
            }
        }
        prepared
    }

    /// Compares a response's headers with the conditions. Returns the first difference.
    pub(super) fn headers(&self, headers: Headers<'_>) -> Result<(), Wrong> {
        self.of_headers.iter().try_for_each(|ready| ready.header(headers))
    }

    /// Compares the text of a body with the conditions. Returns the first difference.
    pub(super) fn text(&self, body: &[u8]) -> Result<(), Wrong> {
        let judged = |ready: &Ready| ready.judged(ready.holds_in(body), || shown(body));
        self.of_text.iter().try_for_each(judged)
    }

    /// Returns whether a message lacks what is expected, and has nothing of what must not come.
    pub(super) fn is_other(&self, message: &[u8]) -> bool {
        let reads_json = !self.of_json.is_empty();
        let json = reads_json
            .then(|| serde_json::from_slice::<Value>(without_mark(message)).ok())
            .flatten();
        let holds = |ready: &Ready| match &ready.condition {
            Condition::Text(_) | Condition::Regex(_) => ready.holds_in(message),
            _ => json.as_ref().is_some_and(|json| ready.holds_at(json)),
        };
        let mut all = self.of_text.iter().chain(&self.of_json);
        let is_forbidden = all.clone().any(|ready| !ready.must_hold && holds(ready));
        !is_forbidden && all.any(|ready| ready.must_hold && !holds(ready))
    }

    /// Compares a JSON body with the conditions. `at` describes what the body has at a pointer.
    /// Returns the first difference.
    pub(super) fn json(&self, json: &Value, at: impl Fn(&str) -> String) -> Result<(), Wrong> {
        self.of_json.iter().try_for_each(|ready| match &ready.condition {
            Condition::Json(pointer, _)
            | Condition::JsonType(pointer, _)
            | Condition::JsonSize(pointer, _) => ready.judged(ready.holds_at(json), || at(pointer)),
            _ => Ok(()),
        })
    }
}

impl Ready {
    fn new(condition: &Condition, must_hold: bool) -> Self {
        // The scenario's parser has refused invalid patterns.
        let compiled =
            |pattern: &str| Regex::new(pattern).map_or(Prepared::Nothing, Prepared::Regex);
        let prepared = match condition {
            Condition::Text(text) => Prepared::Finder(Box::new(Finder::new(text).into_owned())),
            Condition::Regex(pattern) | Condition::Header(_, HeaderCondition::Regex(pattern)) => {
                compiled(pattern)
            }
            _ => Prepared::Nothing,
        };
        Self { condition: condition.clone(), must_hold, prepared }
    }

    /// Whether a condition of a text holds.
    fn holds_in(&self, body: &[u8]) -> bool {
        match &self.prepared {
            Prepared::Finder(finder) => finder.find(body).is_some(),
            Prepared::Regex(regex) => regex.is_match(body),
            Prepared::Nothing => false,
        }
    }

    /// Whether a condition of a JSON value holds.
    fn holds_at(&self, json: &Value) -> bool {
        match &self.condition {
            Condition::Json(pointer, expected) => {
                json.pointer(pointer).is_some_and(|found| same(found, expected))
            }
            Condition::JsonType(pointer, kind) => {
                json.pointer(pointer).is_some_and(|it| JsonType::of(it) == *kind)
            }
            Condition::JsonSize(pointer, size) => {
                json.pointer(pointer).is_some_and(|it| size.has_size_of(it))
            }
            _ => false,
        }
    }

    fn header(&self, headers: Headers<'_>) -> Result<(), Wrong> {
        let Condition::Header(name, condition) = &self.condition else { return Ok(()) };
        let found = headers.first(name);
        let holds = found.is_some_and(|value| match (condition, &self.prepared) {
            (HeaderCondition::Present, _) => true,
            (HeaderCondition::Equal(expected), _) => value == expected.as_bytes(),
            (HeaderCondition::Regex(_), Prepared::Regex(regex)) => regex.is_match(value),
            (HeaderCondition::Regex(_), _) => false,
        });
        let got = || match found {
            Some([]) => "an empty value".to_owned(),
            Some(value) => format!("{:?}", shown(value)),
            None => "none".to_owned(),
        };
        self.judged(holds, got)
    }

    /// Returns an error if the condition holds although it must not, or does not hold although it
    /// must. `got` describes what came.
    fn judged(&self, holds: bool, got: impl FnOnce() -> String) -> Result<(), Wrong> {
        if holds == self.must_hold {
            return Ok(());
        }
        let expected = match self.must_hold {
            true => self.condition.to_string(),
            false => format!("anything but {}", self.condition),
        };
        Err(Wrong { kind: ErrorKind::Expectation, expected, got: got() })
    }
}
