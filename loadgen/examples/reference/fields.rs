//! Tables of the fields of a result document's types, and of the values of its enumerations. The
//! tables follow from the JSON Schemas of the documents.

use std::sync::LazyLock;

use loadgen::measure::ErrorKind;
use loadgen::record::{CapacityRecord, ExperimentRecord, RunRecord, RunsRecord, json_schema};
use serde_json::{Map, Value};

use crate::markdown::{self, any_of, phrase};

/// Name of a type, and its schema.
type Type = (&'static str, fn() -> Value);

/// Types of whole documents.
pub const DOCUMENTS: [Type; 4] = [
    ("RunRecord", json_schema::<RunRecord>),
    ("CapacityRecord", json_schema::<CapacityRecord>),
    ("ExperimentRecord", json_schema::<ExperimentRecord>),
    ("RunsRecord", json_schema::<RunsRecord>),
];

/// A type that only keys of objects have.
const OF_KEYS: Type = ("ErrorKind", json_schema::<ErrorKind>);

/// Longest enumeration whose values are explained in the row of a field. A longer one has a page.
const FEW: usize = 10;

/// Units by the end of a field's name; of two that fit, the first counts.
const UNITS: [(&str, &str); 9] = [
    ("bytes_per_s", "bytes/s"),
    ("_per_s", "/s"),
    ("_per_cpu_s", "/s"),
    ("_us", "µs"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bytes", "bytes"),
    ("_percent", "%"),
    ("_mhz", "MHz"),
];

/// Schemas of all types of the documents, by name.
static TYPES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut types = Map::new();
    for (name, schema) in DOCUMENTS.into_iter().chain([OF_KEYS]) {
        let mut schema = schema();
        if let Value::Object(inner) = schema["$defs"].take() {
            types.extend(inner);
        }
        types.insert(name.to_owned(), schema);
    }
    types
});

/// A page with tables, as one of its sections sees it.
struct Page<'a> {
    text: &'a str,
    section: String,
}

/// A field of an object.
struct Field {
    name: &'static str,
    schema: &'static Value,
    /// Whether each document has the field.
    is_always: bool,
}

/// Type of a field in words, and the name of the type that its objects or values have.
struct Kind {
    words: String,
    of: Option<&'static str>,
}

/// Returns the table of the fields of a type. `names` begins with the type; types that follow have
/// no other fields, and lead to the same table.
pub fn fields(names: &str, text: &str) -> Result<String, String> {
    let name = names.split(' ').next().unwrap_or_default();
    let page = Page { text, section: section(text, name).unwrap_or_default() };
    let mut rows: Vec<[String; 5]> = Vec::new();
    for field in fields_of(schema(name)?) {
        let row = page.row(&field).map_err(|reason| format!("{name}.{}: {reason}", field.name))?;
        match rows.last_mut() {
            // A comment holds for the fields without one that follow.
            Some(last) if row[4].is_empty() => last[0] += &format!(", {}", row[0]),
            _ => rows.push(row),
        }
    }
    let has = |column: usize| rows.iter().any(|row| !row[column].is_empty());
    let columns: Vec<usize> = (0..5).filter(|column| has(*column)).collect();
    let of = |row: &[String; 5]| {
        let cell = |column: usize| match (column, row[column].as_str()) {
            (3, "") => "–".to_owned(),
            (_, cell) => cell.to_owned(),
        };
        columns.iter().map(|column| cell(*column)).collect::<Vec<_>>()
    };
    let head = ["field", "type", "unit", "null", "meaning"];
    let head: Vec<&str> = columns.iter().map(|column| head[*column]).collect();
    Ok(markdown::table(&head, rows.iter().map(of)))
}

/// Returns the table of the values of an enumeration.
pub fn values(name: &str) -> Result<String, String> {
    let rows = values_of(schema(name)?).into_iter();
    let rows = rows.map(|(value, comment)| [value, phrase(comment)]);
    Ok(markdown::table(&["value", "meaning"], rows))
}

impl Page<'_> {
    /// Returns the cells of a field: name, type, unit, when it is `null`, and meaning.
    fn row(&self, field: &Field) -> Result<[String; 5], String> {
        let kind = kind(field.schema);
        let (meaning, null) = field.meaning()?;
        let words = if field.name.starts_with("confidence_") { "interval" } else { &kind.words };
        let link = kind.of.and_then(|name| section(self.text, name));
        let shown = match &link {
            Some(link) if *link != self.section => format!("[{words}](#{link})"),
            _ => words.to_owned(),
        };
        let rest = match (kind.of, &link) {
            (Some(name), None) => explained(name)?,
            _ => String::new(),
        };
        Ok([format!("`{}`", field.name), shown, unit(field.name).to_owned(), null, meaning + &rest])
    }
}

impl Field {
    /// Returns the meaning of the field, and when it is `null` or missing: the last clause of its
    /// description.
    fn meaning(&self) -> Result<(String, String), String> {
        let text = self.schema["description"].as_str().unwrap_or_default();
        let word = match (self.is_always, can_be_null(self.schema)) {
            (true, false) if text.contains("; `null` ") => {
                return Err("its comment says when it is `null`, which it never is".to_owned());
            }
            (true, false) => return Ok((phrase(text), String::new())),
            (true, true) => "`null` ",
            (false, _) => "missing ",
        };
        if text.is_empty() {
            return Ok(Default::default());
        }
        let found = ["; ", ". "].map(|mark| text.rfind(&format!("{mark}{word}")));
        let at = found.into_iter().flatten().max();
        let at = at.ok_or(format!("its comment does not end with when it is {word}"))?;
        let clause = text[at + 2..].trim_start_matches("`null` ").trim_end_matches('.');
        Ok((phrase(&text[..at]), clause.to_owned()))
    }
}

