//! Values as parts of requests that are text.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Value;

/// Characters that are encoded within a segment of a path: all but the unreserved characters of RFC 3986, 2.3.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that are encoded in the path of a document: slashes and other delimiters stay.
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
    // Literal braces are doubled once more.
    let is_template = text.replace("{{{{", "").contains("{{ ");
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

/// Sets a parameter of a query or a form: an object by its members, as `deepObject` sends it.
pub(super) fn pairs(name: &str, value: Value, all: &mut Vec<(String, Value)>) {
    let plain = match value {
        Value::Table(members) => {
            for (member, value) in members {
                pairs(&format!("{name}[{member}]"), value, all);
            }
            return;
        }
        // Only the plain items of an array can be sent.
        Value::Array(items) => {
            Value::Array(items.into_iter().filter(|it| text(it).is_some()).collect())
        }
        plain => plain,
    };
    all.retain(|(known, _)| known != name);
    all.push((name.to_owned(), plain));
}
