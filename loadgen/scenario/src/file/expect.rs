//! `expect` and `counters`: checks of an answer and numbers read from an answer.

use std::time::Duration;

use toml::de::DeValue;

use super::condition;
use super::keys::schema::{self, Schema};
use super::keys::{Custom, Defaulted, Key, Keys, custom, key};
use super::pointer::check_pointer;
use super::reader::{Faults, Value};
use super::{meaning, stream};
use crate::expect::{Condition, Expect, Statuses};
use crate::grpc_status::{GrpcStatus, GrpcStatuses};
use crate::method::Method;
use crate::model::Counter;
use crate::nearest::suggestion;

/// Words of `status` that stand for all statuses of a class (RFC 9110, section 15).
const CLASSES: [(&str, (u16, u16)); 5] = [
    ("1xx", (100, 199)),
    ("2xx", (200, 299)),
    ("3xx", (300, 399)),
    ("4xx", (400, 499)),
    ("5xx", (500, 599)),
];

keys! {
    /// expected response
    pub(super) const KEYS: Keys = table("`expect`");

    /// status of the response
    const STATUS: Defaulted<Custom> =
        key("status", custom("100 to 599; a class: `\"1xx\"` to `\"5xx\"`; or an array of these", status_schema))
        .or("\"2xx\"");
    /// with `grpc`: status of the [call](#grpc-steps)
    const GRPC_STATUS: Defaulted<Custom> =
        key(meaning::GRPC_STATUS, custom("name of a status, or an array of these", grpc_status_schema))
        .or("\"OK\"");
    const BODY: Key<Custom> = condition::BODY;
    const REGEX: Key<Custom> = condition::REGEX;
    const JSON: Key<Custom> = condition::JSON;
    const JSON_TYPE: Key<Custom> = condition::JSON_TYPE;
    const JSON_SIZE: Key<Custom> = condition::JSON_SIZE;
    const HEADERS: Key<Custom> = condition::HEADERS;
    /// any of the keys from `body` to `headers`: conditions of which the response must meet none
    const NOT: Key<Custom> = key("not", custom("table", || condition::KEYS.schema()))
        .otherwise("no such condition");
    /// longest latency of an expected response, such as `"200ms"`
    const WITHIN: Key<Custom> =
        key("within", custom("duration above zero, shorter than the `timeout`", schema::time))
        .otherwise("any latency");
    /// body that arrives as a [stream](#streams) of events, which are measured one by one
    const STREAM: Key<Custom> = key("stream", custom("`true`, or a table", stream::schema))
        .otherwise("events are not measured");
}

fn status_schema() -> Schema {
    let status = || schema::integer(100..=599, "A status, such as 200.");
    let class = || schema::choice(&CLASSES, "All statuses of a class, such as \"2xx\".");
    let several = schema::array(schema::one_of([status(), class()]));
    schema::one_of([status(), class(), several.with("minItems", 1)])
}

fn grpc_status_schema() -> Schema {
    let status = || schema::choice(&GrpcStatus::NAMED, "A status of gRPC, such as \"OK\".");
    let several = schema::array(status()).with("minItems", 1);
    schema::one_of([status(), several])
}

/// Returns the schema of the counters of a step.
pub(super) fn counters_schema() -> Schema {
    schema::named(schema::pointer("JSON pointer, such as \"/inserted\"."))
}

const STATUSES: &str = "a status such as 200, a class such as \"2xx\", or an array of these";

/// Reads `expect` and `counters` of a step with this method and timeout, as far as they are known.
pub(super) fn read(
    expect: Option<Value<'_>>,
    counters: Option<Value<'_>>,
    method: Option<&Method>,
    timeout: Option<Duration>,
    faults: &mut Faults<'_>,
) -> (Option<Expect>, Vec<Counter>) {
    if method == Some(&Method::HEAD)
        && let Some(counters) = &counters
    {
        let message = "`counters` reads a body, but a response to HEAD has no body";
        counters.fault::<()>(message, "no body", "use `get`, or leave out `counters`", faults);
    }
    let expect = expect
        .map_or(Some(Expect::default()), |value| read_expect(&value, method, timeout, faults));
    let counters = counters.map(|value| read_counters(&value, faults));
    (expect, counters.unwrap_or_default())
}

fn read_expect(
    value: &Value<'_>,
    method: Option<&Method>,
    timeout: Option<Duration>,
    faults: &mut Faults<'_>,
) -> Option<Expect> {
    let mut table = KEYS.open(value, faults)?;
    let status = STATUS.take(&mut table).and_then(|value| read_statuses(&value, faults));
    let grpc_status = GRPC_STATUS.take(&mut table).map(|value| read_grpc_statuses(&value, faults));
    let all = condition::take_all(&mut table, method, faults);
    let not = NOT.take(&mut table);
    let within = WITHIN.take(&mut table);
    let within = within.and_then(|value| read_within(&value, timeout, faults));
    let stream = STREAM.take(&mut table);
    let stream = stream.and_then(|value| stream::read(&value, method, faults));
    table.finish(faults);
    let none = not.map(|value| read_not(&value, method, faults)).unwrap_or_default();
    let grpc_status = grpc_status.flatten();
    Some(Expect { status: status.unwrap_or_default(), grpc_status, all, none, within, stream })
}

fn read_not(value: &Value<'_>, method: Option<&Method>, faults: &mut Faults<'_>) -> Vec<Condition> {
    let Some(mut table) = condition::KEYS.open(value, faults) else { return Vec::new() };
    let none = condition::take_all(&mut table, method, faults);
    table.finish(faults);
    none
}

fn read_statuses(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Statuses> {
    let values = match value.node.get_ref() {
        DeValue::Array(_) => value.array(STATUSES, faults)?,
        _ => vec![value.clone()],
    };
    if values.is_empty() {
        let help = "write a status, or leave out `status` to expect any 2xx";
        return value.fault("`status` has no status", "expects nothing", help, faults);
    }
    let ranges: Vec<_> = values.iter().map(|value| read_status(value, faults)).collect();
    ranges.into_iter().collect::<Option<_>>().map(Statuses::new)
}

fn read_status(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<(u16, u16)> {
    match value.node.get_ref() {
        DeValue::Integer(_) => {
            let status = u16::try_from(value.integer(100..=599, faults)?).ok()?;
            Some((status, status))
        }
        DeValue::String(_) => value.choice(&CLASSES, faults),
        _ => value.wrong_type(STATUSES, faults),
    }
}

fn read_grpc_statuses(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<GrpcStatuses> {
    let values = match value.node.get_ref() {
        DeValue::Array(_) => {
            value.array("a status such as \"OK\", or an array of these", faults)?
        }
        _ => vec![value.clone()],
    };
    if values.is_empty() {
        let help = "write a status, or leave out `grpc_status` to expect \"OK\"";
        return value.fault("`grpc_status` has no status", "expects nothing", help, faults);
    }
    let statuses: Vec<_> =
        values.iter().map(|value| value.choice(&GrpcStatus::NAMED, faults)).collect();
    statuses.into_iter().collect::<Option<_>>().map(GrpcStatuses::new)
}

/// Reads `within`, which must be shorter than the timeout to have an effect.
fn read_within(
    value: &Value<'_>,
    timeout: Option<Duration>,
    faults: &mut Faults<'_>,
) -> Option<Duration> {
    let within = value.positive_duration(faults)?;
    if timeout.is_some_and(|timeout| within >= timeout) {
        let message = "`within` is not shorter than the `timeout` of the step";
        let help = "leave out `within`, or set a longer `timeout`";
        return value.fault(message, "without effect", help, faults);
    }
    Some(within)
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
