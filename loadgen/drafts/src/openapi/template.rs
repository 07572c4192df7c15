//! Values as parts of requests that are text.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Value;

/// What is encoded within a segment of a path: all but the unreserved characters of RFC 3986, 2.3.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is encoded of the path of a document: its slashes and other delimiters stay.
const PATH: &AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'#')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// Returns a value as the text of a header: nothing for an array or a table.
pub(super) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.clone(),
        Value::Integer(integer) => integer.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Array(_) | Value::Table(_) => return None,
    })
}

/// Returns a value as a segment of a path. A placeholder is encoded when it is sent.
pub(super) fn segment(value: &Value) -> Option<String> {
    let text = text(value)?;
    let is_template = text.contains("{{ ");
    match text.as_str() {
        // They would be removed from the path.
        "" | "." | ".." => None,
        _ if is_template => Some(text),
        _ => Some(utf8_percent_encode(&text.replace("{{{{", "{{"), SEGMENT).to_string()),
    }
}

/// Returns the constant part of a path.
pub(super) fn constant(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// Adds a parameter to a query or a form: an object by its members, as `deepObject` sends it.
pub(super) fn pairs(name: &str, value: Value, pairs: &mut Vec<(String, Value)>) {
    match value {
        Value::Table(members) => {
            members.into_iter().for_each(|(member, value)| {
                self::pairs(&format!("{name}[{member}]"), value, pairs)
            });
        }
        // Only the plain items of an array can be sent.
        Value::Array(items) => {
            let plain = items.into_iter().filter(|it| text(it).is_some()).collect();
            pairs.push((name.to_owned(), Value::Array(plain)));
        }
        plain => pairs.push((name.to_owned(), plain)),
    }
}
