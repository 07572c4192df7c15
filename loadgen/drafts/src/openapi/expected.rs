//! The expected response of an operation, by the document.

use serde_json::Value as Json;

use super::document::{Document, Operation, is_json};
use super::example::type_of;
use crate::Value;
use crate::pointer;

/// Most members of an object whose types are looked at: each costs the generator time.
const MOST_MEMBERS: usize = 5;

/// Returns `expect` of a step: the documented statuses of success, and the types of what each response in
/// JSON must have.
pub(super) fn expect(document: &Document, operation: &Operation<'_>) -> Option<Value> {
    let responses = document.responses(operation);
    let of_class = |class: char| -> Vec<Value> {
        let all = responses.iter().filter(|(status, _)| status.starts_with(class));
        all.filter_map(|(status, _)| match status.parse::<i64>() {
            Ok(number) => Some(Value::Integer(number)),
            Err(_) if status[1..].eq_ignore_ascii_case("xx") => {
                Some(Value::String(format!("{class}xx")))
            }
            Err(_) => None,
        })
        .collect()
    };
    let successes = of_class('2');
    let statuses = if successes.is_empty() { of_class('3') } else { successes };
    let mut keys = Vec::new();
    match statuses.as_slice() {
        [] => {}
        [only] => keys.push(("status".to_owned(), only.clone())),
        _ => keys.push(("status".to_owned(), Value::Array(statuses.clone()))),
    }
    let contents = responses.iter().filter(|(status, _)| status.starts_with('2'));
    let media_types: Vec<&String> =
        contents.filter_map(|(_, it)| it["content"].as_object()).flat_map(|it| it.keys()).collect();
    if media_types.iter().any(|it| it.starts_with("text/event-stream")) {
        keys.push(("stream".to_owned(), Value::Boolean(true)));
    } else if statuses.len() == 1
        && !media_types.is_empty()
        && media_types.iter().all(|it| is_json(it))
        && operation.method != "head"
    {
        let types = types(document, document.answer(operation));
        if !types.is_empty() {
            keys.push(("json_type".to_owned(), Value::Table(types)));
        }
    }
    (!keys.is_empty()).then_some(Value::Table(keys))
}

/// Returns JSON pointers with the types that each value of a schema has there.
fn types(document: &Document, schema: &Json) -> Vec<(String, Value)> {
    let Some(root) = certain(document, schema) else { return Vec::new() };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let members = required.filter_map(|name| {
        let type_of = certain(document, &schema["properties"][name])?;
        let pointer = format!("/{}", pointer::escaped(name));
        Some((pointer, Value::from(type_of)))
    });
    let members: Vec<_> =
        if root == "object" { members.take(MOST_MEMBERS).collect() } else { Vec::new() };
    if members.is_empty() { vec![(String::new(), Value::from(root))] } else { members }
}

/// Returns the only type that a value of a schema can have, if there is one.
fn certain<'a>(document: &'a Document, schema: &'a Json) -> Option<&'a str> {
    let schema = document.resolve(schema);
    let may_be_null = schema["nullable"] == Json::Bool(true);
    let has_one_type = matches!(&schema["type"], Json::String(_))
        || matches!(&schema["type"], Json::Array(types) if types.len() == 1);
    match type_of(schema)? {
        _ if may_be_null || !has_one_type => None,
        "integer" | "number" => Some("number"),
        known @ ("array" | "boolean" | "object" | "string") => Some(known),
        _ => None,
    }
}
