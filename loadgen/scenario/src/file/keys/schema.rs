//! Makes JSON Schemas of values in a scenario file.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// JSON Schema of one value in a scenario file.
#[derive(Clone)]
pub(in crate::file) struct Schema(Map<String, Value>);

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        Self::Object(schema.0)
    }
}

impl Schema {
    /// Adds a keyword of JSON Schema, such as `minItems`.
    pub(in crate::file) fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Replaces the schema of a key of a table.
    pub(in crate::file) fn narrowed(mut self, key: &str, schema: Self) -> Self {
        if let Some(keys) = self.0.get_mut("properties") {
            keys[key] = schema.into();
        }
        self
    }

    /// Requires exactly one of these keys in a table.
    pub(in crate::file) fn requires_one_of(self, keys: &[&str]) -> Self {
        self.with("oneOf", each_required(keys))
    }

    /// Forbids `others` in a table that has `key`.
    pub(in crate::file) fn excludes(self, key: &str, others: &[&str]) -> Self {
        self.beside(key, without(others))
    }

    /// Applies `schema` in addition to this schema if the table has `key`.
    pub(in crate::file) fn beside(mut self, key: &str, schema: Value) -> Self {
        self.0.entry("dependencies").or_insert_with(|| json!({}))[key] = schema;
        self
    }
}

/// Returns an array with one schema for each of `keys`: a table must have the schema's key.
pub(in crate::file) fn each_required(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({ "required": [key] })).collect()
}

/// Returns the schema of a table that must have none of these keys.
pub(in crate::file) fn without(keys: &[&str]) -> Value {
    partly(keys.iter().map(|key| (*key, Value::Bool(false))))
}

/// Returns a schema for some keys of a table; another schema defines the other keys. JSON Schema
/// allows other keys by default, but the TOML tool tombi needs an explicit permission.
pub(in crate::file) fn partly<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let keys: Map<String, Value> =
        keys.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({ "properties": keys, "additionalProperties": true })
}

/// Returns the schema of a table in which the value of `key` must be `word`.
pub(in crate::file) fn says(key: &str, word: &str) -> Value {
    let mut table = partly([(key, json!({ "const": word }))]);
    table["required"] = json!([key]);
    table
}

/// Returns the schema of a value of a type of JSON.
pub(in crate::file) fn of(kind: &str) -> Schema {
    Schema(Map::new()).with("type", kind)
}

/// Returns the schema of any TOML value.
pub(in crate::file) fn any() -> Schema {
    Schema(Map::new())
}

/// Returns the schema of a string; `about` describes the value to authors.
pub(in crate::file) fn text(about: &str) -> Schema {
    of("string").with("description", about)
}

/// Returns the schema of a string that matches a regular expression. The schema adds no anchors
/// (`^`, `$`), so `pattern` must contain them.
pub(in crate::file) fn matching(pattern: &str, about: &str) -> Schema {
    text(about).with("pattern", pattern)
}

/// Returns the schema of a string that is not blank.
pub(in crate::file) fn name(about: &str) -> Schema {
    matching("[^ \\t\\r\\n]", about)
}

/// Returns the schema of a string that must be one of the words in `choices`.
pub(in crate::file) fn choice<T>(choices: &[(&str, T)], about: &str) -> Schema {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    text(about).with("enum", words)
}

/// Returns the schema of a whole number in `range`.
pub(in crate::file) fn integer(range: RangeInclusive<u64>, about: &str) -> Schema {
    of("integer")
        .with("description", about)
        .with("minimum", *range.start())
        .with("maximum", *range.end())
}

/// Returns the schema of a duration as [`parse_duration`](crate::parse_duration) reads
/// durations, but without the largest duration.
pub(in crate::file) fn time() -> Schema {
    of("string").with("pattern", format!(r"^\s*{DURATION}\s*$"))
}

/// Returns the schema of a value of one of several forms.
pub(in crate::file) fn one_of<const N: usize>(forms: [Schema; N]) -> Schema {
    Schema(Map::new()).with("oneOf", forms.map(Value::from).to_vec())
}

/// Regular expression for a duration, with all names of units. Does not match spaces around the
/// duration.
pub(in crate::file) const DURATION: &str = concat!(
    r"(0|([0-9][0-9\s]*(\.[0-9\s]+)?(",
    r"n(anos|sec|s)|us(ec)?|µs|m(illis|sec|s|in(ute)?s?)?|s(ec(ond)?s?)?|h(ours?|rs?)?|",
    r"d(ays?)?|w(eeks?|ks?)?|M|months?|y(ears?|rs?)?",
    r")\s*)+)",
);

/// Returns the schema of a JSON pointer (RFC 6901).
pub(in crate::file) fn pointer(about: &str) -> Schema {
    matching(POINTER, about)
}

/// Regular expression for a JSON pointer (RFC 6901).
pub(in crate::file) const POINTER: &str = "^(/([^~]|~[01])*)?$";

/// Returns the schema of a table that may have these keys and no others.
pub(in crate::file) fn closed(keys: Map<String, Value>) -> Schema {
    of("object").with("properties", keys).with("additionalProperties", false)
}

/// Returns the schema of a table in which the author of the file chooses the keys. `value` is the
/// schema of each value.
pub(in crate::file) fn named(value: Schema) -> Schema {
    of("object").with("additionalProperties", value)
}

/// Returns the schema of an array of items with the schema `item`.
pub(in crate::file) fn array(item: Schema) -> Schema {
    of("array").with("items", item)
}
