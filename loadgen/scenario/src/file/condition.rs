//! Conditions of `expect` and of its `not`: what headers and body of a response must be, or must not.

use toml::de::DeValue;

use super::headers;
use super::keys::schema::{self, Schema};
use super::keys::{Custom, Key, Keys, Text, custom, key};
use super::pointer::check_pointer;
use super::reader::{Faults, Table, Value};
use super::{json, regex};
use crate::error::Fault;
use crate::expect::{Condition, HeaderCondition, JsonType};
use crate::method::Method;
use crate::size_range::SizeRange;
use crate::token::is_token;

const JSON_TYPES: [(&str, JsonType); 6] = [
    ("array", JsonType::Array),
    ("boolean", JsonType::Boolean),
    ("null", JsonType::Null),
    ("number", JsonType::Number),
    ("object", JsonType::Object),
    ("string", JsonType::String),
];

/// Keys of conditions that read the body of a response.
pub(super) const OF_BODY: [&str; 5] =
    [BODY.name(), REGEX.name(), JSON.name(), JSON_TYPE.name(), JSON_SIZE.name()];

/// Default of each key that reads the body.
const ANY_BODY: &str = "any body";

keys! {
    /// conditions of which the response must meet none
    pub(super) const KEYS: Keys = table("`not`");

    /// text that the body contains
    pub(super) const BODY: Key<Custom> =
        key("body", custom("string", || schema::of("string").with("minLength", 1))).otherwise(ANY_BODY);
    /// [expression](https://docs.rs/regex/latest/regex/#syntax) that has a match in the body
    pub(super) const REGEX: Key<Custom> = key("regex", custom("regular expression", || schema::of("string")))
        .otherwise(ANY_BODY);
    /// JSON pointers into the body, each with the value that it finds
    pub(super) const JSON: Key<Custom> =
        key("json", custom("table", || at_pointer(schema::any().with("description", "The value."))))
        .otherwise(ANY_BODY);
    /// JSON pointers, each with the type of the value that it finds: `"array"`, `"boolean"`, `"null"`,
    /// `"number"`, `"object"` or `"string"`
    pub(super) const JSON_TYPE: Key<Custom> =
        key("json_type", custom("table", || at_pointer(schema::choice(&JSON_TYPES, "Type of the value."))))
        .otherwise(ANY_BODY);
    /// JSON pointers, each with the size of the array (items), object (members) or string (characters) that it
    /// finds: a number, or a range such as `">= 1"` (`<`, `<=`, `>` or `>=`)
    pub(super) const JSON_SIZE: Key<Custom> = key("json_size", custom("table", size_of_value))
        .otherwise(ANY_BODY);
    /// names of headers, each with the whole value, with `{ regex = '…' }` for a part of the value, or with
    /// `true` for any value. The first header of a name counts
    pub(super) const HEADERS: Key<Custom> = key("headers", custom("table", headers_schema))
        .otherwise("any headers");
}

// The table of a part of a header, or of an end marker: each reader gives it a name of its own.
keys! {
    /// a part of the text
    pub(super) const PATTERN: Keys = table("a part of a text");

    /// regular expression that has a match in the text
    pub(super) const PART: Key<Text> = key("regex", Text).required();
}

fn headers_schema() -> Schema {
    let present = schema::any().with("description", "Any value.").with("const", true);
    let forms = [schema::text("The whole value."), PATTERN.schema(), present];
    let value = schema::one_of(forms).with("description", "Value of the header.");
    schema::named(value).with("propertyNames", headers::names())
}

fn at_pointer(value: Schema) -> Schema {
    schema::named(value).with("propertyNames", serde_json::json!({ "pattern": schema::POINTER }))
}

fn size_of_value() -> Schema {
    at_pointer(size_schema().with("description", "Size of the value, or a range such as \">= 1\"."))
}

/// Returns the schema of a size, or of a range of sizes.
pub(super) fn size_schema() -> Schema {
    let range = schema::matching(r"^\s*[<>]=?\s*[0-9]+\s*$", "A range, such as \">= 1\".");
    schema::one_of([schema::integer(0..=u64::MAX >> 1, "The number."), range])
}

const SIZE: &str = "a number, or a range such as \">= 1\"";

