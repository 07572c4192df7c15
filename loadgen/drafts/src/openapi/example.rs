//! Values by their schemas (JSON Schema, as OpenAPI 3.0 and 3.1 have it).

use regex::Regex;
use serde_json::{Map, Value as Json};

use super::document::Document;
use super::pattern;
use crate::Value;
use crate::draft::escape;
use crate::secrets::{Variables, is_secret, looks_secret};

/// Deepest value that is made: schemas may contain themselves.
const DEEPEST: usize = 8;

/// Most parts of one value: schemas may contain themselves many times.
const MOST_PARTS: u32 = 2_000;

/// Longest text that is made for a schema that asks for a long one, in characters.
const LONGEST: usize = 2_000;

/// Ends of names whose values are mostly unique to a record, or differ; what is generated for them, and
/// the longest text that this gives.
const GENERATED: [(&[&str], &str, &str); 3] = [
    (
        &["email", "mail"],
        "{{ uuid }}@example.org",
        "00000000-0000-4000-8000-000000000000@example.org",
    ),
    (
        &["username", "login", "nickname", "slug"],
        "user-{{ uuid }}",
        "user-00000000-0000-4000-8000-000000000000",
    ),
    (&["name"], "{{ name }}", "Bartholomew Featherstonehaugh Smith"),
];

/// Makes values for requests.
pub(super) struct Examples<'a> {
    document: &'a Document,
    /// Variables for what is secret by its name.
    pub(super) variables: Variables,
    /// Number of parts that the value at hand may still have.
    left: u32,
}

impl<'a> Examples<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self { document, variables: Variables::default(), left: 0 }
    }

    /// Returns the example that a parameter or a media type gives itself, or one by its schema.
    pub(super) fn of(&mut self, name: &str, json: &Json) -> Option<Value> {
        if let Some(said) = self.said(name, json) {
            return Some(said);
        }
        let schema = match json.get("schema") {
            Some(schema) => schema,
            // A parameter may have a media type instead of a schema.
            None => json["content"].as_object()?.values().next()?.get("schema")?,
        };
        self.left = MOST_PARTS;
        let value = self.value(name, schema, 0)?;
        Some(self.hide(name, value))
    }

    /// Replaces what is secret in a value, by its name or by its form: also an example may be somebody's.
    fn hide(&mut self, name: &str, value: Value) -> Value {
        match value {
            Value::String(text) if text.starts_with("{{ ") => Value::String(text),
            Value::String(text) if is_secret(name) || looks_secret(&text) => {
                Value::String(self.variables.placeholder(name, name))
            }
            Value::Integer(_) if is_secret(name) => {
                Value::String(self.variables.placeholder(name, name))
            }
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.hide(name, item)).collect())
            }
            Value::Table(members) => {
                let hidden = members.into_iter().map(|(key, value)| {
                    let value = self.hide(&key, value);
                    (key, value)
                });
                Value::Table(hidden.collect())
            }
            other => other,
        }
    }

    /// Returns the example that the document itself gives: in `example`, `examples`, `default`, `enum` or
    /// `const`, of the object or of its schema.
    pub(super) fn said(&mut self, name: &str, json: &Json) -> Option<Value> {
        let of_object = json.get("example").or_else(|| {
            let first = json["examples"].as_object()?.values().next()?;
            self.document.resolve(first).get("value")
        });
        let schema = self.document.resolve(&json["schema"]);
        let said = of_object.and_then(Value::of_json).or_else(|| said_by(schema))?;
        Some(self.hide(name, said))
    }

    /// Returns a value of a schema. Strings may have placeholders.
    fn value(&mut self, name: &str, schema: &Json, depth: usize) -> Option<Value> {
        if depth > DEEPEST || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let schema = self.document.resolve(schema);
        if is_secret(name) && matches!(type_of(schema), Some("string") | None) {
            return Some(Value::String(self.variables.placeholder(name, name)));
        }
        if let Some(said) = said_by(schema) {
            return Some(said);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            return self.all_of(name, schema, parts, depth);
        }
        for one in ["oneOf", "anyOf"] {
            let alternatives = schema[one].as_array().into_iter().flatten();
            let mut real =
                alternatives.filter(|it| type_of(self.document.resolve(it)) != Some("null"));
            if let Some(first) = real.next() {
                return self.value(name, first, depth + 1);
            }
        }
        match type_of(schema)? {
            "object" => self.object(schema, depth),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 20);
                let before = self.left;
                let item = self.value(name, &schema["items"], depth + 1);
                let parts = (before - self.left).max(1);
                let number = least.min(1 + u64::from(self.left / parts));
                self.left -= parts * (number as u32 - 1);
                Some(Value::Array(item.into_iter().cycle().take(number as usize).collect()))
            }
            "integer" | "number" => Some(number(schema)),
            "boolean" => Some(Value::Boolean(true)),
            "string" => Some(string(name, schema)),
            _ => None,
        }
    }

    /// Returns what all of several schemas, and the schema around them, ask for.
    fn all_of(&mut self, name: &str, schema: &Json, parts: &[Json], depth: usize) -> Option<Value> {
        if let [only] = parts
            && schema.get("properties").is_none()
        {
            return self.value(name, only, depth + 1);
        }
        let mut around = Map::clone(schema.as_object()?);
        around.remove("allOf");
        let mut all = Vec::new();
        for part in parts.iter().chain([&Json::Object(around)]) {
            if let Some(Value::Table(members)) = self.value(name, part, depth + 1) {
                all.retain(|(key, _)| members.iter().all(|(other, _)| other != key));
                all.extend(members);
            }
        }
        Some(Value::Table(all))
    }

    /// Returns an object with the properties that it must have, or with all if it needs none of them.
    fn object(&mut self, schema: &Json, depth: usize) -> Option<Value> {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let mut members = Vec::new();
        for (name, property) in properties {
            let is_wanted = required.is_empty() || required.contains(&name.as_str());
            if !is_wanted || self.document.resolve(property)["readOnly"] == Json::Bool(true) {
                continue;
            }
            match self.value(name, property, depth + 1) {
                Some(value) => members.push((name.clone(), value)),
                None if required.contains(&name.as_str()) => return None,
                None => {}
            }
        }
        Some(Value::Table(members))
    }
}

