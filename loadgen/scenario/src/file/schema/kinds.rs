//! Schemas of the kinds of values in a scenario file.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// JSON Schema of one value in a scenario file.
#[derive(Clone)]
pub(super) struct Schema(Map<String, Value>);

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        Self::Object(schema.0)
    }
}

impl Schema {
    /// Adds a keyword of JSON Schema, such as `minItems`.
    pub(super) fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Sets the value that applies if the key is missing.
    pub(super) fn or(self, default: impl Into<Value>) -> Self {
        self.with("default", default)
    }

    /// Requires all these keys in a table.
    pub(super) fn requires<const N: usize>(self, keys: [&str; N]) -> Self {
        self.with("required", keys.to_vec())
    }

    /// Requires exactly one of these keys in a table.
    pub(super) fn requires_one_of(self, keys: &[&str]) -> Self {
        self.with("oneOf", each_required(keys))
    }

    /// Forbids `others` in a table that has `key`.
    pub(super) fn excludes(self, key: &str, others: &[&str]) -> Self {
        self.beside(key, without(others))
    }

    /// Applies `schema` in addition to this schema if the table has `key`.
    pub(super) fn beside(mut self, key: &str, schema: Value) -> Self {
        self.0.entry("dependencies").or_insert_with(|| json!({}))[key] = schema;
        self
    }
}

/// Returns an array with one schema for each of `keys`: a table must have the schema's key.
pub(super) fn each_required(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// Returns the schema of a table that must have none of these keys.
pub(super) fn without(keys: &[&str]) -> Value {
    partly(keys.iter().map(|key| (*key, Value::Bool(false))))
}

/// Returns a schema for some keys of a table; another schema defines the other keys. JSON Schema
/// allows other keys by default, but the TOML tool tombi needs an explicit permission.
pub(super) fn partly<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "properties": keys, "additionalProperties": true })
}

/// Returns the schema of a table in which the value of `key` must be `word`.
pub(super) fn says(key: &str, word: &str) -> Value {
    let mut table = partly([(key, json!({ "const": word }))]);
    table["required"] = json!([key]);
    table
}

fn of(kind: &str, about: &str) -> Schema {
    Schema(Map::new()).with("type", kind).with("description", about)
}

/// Returns the schema of any TOML value; `about` describes the value to authors.
pub(super) fn any(about: &str) -> Schema {
    Schema(Map::new()).with("description", about)
}

/// Returns the schema of a string; `about` describes the value to authors.
pub(super) fn text(about: &str) -> Schema {
    of("string", about)
}

/// Returns the schema of a string that matches a regular expression. The schema adds no anchors
/// (`^`, `$`), so `pattern` must contain them.
pub(super) fn matching(pattern: &str, about: &str) -> Schema {
    text(about).with("pattern", pattern)
}

/// Returns the schema of a string that is not blank.
pub(super) fn name(about: &str) -> Schema {
    matching("[^ \\t\\r\\n]", about)
}

/// Returns the schema of a string that must be one of the words in `choices`.
pub(super) fn choice<T>(choices: &[(&str, T)], about: &str) -> Schema {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    text(about).with("enum", words)
}

/// Returns the schema of `true` or `false`.
pub(super) fn boolean(about: &str) -> Schema {
    of("boolean", about)
}

/// Returns the schema of a whole number in `range`.
pub(super) fn integer(range: RangeInclusive<u64>, about: &str) -> Schema {
    of("integer", about).with("minimum", *range.start()).with("maximum", *range.end())
}

/// Returns the schema of an integer or a float in `range`.
pub(super) fn number(range: RangeInclusive<f64>, about: &str) -> Schema {
    of("number", about).with("minimum", *range.start()).with("maximum", *range.end())
}

/// Returns the schema of a duration as [`parse_duration`](crate::parse_duration) reads
/// durations, but without the largest duration.
pub(super) fn duration(about: &str) -> Schema {
    matching(&format!(r"^\s*{DURATION}\s*$"), about)
}

/// Regular expression for a duration, with all names of units. Does not match spaces around the
/// duration.
pub(super) const DURATION: &str = concat!(
    r"(0|([0-9][0-9\s]*(\.[0-9\s]+)?(",
    r"n(anos|sec|s)|us(ec)?|µs|m(illis|sec|s|in(ute)?s?)?|s(ec(ond)?s?)?|h(ours?|rs?)?|",
    r"d(ays?)?|w(eeks?|ks?)?|M|months?|y(ears?|rs?)?",
    r")\s*)+)",
);

/// Returns the schema of a JSON pointer (RFC 6901).
pub(super) fn pointer(about: &str) -> Schema {
    matching(POINTER, about)
}

/// Regular expression for a JSON pointer (RFC 6901).
pub(super) const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// Returns the schema of a table that may have these keys and no others.
pub(super) fn table<const N: usize>(about: &str, keys: [(&str, Schema); N]) -> Schema {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema.into())).collect();
    of("object", about).with("properties", keys).with("additionalProperties", false)
}

/// Returns the schema of a table in which the author of the file chooses the keys. `value` is the
/// schema of each value.
pub(super) fn named(about: &str, value: Schema) -> Schema {
    of("object", about).with("additionalProperties", value)
}

/// Returns the schema of an array of items with the schema `item`.
pub(super) fn array(about: &str, item: Schema) -> Schema {
    of("array", about).with("items", item)
}
