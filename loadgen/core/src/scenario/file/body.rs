//! `body`: the body of a step's request.

use super::json;
use super::reader::{Faults, Value};
use crate::scenario::error::Fault;
use crate::scenario::model::Body;
use crate::scenario::template::{Piece, Template};

/// Largest number of repetitions of a JSON value in a body, which limits memory use after a typing
/// error.
pub(super) const MOST_REPETITIONS: u64 = 100_000;

pub(super) fn read(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Body> {
    let mut table = value.table("`body`", faults)?;
    let json = table.take("json");
    let text = table.take("text");
    let content_type = table.take("content_type").map(|value| read_content_type(&value, faults));
    let repeat = table.take("repeat");
    let once = table.take("once").map_or(Some(false), |value| value.boolean(faults));
    let (default_type, template) = match (json, text) {
        (Some(json), None) => ("application/json", read_json(&json, repeat, faults)),
        (None, Some(text)) => {
            if let Some(repeat) = repeat {
                let message = "`repeat` needs `json`: loadgen repeats a JSON value, not a text";
                repeat.fault::<()>(message, "only with `json`", "", faults);
            }
            ("text/plain; charset=utf-8", text.template(faults))
        }
        (Some(json), Some(text)) => {
            let fault = Fault::new("a body is either `json` or `text`")
                .at(json.key_place, "one body")
                .at(text.key_place, "another");
            faults.add(fault.help("keep one of them"));
            ("", None)
        }
        (None, None) => {
            let fault = Fault::new("the body is neither `json` nor `text`");
            let help =
                "write body = { json = { sku = \"{{ uuid }}\" } } or body = { text = \"hello\" }";
            faults.add(fault.at(value.place(), "nothing to send").help(help));
            ("", None)
        }
    };
    table.finish(faults);
    let content_type = content_type.unwrap_or_else(|| Some(default_type.to_owned()));
    // The place in the file is a key that no other body has.
    let text = if once? { template?.once(value.place().start) } else { template? };
    Some(Body { content_type: content_type?, text })
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