/// Takes all conditions of a table, which may have none.
pub(super) fn take_all(
    table: &mut Table<'_>,
    method: Option<&Method>,
    faults: &mut Faults<'_>,
) -> Vec<Condition> {
    let values = table.take_any(OF_BODY);
    if method == Some(&Method::HEAD) {
        values.iter().for_each(|value| refuse_for_head(value, faults));
    }
    let mut all = Vec::new();
    for value in &values {
        match value.key {
            "body" => all.extend(read_text(value, faults).map(Condition::Text)),
            "regex" => all.extend(regex::read(value, faults).map(Condition::Regex)),
            "json" => all.extend(at_pointers(value, "`json`", faults, |at, value, faults| {
                Some(Condition::Json(at, json::read(value, faults)?))
            })),
            "json_type" => {
                all.extend(at_pointers(value, "`json_type`", faults, |at, value, faults| {
                    Some(Condition::JsonType(at, value.choice(&JSON_TYPES, faults)?))
                }));
            }
            _ => all.extend(at_pointers(value, "`json_size`", faults, |at, value, faults| {
                Some(Condition::JsonSize(at, read_size(value, faults)?))
            })),
        }
    }
    if let Some(headers) = HEADERS.take(table) {
        all.extend(read_headers(&headers, faults));
    }
    all
}

/// Adds a fault for a key that reads the body of a response to `HEAD`.
fn refuse_for_head(value: &Value<'_>, faults: &mut Faults<'_>) {
    let message = format!("`{}` reads a body, but a response to HEAD has no body", value.key);
    let help = "use `get`, or expect only a status and headers";
    value.fault::<()>(message, "no body", help, faults);
}

fn read_text(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.text(faults)?;
    if text.is_empty() {
        let help = "leave out `body`, or write a text that an expected response contains";
        return value.fault(
            "`body` must not be empty: every response contains the empty text",
            "checks nothing",
            help,
            faults,
        );
    }
    Some(text.to_owned())
}

/// Reads a table from JSON pointers to values, and returns the condition of each pair.
fn at_pointers(
    value: &Value<'_>,
    name: &'static str,
    faults: &mut Faults<'_>,
    read: impl Fn(String, &Value<'_>, &mut Faults<'_>) -> Option<Condition>,
) -> Vec<Condition> {
    let Some(table) = value.table(name, faults) else { return Vec::new() };
    let conditions = table.rest().into_iter().filter_map(|value| {
        check_pointer(value.key, value.key_place.clone(), faults);
        read(value.key.to_owned(), &value, faults)
    });
    conditions.collect()
}

pub(super) fn read_size(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<SizeRange> {
    match value.node.get_ref() {
        DeValue::Integer(_) => Some(SizeRange::only(value.integer(0..=u64::MAX >> 1, faults)?)),
        DeValue::String(text) => match SizeRange::parse(text) {
            Some(size) => Some(size),
            None => {
                let message = format!("\"{text}\" is not a range of sizes");
                let help = "write a number, or <, <=, > or >= and a number";
                value.fault(message, "not a range", help, faults)
            }
        },
        _ => value.wrong_type(SIZE, faults),
    }
}

fn read_headers(value: &Value<'_>, faults: &mut Faults<'_>) -> Vec<Condition> {
    let Some(table) = value.table("`headers`", faults) else { return Vec::new() };
    let conditions = table.rest().into_iter().filter_map(|value| {
        if !is_token(value.key) {
            let fault = Fault::new(format!("`{}` is not a valid header name", value.key));
            let help = "use letters, digits and !#$%&'*+-.^_`|~";
            faults.add(fault.at(value.key_place.clone(), "invalid name").help(help));
        }
        let condition = read_header(&value, faults)?;
        Some(Condition::Header(value.key.to_ascii_lowercase(), condition))
    });
    conditions.collect()
}

fn read_header(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<HeaderCondition> {
    match value.node.get_ref() {
        DeValue::String(text) => Some(HeaderCondition::Equal(text.to_string())),
        DeValue::Boolean(true) => Some(HeaderCondition::Present),
        DeValue::Boolean(false) => {
            let message = format!("`{}`: false is not a condition of a header", value.key);
            let help =
                "for a header that must be absent, write not = { headers = { NAME = true } }";
            value.fault(message, "not a condition", help, faults)
        }
        DeValue::Table(_) => {
            let mut table = value.table("a header", faults)?;
            let pattern = PART.take(&mut table);
            let place = table.place.clone();
            table.finish(faults);
            let Some(pattern) = pattern else {
                let fault = Fault::new(format!("the header `{}` has no `regex`", value.key));
                let help = "write { regex = '…' }, a string for the whole value, or true";
                faults.add(fault.at(place, "no condition").help(help));
                return None;
            };
            regex::read(&pattern, faults).map(HeaderCondition::Regex)
        }
        _ => value.wrong_type("a string, { regex = '…' }, or true", faults),
    }
}