/// Explains the fields or values of a type that has no table on the page.
fn explained(name: &str) -> Result<String, String> {
    let schema = schema(name)?;
    let mut text = String::new();
    let values = values_of(schema);
    if values.iter().any(|(_, comment)| comment.is_empty()) {
        let values: Vec<String> = values.into_iter().map(|(value, _)| value).collect();
        return Ok(format!(": {}", any_of(&values)));
    }
    for (value, comment) in values.iter().filter(|_| values.len() <= FEW) {
        text += &format!(". {value}: {}", phrase(comment));
    }
    for field in fields_of(schema) {
        let (meaning, null) = field.meaning()?;
        text += &format!(". `{}`: {meaning}", field.name);
        if !null.is_empty() {
            text += &format!(" (`null` {null})");
        }
    }
    Ok(text)
}

fn schema(name: &str) -> Result<&'static Value, String> {
    TYPES.get(name).ok_or(format!("no document has the type {name}"))
}

/// Returns the fields of an object: first those that are always there, in the order of their declaration.
fn fields_of(object: &'static Value) -> Vec<Field> {
    let list = |key: &str| object[key].as_array().into_iter().flatten();
    let Some(properties) = object["properties"].as_object() else { return Vec::new() };
    let always: Vec<&str> = list("required").filter_map(Value::as_str).collect();
    let others = properties.keys().map(String::as_str).filter(|name| !always.contains(name));
    let field = |(name, is_always)| Field { name, schema: &properties[name], is_always };
    let names = always.iter().map(|name| (*name, true)).chain(others.map(|name| (name, false)));
    // Alternatives of an object have fields of their own.
    let more = list("anyOf").flat_map(fields_of).map(|field| Field { is_always: false, ..field });
    names.map(field).chain(more).collect()
}

/// Returns the values of an enumeration, as a page shows them, with their comments.
fn values_of(schema: &'static Value) -> Vec<(String, &'static str)> {
    let one_of = || schema["oneOf"].as_array().into_iter().flatten();
    let has_objects = one_of().any(|value| value["type"] == "object");
    let shown = |value: &Value| match (value.as_str(), has_objects) {
        (Some(text), false) => format!("`{text}`"),
        _ => format!("`{value}`"),
    };
    let plain = schema["enum"].as_array().into_iter().flatten().map(|value| (shown(value), ""));
    let described = one_of().map(|value| {
        let name = match value["required"][0].as_str() {
            Some(key) => format!("`{{\"{key}\": NAME}}`"),
            None => shown(&value["const"]),
        };
        (name, value["description"].as_str().unwrap_or_default())
    });
    plain.chain(described).collect()
}

/// Returns the type of a value in words.
fn kind(schema: &'static Value) -> Kind {
    if let Some(any) = schema["anyOf"].as_array() {
        return any.first().map_or_else(|| plain("any"), kind);
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        let target = &TYPES[name];
        let has_objects = target["oneOf"].to_string().contains("\"object\"");
        return match (target["properties"].is_object(), values_of(target).is_empty()) {
            (true, _) => Kind { words: "object".to_owned(), of: Some(name) },
            (_, true) => kind(target),
            _ if has_objects => Kind { words: "string or object".to_owned(), of: Some(name) },
            _ => Kind { words: "string".to_owned(), of: Some(name) },
        };
    }
    match type_of(schema) {
        "array" => {
            let Kind { words, of } = kind(&schema["items"]);
            let count = if schema["minItems"] == 2 { "two " } else { "" };
            let words = match words.as_str() {
                "object" => "`[]`".to_owned(),
                words => format!("array of {count}{}", plural(words)),
            };
            Kind { words, of }
        }
        "object" => {
            let of_all = Some(&schema["additionalProperties"]).filter(|values| values.is_object());
            let keyed = ["patternProperties", "properties"]
                .iter()
                .find_map(|key| schema[key].as_object().and_then(|keys| keys.values().next()));
            let Kind { words, of } = of_all.or(keyed).map_or_else(|| plain("value"), kind);
            Kind { words: format!("object of {}", plural(&words)), of }
        }
        other => plain(other),
    }
}

fn plain(words: &str) -> Kind {
    Kind { words: words.to_owned(), of: None }
}

fn type_of(schema: &Value) -> &str {
    let several = schema["type"].as_array().into_iter().flatten();
    let mut types = several.chain([&schema["type"]]).filter_map(Value::as_str);
    types.find(|name| *name != "null").unwrap_or("value")
}

fn can_be_null(schema: &Value) -> bool {
    let list = |key: &str| schema[key].as_array().into_iter().flatten();
    list("anyOf").any(|other| other["type"] == "null") || list("type").any(|name| name == "null")
}

fn plural(words: &str) -> String {
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    format!("{first}s {rest}").trim_end().to_owned()
}

/// Returns the unit that the name of a field carries.
fn unit(name: &str) -> &'static str {
    // What a figure is for stands after its unit; a unit after `for` is that of the purpose.
    let figure = name.split("_per_request").next().unwrap_or(name).split("_for_").next();
    let figure = format!("_{}", figure.unwrap_or(name));
    UNITS.iter().find(|(end, _)| figure.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// Returns the anchor of the section that has the table of a type.
fn section(page: &str, name: &str) -> Option<String> {
    let mut heading = "";
    for line in page.lines() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim();
        }
        let table = line.strip_prefix("<!-- table: ").and_then(|rest| rest.strip_suffix(" -->"));
        let mut words = table.unwrap_or_default().split(' ');
        if matches!(words.next(), Some("fields" | "values")) && words.any(|word| word == name) {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            return Some(kept.collect::<String>().to_lowercase().replace(' ', "-"));
        }
    }
    None
}
