//! `body`: the body of a step's request.

use super::reader::{Faults, Value};
use super::{attachment, json, media_type, multipart, pairs};
use crate::body::{Body, Part};
use crate::error::Fault;
use crate::nearest::list;
use crate::template::{Piece, Template};

/// Largest number of repetitions of a JSON value in a body, which limits memory use after a typing
/// error.
pub(super) const MOST_REPETITIONS: u64 = 100_000;

/// Keys of a body's content, of which a body has exactly one.
pub(super) const CONTENTS: [&str; 5] = ["json", "text", "form", "multipart", "file"];

pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Body> {
    let mut table = value.table("`body`", faults)?;
    let contents = table.take_any(CONTENTS);
    let content_type = table.take("content_type");
    let repeat = table.take("repeat");
    let once = table.take("once").map_or(Some(false), |value| value.boolean(faults));
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
    let is_multipart = contents.iter().any(|content| content.key == "multipart");
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

fn read_json(
    value: &Value<'_>,
    repeat: Option<Value<'_>>,
    faults: &mut Faults<'_>,
) -> Option<Template> {
    let json = json::read_template(value, faults);
    let Some(repeat) = repeat else { return json };
    let count = repeat.integer(1..=MOST_REPETITIONS, faults)?;
    let mut array = Template::literal("[");
    array.append(json?.repeated(u32::try_from(count).ok()?, ","));
    array.push(Piece::Literal("]".to_owned()));
    Some(array)
}
