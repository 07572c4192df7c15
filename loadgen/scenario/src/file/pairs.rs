//! Names and values of a query or a form.

use toml::de::DeValue;

use super::json;
use super::keys::schema::{Schema, any, named};
use super::reader::{Faults, Value};
use crate::escape::percent_encoded;
use crate::template::{Piece, Template};

/// Returns the schema of a table of names and values, whose strings are templates.
pub(super) fn schema() -> Schema {
    let scalar = serde_json::json!({ "type": ["string", "number", "boolean"] });
    let several = serde_json::json!({ "type": "array", "items": scalar });
    named(
        any()
            .with("description", "Value, a template, or an array of values.")
            .with("oneOf", vec![scalar, several]),
    )
}

const VALUE: &str = "a string, a number, true or false, or an array of these";

/// Reads a table called `name` as `a=1&b=2`. Names and values are percent-encoded (RFC 3986, section
/// 2.1), and the items of an array are several values of one name.
pub(super) fn read(
    value: &Value<'_>,
    name: &'static str,
    faults: &mut Faults<'_>,
) -> Option<Template> {
    let mut pairs = Template::default();
    let mut is_whole = true;
    for field in value.table(name, faults)?.rest() {
        let values = match field.node.get_ref() {
            DeValue::Array(_) => field.array(VALUE, faults).unwrap_or_default(),
            _ => vec![field.clone()],
        };
        for value in values {
            let Some(text) = read_value(&value, faults) else {
                is_whole = false;
                continue;
            };
            let between = if pairs.pieces.is_empty() { "" } else { "&" };
            pairs.push(Piece::Literal(format!("{between}{}=", percent_encoded(field.key))));
            pairs.append(text);
        }
    }
    is_whole.then_some(pairs)
}

fn read_value(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Template> {
    match value.node.get_ref() {
        DeValue::String(text) => {
            let parsed = Template::parse_path(text, &faults.scope);
            Some(value.parsed(text, parsed, faults)?.map_literals(percent_encoded))
        }
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
            Some(Template::literal(percent_encoded(&json::read(value, faults)?.to_string())))
        }
        _ => value.wrong_type(VALUE, faults),
    }
}