/// Returns the type of a schema, the first one that is not `null`; by its other keys if it has none.
pub(super) fn type_of(schema: &Json) -> Option<&str> {
    match &schema["type"] {
        Json::String(name) => Some(name),
        Json::Array(names) => {
            let mut names = names.iter().filter_map(Json::as_str);
            let first = names.clone().next();
            names.find(|name| *name != "null").or(first)
        }
        _ if schema.get("properties").is_some() => Some("object"),
        _ if schema.get("items").is_some() => Some("array"),
        _ => None,
    }
}

fn said_by(schema: &Json) -> Option<Value> {
    let first = |name: &str| schema[name].as_array()?.iter().find(|it| !it.is_null());
    let said = schema.get("const").or_else(|| schema.get("example"));
    let said = said.or_else(|| first("examples")).or_else(|| schema.get("default"));
    said.filter(|it| !it.is_null()).or_else(|| first("enum")).and_then(Value::of_json)
}

/// Returns a number within the bounds of its schema: a random integer where there is room.
fn number(schema: &Json) -> Value {
    let bound = |name: &str| schema[name].as_f64();
    // In OpenAPI 3.0, `exclusiveMinimum` is `true` beside a minimum.
    let is_open = |name: &str| schema[name] == Json::Bool(true);
    let above = bound("exclusiveMinimum")
        .or_else(|| is_open("exclusiveMinimum").then(|| bound("minimum"))?);
    let below = bound("exclusiveMaximum")
        .or_else(|| is_open("exclusiveMaximum").then(|| bound("maximum"))?);
    let least = above.map(|it| it.floor() + 1.0).or(bound("minimum").map(f64::ceil));
    let most = below.map(|it| it.ceil() - 1.0).or(bound("maximum").map(f64::floor));
    let (least, most) = match (least, most) {
        (None, None) => (1.0, 100.0),
        (Some(least), None) => (least, least + 99.0),
        (None, Some(most)) => (if most >= 1.0 { 1.0 } else { most - 99.0 }, most),
        // Enough to differ: the greatest page or number of items would be no usual request.
        (Some(least), Some(most)) => (least, most.min(least + 99.0)),
    };
    if least > most {
        // Only a fraction fits between the bounds.
        let between = |a: Option<f64>, b: Option<f64>| Some((a? + b?) / 2.0);
        let low = above.or(bound("minimum"));
        let high = below.or(bound("maximum"));
        return between(low, high).map_or(Value::Integer(1), Value::Float);
    }
    #[expect(clippy::cast_possible_truncation, reason = "what is too large for it is clamped")]
    let (least, most, step) = (least as i64, most as i64, bound("multipleOf").map(|it| it as i64));
    match step {
        // A multiple, not a random number that may be none.
        Some(step) if step > 1 => Value::Integer(
            least
                .div_euclid(step)
                .saturating_add(i64::from(least.rem_euclid(step) > 0))
                .saturating_mul(step),
        ),
        _ if least == most => Value::Integer(least),
        _ => Value::String(format!("{{{{ int {least} {most} }}}}")),
    }
}

