//! `expect` and `counters`: checks of an answer and numbers read from an answer.

use std::ops::Range;

use super::json;
use super::reader::{Faults, Table, Value};
use crate::scenario::error::Fault;
use crate::scenario::model::{Counter, Expect, Method};
use crate::scenario::nearest::suggestion;

pub(super) fn read(
    table: &mut Table<'_>,
    method: Option<Method>,
    faults: &mut Faults<'_>,
) -> (Option<Expect>, Vec<Counter>) {
    let expect = table.take("expect");
    let counters = table.take("counters");
    if method == Some(Method::Head)
        && let Some(counters) = &counters
    {
        refuse_for_head(counters, faults);
    }
    let expect =
        expect.map_or(Some(Expect::default()), |value| read_expect(&value, method, faults));
    let counters = counters.map(|value| read_counters(&value, faults));
    (expect, counters.unwrap_or_default())
}

fn read_expect(
    value: &Value<'_>,
    method: Option<Method>,
    faults: &mut Faults<'_>,
) -> Option<Expect> {
    let mut table = value.table("`expect`", faults)?;
    let status = table.take("status").and_then(|value| read_status(&value, faults));
    let json = table.take("json");
    let body = table.take("body");
    if method == Some(Method::Head) {
        [&json, &body].into_iter().flatten().for_each(|value| refuse_for_head(value, faults));
    }
    let json = json.map(|value| read_json(&value, faults));
    let body = body.and_then(|value| read_body(&value, faults));
    table.finish(faults);
    Some(Expect { status, json: json.unwrap_or_default(), body })
}

fn refuse_for_head(value: &Value<'_>, faults: &mut Faults<'_>) {
    let message = format!("`{}` reads a body, but a response to HEAD has no body", value.key);
    let help = match value.key {
        "counters" => "use `get`, or leave out `counters`",
        _ => "use `get`, or expect only a status",
    };
    value.fault::<()>(message, "no body", help, faults);
}

fn read_status(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<u16> {
    let status = value.integer(100..=599, faults)?;
    u16::try_from(status).ok()
}

fn read_body(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = value.text(faults)?;
    if text.is_empty() {
        let help = "leave out `body`, or write a text that an expected response contains";
        return value.fault(
            "`body` must not be empty: every response contains the empty text",
            "checks nothing",
            help,
            faults,
        );
    }
    Some(text.to_owned())
}

fn read_json(value: &Value<'_>, faults: &mut Faults<'_>) -> Vec<(String, serde_json::Value)> {
    let Some(table) = value.table("`json`", faults) else {
        return Vec::new();
    };
    let checks = table.rest().into_iter().filter_map(|check| {
        check_pointer(check.key, check.key_place.clone(), faults);
        Some((check.key.to_owned(), json::read(&check, faults)?))
    });
    checks.collect()
}

fn read_counters(value: &Value<'_>, faults: &mut Faults<'_>) -> Vec<Counter> {
    let Some(table) = value.table("`counters`", faults) else {
        return Vec::new();
    };
    let counters = table.rest().into_iter().filter_map(|counter| {
        if counter.key.trim().is_empty() {
            return counter.fault("a counter must have a name", "no name", "", faults);
        }
        let pointer = counter.text(faults)?;
        check_pointer(pointer, counter.place(), faults);
        Some(Counter { name: counter.key.to_owned(), pointer: pointer.to_owned() })
    });
    counters.collect()
}

/// Returns the message and the help of a fault for a counter called `name` that no step reads.
/// `known` holds the names of the counters that steps read.
pub(super) fn unknown_counter(name: &str, known: &[&str]) -> (String, String) {
    let help = match known {
        [] => format!("add the counter to a step: counters = {{ {name} = \"/…\" }}"),
        known => suggestion(name, known.iter().copied()),
    };
    (format!("no step has a counter `{name}`"), help)
}

/// Adds a fault if `pointer` is not a JSON pointer (RFC 6901, section 3).
pub(super) fn check_pointer(pointer: &str, place: Range<usize>, faults: &mut Faults<'_>) {
    let fault = Fault::new(format!("`{pointer}` is not a JSON pointer"));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let meant = pointer.trim_start_matches("$.").replace('.', "/");
        let help = format!("a JSON pointer begins with `/`; did you mean `/{meant}`?");
        faults.add(fault.at(place, "does not begin with `/`").help(help));
    } else if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        let help = "in a JSON pointer, write `~0` for `~` and `~1` for `/`";
        faults.add(fault.at(place, "`~` without `0` or `1`").help(help));
    }
}
