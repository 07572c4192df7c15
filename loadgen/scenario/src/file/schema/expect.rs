//! Schema of `expect`.

use serde_json::{Value, json};

use super::kinds::{
    POINTER, Schema, any, array, choice, duration, integer, matching, named, table, text,
};
use crate::file::condition::{JSON_TYPES, OF_BODY};
use crate::file::expect::CLASSES;
use crate::file::meaning::GRPC_STATUS;
use crate::file::stream::FORMATS;
use crate::grpc_status::GrpcStatus;

/// Regular expression of a range of sizes.
const SIZES: &str = r"^\s*[<>]=?\s*[0-9]+\s*$";

/// Returns the schema of `expect`.
pub(super) fn expect() -> Schema {
    let not = "Conditions of which the response must meet none.";
    let within = "Longest latency of an expected response, shorter than the timeout.";
    let [body, regex, json, json_type, json_size] = conditions();
    let keys = [
        ("status", statuses()),
        (GRPC_STATUS, grpc_statuses()),
        body.clone(),
        regex.clone(),
        json.clone(),
        json_type.clone(),
        json_size.clone(),
        ("headers", expected_headers()),
        (
            "not",
            table(not, [body, regex, json, json_type, json_size, ("headers", expected_headers())]),
        ),
        ("within", duration(within)),
        ("stream", stream()),
    ];
    table("Expected response.", keys)
}

fn stream() -> Schema {
    let events = [
        integer(0..=u64::MAX >> 1, "The number."),
        matching(SIZES, "A range of numbers, such as \">= 1\"."),
    ];
    let about = "Expected number of events, without the end marker. Default: \">= 1\".";
    let events = any(about).with("oneOf", events.map(Value::from).to_vec());
    let regex = text("Regular expression that must have a match in the data.");
    let forms = [
        text("The whole data.").with("minLength", 1),
        table("A part of the data.", [("regex", regex)]).requires(["regex"]),
    ];
    let end = any("Data of the event, or the line, that ends the stream.")
        .with("oneOf", forms.map(Value::from).to_vec());
    let format = "Server-sent events, or lines. Default: by the media type of the response.";
    let keys = [("format", choice(&FORMATS, format)), ("events", events), ("end", end)];
    let forms = [any("At least one event.").with("const", true), table("The events.", keys)];
    any("Body that arrives as a stream of events, which are measured one by one.")
        .with("oneOf", forms.map(Value::from).to_vec())
}

fn statuses() -> Schema {
    let status = || integer(100..=599, "A status, such as 200.");
    let class = || choice(&CLASSES, "All statuses of a class, such as \"2xx\".");
    let one = json!([Value::from(status()), Value::from(class())]);
    let several = array("Several statuses.", any("A status or a class.").with("oneOf", one));
    let forms = [status(), class(), several.with("minItems", 1)].map(Value::from);
    any("Expected status, or several. Default: any 2xx.").with("oneOf", forms.to_vec())
}

fn grpc_statuses() -> Schema {
    let status = || choice(&GrpcStatus::NAMED, "A status of gRPC, such as \"OK\".");
    let several = array("Several statuses.", status()).with("minItems", 1);
    let forms = [status(), several].map(Value::from);
    any("Expected status of a gRPC call, or several. Default: OK.").with("oneOf", forms.to_vec())
}

/// Returns the conditions of a body, in the order of [`OF_BODY`].
fn conditions() -> [(&'static str, Schema); OF_BODY.len()] {
    let at = |about: &str, value: Schema| {
        named(about, value).with("propertyNames", json!({ "pattern": POINTER }))
    };
    let size = [
        integer(0..=u64::MAX >> 1, "The size."),
        matching(SIZES, "A range of sizes, such as \">= 1\"."),
    ];
    let size = any("Size.").with("oneOf", size.map(Value::from).to_vec());
    let [body, regex, json, json_type, json_size] = OF_BODY;
    [
        (body, text("Text that the body must contain.").with("minLength", 1)),
        (regex, text("Regular expression that must have a match in the body.")),
        (
            json,
            at(
                "Values that JSON pointers must find in the body: { \"/inserted\" = 1 }.",
                any("Expected value."),
            ),
        ),
        (
            json_type,
            at(
                "Types of the values that JSON pointers must find: { \"/items\" = \"array\" }.",
                choice(&JSON_TYPES, "Expected type."),
            ),
        ),
        (
            json_size,
            at(
                "Sizes of the arrays, objects or strings that JSON pointers must find: \
                 { \"/items\" = \">= 1\" }.",
                size,
            ),
        ),
    ]
}

fn expected_headers() -> Schema {
    let regex = text("Regular expression that must have a match in the value.");
    let forms = [
        text("The whole value."),
        table("A part of the value.", [("regex", regex)]).requires(["regex"]),
        any("Any value.").with("const", true),
    ];
    let condition = any("Expected value.").with("oneOf", forms.map(Value::from).to_vec());
    named("Headers of the response.", condition).with("propertyNames", header_names())
}

/// Returns a schema of header names, which are tokens (RFC 9110, section 5.6.2).
pub(super) fn header_names() -> Value {
    json!({ "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" })
}
