//! Kinds of values in a scenario file: how each is read, its JSON Schema, and its words in the reference and in editors.

use std::time::Duration;

use humantime::format_duration;
use loadgen_text::count;

use super::schema::{self, Schema};
use crate::file::reader::{Faults, Value};

/// When each key of a request is required.
pub(in crate::file) const ONE_REQUEST: &str =
    "required: exactly one key of a request, such as `get`, `grpc` or `websocket`";

/// The form of a value, for people and editors.
pub(in crate::file) trait Form: Copy + Sync {
    /// Returns the JSON Schema of a value.
    fn schema(&self) -> Schema;
    /// Returns the words for the values in the reference and in the schema's descriptions, in Markdown.
    fn words(&self) -> String;
}

/// A form of values that are read without knowledge of other keys.
pub(in crate::file) trait Kind: Form {
    type Read;
    /// Returns the value, or adds a fault.
    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Self::Read>;
}

/// `true` or `false`.
#[derive(Clone, Copy)]
pub(in crate::file) struct Boolean;

impl Form for Boolean {
    fn schema(&self) -> Schema {
        schema::of("boolean")
    }

    fn words(&self) -> String {
        "`true` or `false`".to_owned()
    }
}

impl Kind for Boolean {
    type Read = bool;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<bool> {
        value.boolean(faults)
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy)]
pub(in crate::file) struct Integer {
    least: u64,
    most: u64,
}

/// Declares a whole number from `least` to `most`.
pub(in crate::file) const fn integer(least: u64, most: u64) -> Integer {
    Integer { least, most }
}

impl Form for Integer {
    fn schema(&self) -> Schema {
        schema::of("integer").with("minimum", self.least).with("maximum", self.most)
    }

    fn words(&self) -> String {
        format!("{} to {}", bound(self.least), bound(self.most))
    }
}

impl Kind for Integer {
    type Read = u64;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<u64> {
        value.integer(self.least..=self.most, faults)
    }
}

/// Writes a bound so that people can read it.
fn bound(number: u64) -> String {
    match number {
        1_000_000_000_000 => "10^12".to_owned(),
        _ if number == i64::MAX as u64 => "2^63 − 1".to_owned(),
        _ => count(number),
    }
}

/// An integer or a float within bounds.
#[derive(Clone, Copy)]
pub(in crate::file) struct Number {
    least: f64,
    most: f64,
}

/// Declares a number from `least` to `most`.
pub(in crate::file) const fn number(least: f64, most: f64) -> Number {
    Number { least, most }
}

impl Form for Number {
    fn schema(&self) -> Schema {
        schema::of("number").with("minimum", self.least).with("maximum", self.most)
    }

    fn words(&self) -> String {
        let written = |bound: f64| match bound.fract() {
            0.0 => count(bound as u64),
            _ => bound.to_string(),
        };
        format!("{} to {}", written(self.least), written(self.most))
    }
}

impl Kind for Number {
    type Read = f64;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<f64> {
        value.number(self.least..=self.most, faults)
    }
}

/// One of some words.
#[derive(Clone, Copy)]
pub(in crate::file) struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + Sync> Form for Choice<T> {
    fn schema(&self) -> Schema {
        let words: Vec<&str> = self.0.iter().map(|(word, _)| *word).collect();
        schema::of("string").with("enum", words)
    }

    fn words(&self) -> String {
        let words: Vec<String> = self.0.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        match words.as_slice() {
            [words @ .., last] if !words.is_empty() => {
                format!("{} or {last}", words.join(", "))
            }
            words => words.concat(),
        }
    }
}

impl<T: Copy + Sync> Kind for Choice<T> {
    type Read = T;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<T> {
        value.choice(self.0, faults)
    }
}

/// A string.
#[derive(Clone, Copy)]
pub(in crate::file) struct Text;

impl Form for Text {
    fn schema(&self) -> Schema {
        schema::of("string")
    }

    fn words(&self) -> String {
        "string".to_owned()
    }
}

impl Kind for Text {
    type Read = String;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
        value.text(faults).map(str::to_owned)
    }
}

/// A duration within bounds.
#[derive(Clone, Copy)]
pub(in crate::file) struct Time {
    is_positive: bool,
    /// Longest duration, and what is wrong with a longer one.
    most: Option<(Duration, &'static str)>,
}

impl Time {
    /// A duration that may be zero.
    pub(in crate::file) const ANY: Self = Self { is_positive: false, most: None };

    /// A duration above zero.
    pub(in crate::file) const POSITIVE: Self = Self { is_positive: true, most: None };

    /// Sets the longest duration, and the label of a fault for a longer one.
    pub(in crate::file) const fn at_most(self, most: Duration, label: &'static str) -> Self {
        Self { most: Some((most, label)), ..self }
    }
}

impl Form for Time {
    fn schema(&self) -> Schema {
        schema::time()
    }

    fn words(&self) -> String {
        let above = if self.is_positive { " above zero" } else { "" };
        let most = self.most.map(|(most, _)| format!(", at most `\"{}\"`", format_duration(most)));
        format!("duration{above}{}", most.unwrap_or_default())
    }
}

impl Kind for Time {
    type Read = Duration;

    fn read(&self, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Duration> {
        let time = match self.is_positive {
            true => value.positive_duration(faults),
            false => value.duration(faults),
        }?;
        match self.most {
            Some((most, label)) if time > most => {
                let message = format!("`{}` must be at most {}", value.key, format_duration(most));
                value.fault(message, label, "", faults)
            }
            _ => Some(time),
        }
    }
}

/// A value that its table's reader reads itself, often with what other keys say.
#[derive(Clone, Copy)]
pub(in crate::file) struct Custom {
    words: &'static str,
    made: Made,
}

/// Source of the schema of a custom value.
#[derive(Clone, Copy)]
enum Made {
    /// A string that matches this regular expression.
    Matching(&'static str),
    By(fn() -> Schema),
}

/// Declares a value with these words in the reference, and this schema.
pub(in crate::file) const fn custom(words: &'static str, schema: fn() -> Schema) -> Custom {
    Custom { words, made: Made::By(schema) }
}

/// Declares a string with these words in the reference. The schema adds no anchors (`^`, `$`), so `pattern` must
/// contain them.
pub(in crate::file) const fn matching(words: &'static str, pattern: &'static str) -> Custom {
    Custom { words, made: Made::Matching(pattern) }
}

/// Declares a string that is not blank, with these words in the reference.
pub(in crate::file) const fn not_blank(words: &'static str) -> Custom {
    matching(words, "[^ \\t\\r\\n]")
}

/// The path of a file, relative to the file that names it.
pub(in crate::file) const PATH: Custom = not_blank("path");

/// A path and query of a request.
pub(in crate::file) const REQUEST_PATH: Custom = matching("template", "^([/?]|$)");

/// A string with placeholders.
pub(in crate::file) const TEMPLATE: Custom = custom("template", || schema::of("string"));

/// A value to send as JSON, whose strings are templates.
pub(in crate::file) const JSON: Custom = custom("any TOML value except dates and times", || {
    schema::any().with("additionalProperties", true)
});

/// `true`, for a key that has no other value.
pub(in crate::file) const TRUE: Custom =
    custom("`true`", || schema::of("boolean").with("const", true));

impl Form for Custom {
    fn schema(&self) -> Schema {
        match self.made {
            Made::Matching(pattern) => schema::of("string").with("pattern", pattern),
            Made::By(schema) => schema(),
        }
    }

    fn words(&self) -> String {
        self.words.to_owned()
    }
}
