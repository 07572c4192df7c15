//! `body`: the body of a step's request.

use super::keys::schema::Schema;
use super::keys::{
    self, Boolean, Custom, Defaulted, Integer, Key, Keys, PATH, TEMPLATE, custom, integer, key,
};
use super::reader::{Faults, Value};
use super::{attachment, json, media_type, multipart, pairs};
use crate::body::{Body, Part};
use crate::error::Fault;
use crate::nearest::list;
use crate::template::Template;

/// Largest number of repetitions of a JSON value in a body, which limits memory use after a typing
/// error.
const MOST_REPETITIONS: u64 = 100_000;

/// Keys of a body's content, of which a body has exactly one.
const CONTENTS: [&str; 5] = [JSON.name(), TEXT.name(), FORM.name(), MULTIPART.name(), FILE.name()];

/// Keys that only the body of an HTTP request has, and not the message of a call.
pub(super) const OF_REQUESTS: [&str; 6] =
    [TEXT.name(), FORM.name(), MULTIPART.name(), FILE.name(), CONTENT_TYPE.name(), REPEAT.name()];

/// When each key of a body's content is required.
const ONE_CONTENT: &str = "required: exactly one of `json`, `text`, `form`, `multipart` and `file`";

keys! {
    /// body of the request
    pub(super) const KEYS: Keys = table("`body`").with(rules);

    /// JSON body; its strings are templates
    pub(super) const JSON: Key<Custom> = key("json", keys::JSON).needed(ONE_CONTENT);
    /// body that is sent unchanged
    const TEXT: Key<Custom> = key("text", TEMPLATE).needed(ONE_CONTENT);
    /// names and values of a [form](#query-and-form)
    const FORM: Key<Custom> = key("form", custom("table", pairs::schema)).needed(ONE_CONTENT);
    /// fields of a [multipart form](#files-and-multipart-forms), which may be files
    const MULTIPART: Key<Custom> = key("multipart", custom("table", multipart::schema)).needed(ONE_CONTENT);
    /// [file](#files-and-multipart-forms) that is sent unchanged
    const FILE: Key<Custom> = key("file", PATH).needed(ONE_CONTENT);
    /// media type; not with `multipart`, whose media type names a boundary
    const CONTENT_TYPE: Key<Custom> = key("content_type", media_type::KIND)
        .otherwise(
            "`application/json`; with `form` `application/x-www-form-urlencoded`; with `text` `text/plain; \
             charset=utf-8`; with `file` by the extension of the file's name, or `application/octet-stream`",
        );
    /// with `json`: makes the body an array of this many renderings of the value
    pub(super) const REPEAT: Key<Integer> = key("repeat", integer(1, MOST_REPETITIONS))
        .otherwise("the value itself");
    /// whether the body is rendered once for each user: all requests of the step that a user sends have the
    /// body of the first one. Each user keeps its body in memory
    pub(super) const ONCE: Defaulted<Boolean> = key("once", Boolean).or("false");
}

fn rules(table: Schema) -> Schema {
    let not_json = [TEXT.name(), FORM.name(), FILE.name()];
    let table = table.requires_one_of(&CONTENTS);
    let table = not_json.iter().fold(table, |table, key| table.excludes(key, &[REPEAT.name()]));
    table.excludes(MULTIPART.name(), &[REPEAT.name(), CONTENT_TYPE.name()])
}

pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Body> {
    let mut table = KEYS.open(value, faults)?;
    let contents = table.take_any(CONTENTS);
    let content_type = CONTENT_TYPE.take(&mut table);
    let repeat = REPEAT.take(&mut table);
    let once = ONCE.read(&mut table, faults);
    let body = match contents.as_slice() {
        [content] => read_content(content, repeat, faults),
        [] => {
            let fault = Fault::new(format!("the body has none of {}", list(CONTENTS)));
            let help = "write body = { json = { sku = \"{{ uuid }}\" } }, { form = { q = \"tea\" } } \
                        or { text = \"hello\" }";
            faults.add(fault.at(value.place(), "nothing to send").help(help));
            None
        }
        several => {
            let fault = Fault::new(format!("a body has only one of {}", list(CONTENTS)));
            let at = |fault: Fault, one: &Value<'_>| fault.at(one.key_place.clone(), "one body");
            faults.add(several.iter().fold(fault, at).help("keep one of them"));
            None
        }
    };
    let is_multipart = contents.iter().any(|content| content.key == MULTIPART.name());
    let content_type = match content_type {
        Some(value) if is_multipart => {
            let message = "`content_type` cannot be set beside `multipart`";
            let help = "leave it out: the media type of the form names its boundary";
            value.fault(message, "follows from the form", help, faults)
        }
        Some(value) => media_type::read(&value, faults).map(Some),
        None => Some(None),
    };
    table.finish(faults);
    let mut body = body?;
    if let Some(content_type) = content_type? {
        body.content_type = content_type;
    }
    // The place in the file is a key that no other body has; so are the places after it.
    Some(if once? { body.once(value.place().start) } else { body })
}

/// Reads the content of a body or a message, with its usual media type.
pub(super) fn read_content(
    content: &Value<'_>,
    repeat: Option<Value<'_>>,
    faults: &mut Faults<'_>,
) -> Option<Body> {
    if content.key == "json" {
        return Some(Body::of_text("application/json", read_json(content, repeat, faults)?));
    }
    if let Some(repeat) = repeat {
        let message = "`repeat` needs `json`: loadgen repeats a JSON value";
        repeat.fault::<()>(message, "only with `json`", "", faults);
    }
    match content.key {
        "form" => {
            let form = pairs::read(content, "`form`", faults)?;
            Some(Body::of_text("application/x-www-form-urlencoded", form))
        }
        "multipart" => multipart::read(content, faults),
        "file" => {
            let file = attachment::read(content, faults)?;
            let content_type = media_type::of_file(&file);
            Some(Body { content_type, parts: vec![Part::File(file)] })
        }
        _ => Some(Body::of_text("text/plain; charset=utf-8", content.template(faults)?)),
    }
}

pub(super) fn read_json(
    value: &Value<'_>,
    repeat: Option<Value<'_>>,
    faults: &mut Faults<'_>,
) -> Option<Template> {
    let json = json::read_template(value, faults);
    let Some(repeat) = repeat else { return json };
    let count = REPEAT.value(&repeat, faults)?;
    Some(in_array(json?.repeated(u32::try_from(count).ok()?, ",")))
}

/// Returns a JSON array with these items.
pub(super) fn in_array(items: Template) -> Template {
    let mut array = Template::literal("[");
    array.append(items);
    array.append(Template::literal("]"));
    array
}
