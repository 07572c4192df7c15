//! Schemas of the kinds of values in a scenario file.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// Schema of a value.
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

    /// Sets the value that applies if the key is missing.
    pub(super) fn or(self, default: impl Into<Value>) -> Self {
        self.with("default", default)
    }

    /// Requires these keys in a table.
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

    /// Applies `schema`, too, to a table that has `key`.
    pub(super) fn beside(mut self, key: &str, schema: Value) -> Self {
        self.0.entry("dependencies").or_insert_with(|| json!({}))[key] = schema;
        self
    }
}

/// Returns an array of schemas, each of which requires one of these keys in a table.
pub(super) fn each_required(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// Returns the schema of a table that has none of these keys.
pub(super) fn without(keys: &[&str]) -> Value {
    partly(keys.iter().map(|key| (*key, Value::Bool(false))))
}

/// Returns a schema for some keys of a table whose keys are defined elsewhere. JSON Schema allows
/// other keys by default, but tombi needs an explicit permission.
pub(super) fn partly<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "properties": keys, "additionalProperties": true })
}

/// Returns the schema of a table in which `key` is this word.
pub(super) fn says(key: &str, word: &str) -> Value {
    let mut table = partly([(key, json!({ "const": word }))]);
    table["required"] = json!([key]);
    table
}

fn of(kind: &str, about: &str) -> Schema {
    Schema(Map::new()).with("type", kind).with("description", about)
}

/// Any TOML value.
pub(super) fn any(about: &str) -> Schema {
    Schema(Map::new()).with("description", about)
}

/// Any string.
pub(super) fn text(about: &str) -> Schema {
    of("string", about)
}

/// A string that matches a regular expression, which must contain its anchors.
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

/// An integer or a float.
pub(super) fn number(range: RangeInclusive<f64>, about: &str) -> Schema {
    of("number", about).with("minimum", *range.start()).with("maximum", *range.end())
}

/// A duration as [`parse_duration`](crate::scenario::parse_duration)
/// reads it. The schema does not limit the duration.
pub(super) fn duration(about: &str) -> Schema {
    matching(&format!(r"^\s*{DURATION}\s*$"), about)
}

/// Regular expression for the duration without outer spaces, with all names of units.
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

/// Regular expression for a JSON pointer.
pub(super) const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// A table with these keys and no others.
pub(super) fn table<const N: usize>(about: &str, keys: [(&str, Schema); N]) -> Schema {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema.into())).collect();
    of("object", about).with("properties", keys).with("additionalProperties", false)
}

/// A table whose keys are names of the author's choice.
pub(super) fn named(about: &str, value: Schema) -> Schema {
    of("object", about).with("additionalProperties", value)
}

/// An array of items with this schema.
pub(super) fn array(about: &str, item: Schema) -> Schema {
    of("array", about).with("items", item)
}
