//! `multipart`: fields of a form, some of which may be files.

use std::path::Path;

use serde_json::Value as Json;
use toml::de::DeValue;

use super::keys::schema::{Schema, any, named};
use super::keys::{self, Custom, Key, Keys, PATH, TEMPLATE, key};
use super::reader::{Faults, Value};
use super::{attachment, json, media_type};
use crate::body::{Body, Part};
use crate::error::Fault;
use crate::escape::Position;
use crate::multipart::{Field, encode, escaped};
use crate::nearest::list;
use crate::template::Template;

/// Keys of a field's content, of which a field has exactly one.
const CONTENTS: [&str; 3] = [FILE.name(), TEXT.name(), JSON.name()];

/// When each of these keys is required.
const ONE_CONTENT: &str = "required: exactly one of `file`, `text` and `json`";

keys! {
    /// a field with a file, or with a media type of its own
    pub(super) const KEYS: Keys = table("a field of `multipart`").with(|table| table.requires_one_of(&CONTENTS));

    /// file whose content is sent
    const FILE: Key<Custom> = key("file", PATH).needed(ONE_CONTENT);
    /// text that is sent unchanged
    const TEXT: Key<Custom> = key("text", TEMPLATE).needed(ONE_CONTENT);
    /// JSON; its strings are templates
    const JSON: Key<Custom> = key("json", keys::JSON).needed(ONE_CONTENT);
    /// name of the file in the form
    const FILE_NAME: Key<Custom> = key("filename", TEMPLATE)
        .otherwise("the name of `file`; none with `text` and `json`");
    /// media type of the field
    const CONTENT_TYPE: Key<Custom> = key("content_type", media_type::KIND)
        .otherwise(
            "by the extension of the file's name, or `application/octet-stream`; `application/json` with `json`; \
             none with `text`",
        );
}

/// Returns the schema of all fields.
pub(super) fn schema() -> Schema {
    let scalar = || serde_json::json!({ "type": ["string", "number", "boolean"] });
    let several = serde_json::json!({ "type": "array", "items": { "oneOf": [scalar(), Json::from(KEYS.schema())] } });
    let forms = vec![scalar(), KEYS.schema().into(), several];
    let value = any()
        .with("description", "Value, a template; a file; or an array of these.")
        .with("oneOf", forms);
    named(value).with("minProperties", 1)
}

const FIELD: &str = "a string, a number, true or false, a table such as { file = \"photo.jpg\" }, or \
                     an array of these";

/// Reads a table of fields. The items of an array are several fields of one name.
pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Body> {
    let mut fields = Vec::new();
    let mut is_whole = true;
    for field in value.table("`multipart`", faults)?.rest() {
        let values = match field.node.get_ref() {
            DeValue::Array(_) => field.array(FIELD, faults).unwrap_or_default(),
            _ => vec![field.clone()],
        };
        is_whole &= check_name(&field, faults);
        for value in values {
            match read_field(&value, faults) {
                Some(field) => fields.push(field),
                None => is_whole = false,
            }
        }
    }
    if fields.is_empty() && is_whole {
        let help = "add a field, such as multipart = { title = \"tea\" }";
        return value.fault("`multipart` has no fields", "empty", help, faults);
    }
    is_whole.then(|| encode(fields))
}

fn check_name(field: &Value<'_>, faults: &mut Faults<'_>) -> bool {
    let is_right = escaped(field.key).is_ok();
    if !is_right {
        let fault = Fault::new("the name of a field contains a control character");
        faults.add(fault.at(field.key_place.clone(), "this name"));
    }
    is_right
}

fn read_field(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Field> {
    let content = match value.node.get_ref() {
        DeValue::Table(_) => return read_table(value, faults),
        DeValue::String(_) => value.template(faults)?,
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
            Template::literal(json::read(value, faults)?.to_string())
        }
        _ => return value.wrong_type(FIELD, faults),
    };
    let (name, content) = (value.key.to_owned(), Part::Text(content));
    Some(Field { name, file_name: None, content_type: None, content })
}

fn read_table(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Field> {
    let mut table = KEYS.open(value, faults)?;
    let contents = table.take_any(CONTENTS);
    let given_name = FILE_NAME.take(&mut table).map(|name| read_file_name(&name, faults));
    let given_type = CONTENT_TYPE.take(&mut table);
    let given_type = given_type.map(|value| media_type::read(&value, faults));
    table.finish(faults);
    let [content] = contents.as_slice() else {
        let message = format!("a field of `multipart` has one of {}", list(CONTENTS));
        let help = "write { file = \"photo.jpg\" } or { text = \"tea\" }";
        return value.fault(message, "this field", help, faults);
    };
    let (content, usual_name, usual_type) = match content.key {
        "file" => {
            let file = attachment::read(content, faults)?;
            let name = Path::new(&file.path).file_name().unwrap_or_default().to_string_lossy();
            let name = escaped(&name).unwrap_or_default();
            let media_type = media_type::of_file(&file);
            (Part::File(file), Some(Template::literal(name)), Some(media_type))
        }
        "json" => {
            let usual_type = Some("application/json".to_owned());
            (Part::Text(json::read_template(content, faults)?), None, usual_type)
        }
        _ => (Part::Text(content.template(faults)?), None, None),
    };
    let file_name = given_name.map_or(Some(usual_name), |name| name.map(Some));
    let content_type = given_type.map_or(Some(usual_type), |given| given.map(Some));
    let (file_name, content_type) = (file_name?, content_type?);
    Some(Field { name: value.key.to_owned(), file_name, content_type, content })
}

/// Reads the name that a file has in the form, and escapes its literal parts.
fn read_file_name(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Template> {
    let name = value.template(faults)?.standing_in(Position::Quoted);
    if name.literals().any(|text| escaped(text).is_err()) {
        let message = "`filename` contains a control character";
        return value.fault(message, "this name", "", faults);
    }
    Some(name.map_literals(|text| escaped(text).unwrap_or_default()))
}