/// Returns a string by its format, its pattern, its name and its length.
fn string(name: &str, schema: &Json) -> Value {
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let most = schema["maxLength"].as_u64().map_or(usize::MAX, |most| most as usize);
    let lower = name.to_ascii_lowercase().replace(['_', '-'], "");
    let by_format = match schema["format"].as_str() {
        Some("uuid" | "uuid4") => Some("{{ uuid }}"),
        Some("date-time") => Some("2026-01-31T12:00:00Z"),
        Some("date") => Some("2026-01-31"),
        Some("time") => Some("12:00:00"),
        Some("duration") => Some("PT1H"),
        // Unique, as addresses of accounts mostly must be.
        Some("email" | "idn-email") => Some("{{ uuid }}@example.org"),
        Some("uri" | "url" | "uri-reference" | "iri") => Some("https://example.org/"),
        Some("hostname") => Some("example.org"),
        Some("ipv4") => Some("192.0.2.1"),
        Some("ipv6") => Some("2001:db8::1"),
        Some("byte") => Some("bG9hZGdlbg=="),
        _ => None,
    };
    if let Some(text) = by_format {
        return Value::from(text);
    }
    let fits = |text: &str| {
        let length = text.chars().count();
        let matches = |pattern| Regex::new(pattern).is_ok_and(|it| it.is_match(text));
        (least..=most).contains(&length) && schema["pattern"].as_str().is_none_or(matches)
    };
    for (names, template, sample) in GENERATED {
        if names.iter().any(|known| lower.ends_with(known)) && fits(sample) {
            return Value::from(template);
        }
    }
    if let Some(text) = schema["pattern"].as_str().and_then(|it| pattern::example(it, least)) {
        return Value::String(escape(&text));
    }
    let length = "example".len().max(least).min(most).min(LONGEST);
    Value::String("example".chars().chain(std::iter::repeat('e')).take(length).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str, schema: Json) -> Option<Value> {
        let document = json!({ "openapi": "3.1.0", "components": { "schemas": {
            "Self": { "type": "object", "properties": { "next": { "$ref": "#/components/schemas/Self" } } },
            "Circle": { "$ref": "#/components/schemas/Circle" },
            "Kind": { "enum": ["new", "used"] },
        } } });
        let document = Document::read(&document.to_string()).unwrap();
        Examples::new(&document).of(name, &json!({ "schema": schema }))
    }

    #[test]
    fn values_meet_their_schemas() {
        for (schema, value) in [
            (json!({ "type": "integer" }), Value::from("{{ int 1 100 }}")),
            (json!({ "type": "integer", "minimum": 1, "maximum": 5.0 }), "{{ int 1 5 }}".into()),
            (
                json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1000 }),
                "{{ int 1 100 }}".into(),
            ),
            (
                json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 2 }),
                "{{ int 1 2 }}".into(),
            ),
            (json!({ "type": "number", "minimum": 0.25, "maximum": 0.75 }), Value::Float(0.5)),
            (json!({ "type": "integer", "minimum": 7, "multipleOf": 5 }), Value::Integer(10)),
            (json!({ "type": "integer", "maximum": -3 }), "{{ int -102 -3 }}".into()),
            (json!({ "type": ["null", "string"], "maxLength": 4 }), "exam".into()),
            (json!({ "type": "string", "minLength": 9 }), "exampleee".into()),
            (json!({ "type": "string", "pattern": "^[A-Z]{2}$" }), "AA".into()),
            (json!({ "type": "string", "format": "uuid" }), "{{ uuid }}".into()),
            (json!({ "$ref": "#/components/schemas/Kind" }), "new".into()),
            (json!({ "anyOf": [{ "type": "null" }, { "type": "boolean" }] }), true.into()),
            (json!({ "type": "string", "example": "{{ x }}" }), "{{{{ x }}".into()),
            (
                json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2 }),
                vec![true.into(), true.into()].into(),
            ),
            (
                json!({ "allOf": [{ "properties": { "a": { "const": 1 } } }, { "properties": { "b": { "default": 2 } } }] }),
                Value::table([("a", 1), ("b", 2)]),
            ),
        ] {
            assert_eq!(of("x", schema.clone()), Some(value), "{schema}");
        }
        assert_eq!(
            of("password", json!({ "type": "string" })),
            Some("{{ env API_PASSWORD }}".into())
        );
        assert_eq!(of("name", json!({ "type": "string" })), Some("{{ name }}".into()));
        assert_eq!(
            of("name", json!({ "type": "string", "maxLength": 20 })),
            Some("example".into())
        );
        let pattern = json!({ "type": "string", "pattern": r"^[\w.@+-]+$" });
        assert_eq!(of("username", pattern), Some("user-{{ uuid }}".into()));
    }

    #[test]
    fn an_object_has_what_it_must_have() {
        let properties = json!({ "a": { "type": "boolean" }, "b": { "type": "boolean" }, "c": { "readOnly": true } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["b", "c"] });
        assert_eq!(of("x", schema), Some(Value::table([("b", true)])));
        let schema = json!({ "type": "object", "properties": properties });
        assert_eq!(of("x", schema), Some(Value::table([("a", true), ("b", true)])));
    }

    #[test]
    fn schemas_in_a_circle_end() {
        assert!(of("x", json!({ "$ref": "#/components/schemas/Self" })).is_some());
        assert_eq!(of("x", json!({ "$ref": "#/components/schemas/Circle" })), None);
    }
}
