//! The kinds of values that a scenario file has, as schemas.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// The schema of a value.
#[derive(Clone)]
pub(super) struct Schema(Map<String, Value>);

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        Self::Object(schema.0)
    }
}

impl Schema {
    /// Adds a keyword.
    pub(super) fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// What the key means where it is left out.
    pub(super) fn or(self, default: impl Into<Value>) -> Self {
        self.with("default", default)
    }

    /// A table must have these keys.
    pub(super) fn requires<const N: usize>(self, keys: [&str; N]) -> Self {
        self.with("required", keys.to_vec())
    }

    /// A table must have exactly one of these keys.
    pub(super) fn requires_one_of(self, keys: &[&str]) -> Self {
        self.with("oneOf", each_required(keys))
    }

    /// Beside `key`, a table must have none of `others`.
    pub(super) fn excludes(self, key: &str, others: &[&str]) -> Self {
        self.beside(key, without(others))
    }

    /// A table that has `key` must be like this, too.
    pub(super) fn beside(mut self, key: &str, schema: Value) -> Self {
        self.0.entry("dependencies").or_insert_with(|| json!({}))[key] = schema;
        self
    }
}

/// A schema for each of these keys, of a table that has it.
pub(super) fn each_required(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// The schema of a table that has none of these keys.
pub(super) fn without(keys: &[&str]) -> Value {
    partly(keys.iter().map(|key| (*key, Value::Bool(false))))
}

/// What a table whose keys are named elsewhere must have under some of them. That it may have others
/// goes without saying, but not to tombi.
pub(super) fn partly<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "properties": keys, "additionalProperties": true })
}

/// The schema of a table in which `key` is this word.
pub(super) fn says(key: &str, word: &str) -> Value {
    let mut table = partly([(key, json!({ "const": word }))]);
    table["required"] = json!([key]);
    table
}

fn of(kind: &str, about: &str) -> Schema {
    Schema(Map::new()).with("type", kind).with("description", about)
}

/// Whatever TOML has.
pub(super) fn any(about: &str) -> Schema {
    Schema(Map::new()).with("description", about)
}

/// Any string.
pub(super) fn text(about: &str) -> Schema {
    of("string", about)
}

/// A string that matches a regular expression, which must anchor itself.
pub(super) fn matching(pattern: &str, about: &str) -> Schema {
    text(about).with("pattern", pattern)
}

/// A string that is not blank.
pub(super) fn name(about: &str) -> Schema {
    matching("[^ \\t\\r\\n]", about)
}

/// One of a few words.
pub(super) fn choice<T>(choices: &[(&str, T)], about: &str) -> Schema {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    text(about).with("enum", words)
}

/// `true` or `false`.
pub(super) fn boolean(about: &str) -> Schema {
    of("boolean", about)
}

/// A whole number.
pub(super) fn integer(range: RangeInclusive<u64>, about: &str) -> Schema {
    of("integer", about).with("minimum", *range.start()).with("maximum", *range.end())
}

/// A number, with a point or without.
pub(super) fn number(range: RangeInclusive<f64>, about: &str) -> Schema {
    of("number", about).with("minimum", *range.start()).with("maximum", *range.end())
}

/// A duration as [`parse_duration`](crate::scenario::parse_duration) reads it; how long it may be is
/// not said.
pub(super) fn duration(about: &str) -> Schema {
    matching(&format!(r"^\s*{DURATION}\s*$"), about)
}

/// A regular expression for the duration itself, with all names that units have.
pub(super) const DURATION: &str = concat!(
    r"(0|([0-9][0-9\s]*(\.[0-9\s]+)?(",
    r"n(anos|sec|s)|us(ec)?|µs|m(illis|sec|s|in(ute)?s?)?|s(ec(ond)?s?)?|h(ours?|rs?)?|",
    r"d(ays?)?|w(eeks?|ks?)?|M|months?|y(ears?|rs?)?",
    r")\s*)+)",
);

/// A JSON pointer (RFC 6901).
pub(super) fn pointer(about: &str) -> Schema {
    matching(POINTER, about)
}

/// A regular expression for the pointer.
pub(super) const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// A table with these keys and no others.
pub(super) fn table<const N: usize>(about: &str, keys: [(&str, Schema); N]) -> Schema {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema.into())).collect();
    of("object", about).with("properties", keys).with("additionalProperties", false)
}

/// A table whose keys are names of the user's choice.
pub(super) fn named(about: &str, value: Schema) -> Schema {
    of("object", about).with("additionalProperties", value)
}

/// An array of such values.
pub(super) fn array(about: &str, item: Schema) -> Schema {
    of("array", about).with("items", item)
}
