//! `body`: the body of a step's request.

use super::reader::{Faults, Value};
use super::{json, pairs};
use crate::scenario::error::Fault;
use crate::scenario::model::Body;
use crate::scenario::nearest::list;
use crate::scenario::template::{Piece, Template};

/// Largest number of repetitions of a JSON value in a body, which limits memory use after a typing
/// error.
pub(super) const MOST_REPETITIONS: u64 = 100_000;

/// Keys of a body's content, of which a body has exactly one.
pub(super) const CONTENTS: [&str; 3] = ["json", "text", "form"];

pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Body> {
    let mut table = value.table("`body`", faults)?;
    let contents = table.take_any(CONTENTS);
    let content_type = table.take("content_type").map(|value| read_content_type(&value, faults));
    let repeat = table.take("repeat");
    let once = table.take("once").map_or(Some(false), |value| value.boolean(faults));
    let content = match contents.as_slice() {
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
    table.finish(faults);
    let (default_type, template) = content?;
    let content_type = content_type.unwrap_or_else(|| Some(default_type.to_owned()));
    // The place in the file is a key that no other body has.
    let text = if once? { template.once(value.place().start) } else { template };
    Some(Body { content_type: content_type?, text })
}

/// Reads the content of a body, and returns its usual media type with it.
fn read_content(
    content: &Value<'_>,
    repeat: Option<Value<'_>>,
    faults: &mut Faults<'_>,
) -> Option<(&'static str, Template)> {
    if content.key == "json" {
        return Some(("application/json", read_json(content, repeat, faults)?));
    }
    if let Some(repeat) = repeat {
        let message = "`repeat` needs `json`: loadgen repeats a JSON value";
        repeat.fault::<()>(message, "only with `json`", "", faults);
    }
    match content.key {
        "form" => {
            let form = pairs::read(content, "`form`", faults)?;
            Some(("application/x-www-form-urlencoded", form))
        }
        _ => Some(("text/plain; charset=utf-8", content.template(faults)?)),
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

fn read_content_type(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.name(faults)?;
    if !text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return value.fault(
            "`content_type` must be printable ASCII",
            "not a media type",
            "",
            faults,
        );
    }
    Some(text.to_owned())
}
