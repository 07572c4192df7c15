//! `stream`: the events that an expected body has.

use toml::de::DeValue;

use super::condition::read_size;
use super::reader::{Faults, Value};
use super::regex;
use crate::error::Fault;
use crate::method::Method;
use crate::stream::{EndMarker, ExpectedStream, Pattern, StreamFormat};

pub(super) const FORMATS: [(&str, StreamFormat); 2] =
    [("events", StreamFormat::Events), ("lines", StreamFormat::Lines)];

const STREAM: &str = "true, or a table with `format`, `events` and `end`";

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
            let mut table = value.table("`stream`", faults)?;
            let format = table.take("format").and_then(|value| value.choice(&FORMATS, faults));
            let events = table.take("events").and_then(|value| read_size(&value, faults));
            let end = table.take("end").and_then(|value| read_end(&value, faults));
            table.finish(faults);
            let events = events.unwrap_or_else(|| ExpectedStream::default().events);
            Some(ExpectedStream { format, events, end })
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
            let pattern = table.take("regex");
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
