//! Parts that the messages of all kinds have.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// Describes the command by these attributes.
pub(super) fn of_command(attributes: &[(String, String)]) -> Resource {
    let attributes = attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    Resource { attributes, ..Resource::default() }
}

/// Says that loadgen measured.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "loadgen".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

pub(super) fn attributes(of: &[(&'static str, String)]) -> Vec<KeyValue> {
    of.iter().map(|(key, value)| attribute(key, value)).collect()
}

/// Returns an attribute, as a number if the semantic conventions define it as one.
fn attribute(key: &str, value: &str) -> KeyValue {
    let is_number = NUMBERS.contains(&key);
    let number = if is_number { value.parse().ok() } else { None };
    with_value(key, number.map_or_else(|| Value::StringValue(value.to_owned()), Value::IntValue))
}

/// Attributes that the semantic conventions define as numbers.
const NUMBERS: [&str; 3] =
    ["server.port", "http.response.status_code", "http.request.resend_count"];

/// Returns an attribute whose value is a number of seconds.
pub(super) fn seconds(key: &str, value: f64) -> KeyValue {
    with_value(key, Value::DoubleValue(value))
}

fn with_value(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// Returns a time in ns since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
