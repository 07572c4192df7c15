//! `stream`: the events that an expected body has.

use serde_json::json;
use toml::de::DeValue;

use super::condition::{PART, PATTERN, read_size, size_schema};
use super::keys::schema::{self, Schema};
use super::keys::{Boolean, Choice, Custom, Defaulted, Key, Keys, custom, key};
use super::reader::{Faults, Value};
use super::regex;
use crate::error::Fault;
use crate::method::Method;
use crate::stream::{EndMarker, ExpectedStream, Pattern, StreamFormat};

const FORMATS: [(&str, StreamFormat); 2] =
    [("events", StreamFormat::Events), ("lines", StreamFormat::Lines)];

keys! {
    /// the events of a stream
    pub(super) const KEYS: Keys = table("`stream`").with(rules);

    /// form of the events: server-sent events ([WHATWG
    /// HTML](https://html.spec.whatwg.org/multipage/server-sent-events.html)), or one event in each line that
    /// is not empty, such as JSON in NDJSON
    const FORMAT: Key<Choice<StreamFormat>> = key("format", Choice(&FORMATS))
        .otherwise("`\"events\"` for the media type `text/event-stream`, otherwise `\"lines\"`");
    /// expected number of events, without the end marker
    const EVENTS: Defaulted<Custom> =
        key("events", custom("integer, or a range such as `\">= 20\"` (`<`, `<=`, `>` or `>=`)", size_schema))
        .or("\">= 1\"");
    /// end marker: data of the event that ends the stream, whole or in part
    const END: Key<Custom> = key("end", custom("string, or `{ regex = '…' }`", end_schema))
        .otherwise("no end marker");
    /// whether loadgen ends the request, as a success, [at the end marker](#streams-without-an-end) or, without one, at
    /// the last of `events`
    const CLOSE: Defaulted<Boolean> = key("close", Boolean).or("false");
}

/// Says what tells the end of a stream that loadgen closes.
fn rules(table: Schema) -> Schema {
    let closes = json!({ "properties": { "close": { "const": true } }, "required": ["close"] });
    let counted = json!({ "required": ["events"], "properties": { "events": { "type": "integer", "minimum": 1 } } });
    let told = json!({ "anyOf": [{ "required": ["end"] }, counted] });
    table.with("if", closes).with("then", told)
}

fn end_schema() -> Schema {
    let whole = schema::text("The whole data.").with("minLength", 1);
    schema::one_of([whole, PATTERN.schema()])
}

/// Returns the schema of `stream`.
pub(super) fn schema() -> Schema {
    let any = schema::any().with("description", "At least one event.").with("const", true);
    schema::one_of([any, KEYS.schema()])
}

const STREAM: &str = "true, or a table with `format`, `events`, `end` and `close`";

/// Reads the value of `stream`, of a step with this method.
pub(super) fn read(
    value: &Value<'_>,
    method: Option<&Method>,
    faults: &mut Faults<'_>,
) -> Option<ExpectedStream> {
    if method == Some(&Method::HEAD) {
        let message = "`stream` reads a body, but a response to HEAD has no body";
        return value.fault(message, "no body", "use `get`, or leave out `stream`", faults);
    }
    match value.node.get_ref() {
        DeValue::Boolean(true) => Some(ExpectedStream::default()),
        DeValue::Boolean(false) => {
            let help = "leave out `stream`, or write true";
            value.fault("`stream`: false expects nothing", "no expectation", help, faults)
        }
        DeValue::Table(_) => {
            let mut table = KEYS.open(value, faults)?;
            let format = FORMAT.read(&mut table, faults).flatten();
            let events = EVENTS.take(&mut table).and_then(|value| read_size(&value, faults));
            let end = END.take(&mut table).and_then(|value| read_end(&value, faults));
            let close = CLOSE.take(&mut table);
            table.finish(faults);
            let events = events.unwrap_or_else(|| ExpectedStream::default().events);
            let closes = close.as_ref().and_then(|value| CLOSE.value(value, faults));
            let stream = ExpectedStream { format, events, end, closes: closes.unwrap_or_default() };
            if let Some(value) = close.filter(|_| stream.closes && stream.end.is_none())
                && stream.last_event().is_none_or(|last| last == 0)
            {
                let message = "`close` does not know at which event";
                let help = "add `end`, the data of the last event, or `events`, their number";
                return value.fault(message, "never", help, faults);
            }
            Some(stream)
        }
        _ => value.wrong_type(STREAM, faults),
    }
}

fn read_end(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<EndMarker> {
    match value.node.get_ref() {
        DeValue::String(text) if text.is_empty() => {
            let help = "write the data of the last event, or leave out `end`";
            value.fault("`end` must not be empty", "marks nothing", help, faults)
        }
        DeValue::String(text) => Some(EndMarker::Equal(text.to_string())),
        DeValue::Table(_) => {
            let mut table = value.table("`end`", faults)?;
            let pattern = PART.take(&mut table);
            let place = table.place.clone();
            table.finish(faults);
            let Some(pattern) = pattern else {
                let fault = Fault::new("`end` has no `regex`").at(place, "no marker");
                faults.add(fault.help("write { regex = '…' }, or a string for the whole data"));
                return None;
            };
            regex::read(&pattern, faults).map(|text| EndMarker::Regex(Pattern::new(text)))
        }
        _ => value.wrong_type("a string, or { regex = '…' }", faults),
    }
}
