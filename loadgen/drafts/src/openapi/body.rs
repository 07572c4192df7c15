//! Bodies of requests by their media types.

use serde_json::{Value as Json, json};

use super::document::{Document, Operation, is_json};
use super::example::Examples;
use super::template;
use crate::Value;

/// A body, or why there is none.
pub(super) enum Drafted {
    /// The document describes no body.
    Nothing,
    /// Value of `body`, with comments above it.
    Body(Value, Vec<String>),
    /// No body can be drafted: the decision that a person must take first.
    Unknown(String),
}

/// Drafts the body of an operation, in the media type that loadgen describes best.
pub(super) fn draft(
    document: &Document,
    operation: &Operation<'_>,
    examples: &mut Examples<'_>,
) -> Drafted {
    let mut bodies = document.body(operation);
    bodies.sort_by_key(|(media_type, _)| rank(media_type));
    let Some((media_type, json)) = bodies.first() else { return Drafted::Nothing };
    let unknown =
        |what: &str| Drafted::Unknown(format!("Decide: the body, {what} ({media_type})."));
    let value = examples.of("body", json);
    let body = |kind: &str, value: Value| {
        let mut keys = vec![(kind.to_owned(), value)];
        let usual = match kind {
            "json" => media_type.eq_ignore_ascii_case("application/json"),
            "form" => true,
            _ => media_type.eq_ignore_ascii_case("text/plain"),
        };
        if !usual {
            keys.push(("content_type".to_owned(), Value::from(*media_type)));
        }
        Value::Table(keys)
    };
    match (rank(media_type), value) {
        (0, Some(value)) => Drafted::Body(body("json", value), Vec::new()),
        (1, Some(Value::Table(members))) => {
            let mut form = Vec::new();
            members.into_iter().for_each(|(name, value)| template::pairs(&name, value, &mut form));
            Drafted::Body(body("form", Value::Table(form)), Vec::new())
        }
        (2, Some(Value::Table(members))) => multipart(document, &json["schema"], members),
        (3, value) => {
            let text =
                value.as_ref().and_then(template::text).unwrap_or_else(|| "example".to_owned());
            Drafted::Body(body("text", Value::String(text)), Vec::new())
        }
        (4, _) => unknown("a file, such as body = { file = \"…\" }"),
        _ => unknown("for which the document has no example and no schema"),
    }
}

/// Returns how well loadgen describes a body: the smaller, the better.
fn rank(media_type: &str) -> u8 {
    match media_type.split(';').next().unwrap_or_default().trim() {
        name if is_json(name) => 0,
        "application/x-www-form-urlencoded" => 1,
        "multipart/form-data" => 2,
        name if name.starts_with("text/") || name.ends_with("xml") => 3,
        _ => 4,
    }
}

fn multipart(document: &Document, schema: &Json, members: Vec<(String, Value)>) -> Drafted {
    let schema = document.resolve(schema);
    let is_file = |name: &str| {
        let property = document.resolve(&schema["properties"][name]);
        let item = document.resolve(&property["items"]);
        [property, item]
            .into_iter()
            .any(|it| it["format"] == json!("binary") || it.get("contentMediaType").is_some())
    };
    let mut about = Vec::new();
    let mut fields = Vec::new();
    for (name, value) in members {
        if is_file(&name) {
            let file = Value::table([("text", "example"), ("filename", "example.txt")]);
            about.push(format!(
                "Decide: the content of {name}, such as {{ file = \"photo.jpg\" }}."
            ));
            fields.push((name, file));
        } else {
            template::pairs(&name, value, &mut fields);
        }
    }
    Drafted::Body(Value::table([("multipart", Value::Table(fields))]), about)
}
