//! Schema of `[[step]]`.

use serde_json::{Value, json};

use super::kinds::{
    POINTER, Schema, any, array, boolean, choice, duration, integer, matching, name, named,
    pointer, table, text, without,
};
use crate::scenario::file::body::MOST_REPETITIONS;
use crate::scenario::file::capture::SOURCES;
use crate::scenario::file::step::{METHODS, MOST_WEIGHT, WHEN};

/// Returns the schema of the array of all `[[step]]` tables.
pub(super) fn steps() -> Schema {
    let about = "Steps of each user, in this order: in each iteration, or once.";
    array(about, step()).with("minItems", 1)
}

fn step() -> Schema {
    let label =
        "Name of the step in the results, unique in the file. Default: the method and the path.";
    let when = "Time at which each user sends the step once: before the user's first iteration \
                (start), or after the user's last iteration (stop).";
    let weight = "Of consecutive steps with weights, an iteration takes one step, with the step's \
                  share of the sum of the weights as its probability.";
    let timeout = "Longest time from the send to the last byte of the response's body, at most \
                   \"10m\".";
    let [get, post, put, patch, delete, head] = METHODS.map(|(key, _)| (key, path(key)));
    let keys = [
        ("name", name(label)),
        get,
        post,
        put,
        patch,
        delete,
        head,
        ("when", choice(&WHEN, when)),
        ("weight", integer(1..=MOST_WEIGHT, weight)),
        ("timeout", duration(timeout).or("30s")),
        ("headers", headers()),
        ("body", body()),
        ("expect", expect()),
        ("counters", counters()),
        ("capture", captures()),
    ];
    table("One request, and the expected response.", keys)
        .requires_one_of(&METHODS.map(|(key, _)| key))
        .excludes("weight", &["when"])
        .beside("head", without_a_body())
}

fn path(method: &str) -> Schema {
    let about = format!(
        "{}: path and query, beginning with / and percent-encoded. A template, in which \
         {{{{ uuid }}}}, {{{{ int 1 100 }}}}, {{{{ user }}}}, {{{{ env NAME }}}} and others stand for \
         values.",
        method.to_uppercase()
    );
    matching("^/", &about)
}

/// Returns a schema that forbids all keys that read a response's body. Used for HEAD requests,
/// whose responses have no body.
fn without_a_body() -> Value {
    let mut table = without(&["counters"]);
    table["properties"]["expect"] = without(&["json", "body"]);
    table["properties"]["capture"] = json!({ "additionalProperties": without(&["json", "regex"]) });
    table
}

fn headers() -> Schema {
    // Header names are tokens (RFC 9110, section 5.6.2).
    let names = json!({ "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });
    let value = text("Value of the header, a template.");
    named("Headers in addition to those of every request.", value).with("propertyNames", names)
}

fn body() -> Schema {
    let once = "Whether the body is rendered once for each user, instead of for each request.";
    let repeat = "Number of times that `json` is rendered: the body is an array of the results.";
    let content_type = "Media type of the body. Default: application/json for `json`, \
                        text/plain; charset=utf-8 for `text`.";
    let keys = [
        (
            "json",
            any("Value to send as JSON. Strings in the value are templates.")
                .with("additionalProperties", true),
        ),
        ("text", text("Text to send as it is, a template.")),
        ("content_type", matching("^[ -~]*[!-~][ -~]*$", content_type)),
        ("repeat", integer(1..=MOST_REPETITIONS, repeat)),
        ("once", boolean(once)),
    ];
    table("Body of the request.", keys)
        .requires_one_of(&["json", "text"])
        .excludes("text", &["repeat"])
}

fn expect() -> Schema {
    let json = "Values that JSON pointers must find in the body: { \"/inserted\" = 1 }.";
    let body = text("Text that the body must contain.").with("minLength", 1);
    let keys = [
        ("status", integer(100..=599, "Expected status. Default: any 2xx or 3xx.")),
        (
            "json",
            named(json, any("Expected value."))
                .with("propertyNames", json!({ "pattern": POINTER })),
        ),
        ("body", body),
    ];
    table("Expected response.", keys)
}

fn counters() -> Schema {
    let about =
        "Unsigned integers to read from each expected response and to add up, each under a name.";
    named(about, pointer("JSON pointer, such as \"/inserted\"."))
}

fn captures() -> Schema {
    let [json, header, regex] = SOURCES;
    let keys = [
        (json, pointer("Value that a JSON pointer finds in the body.")),
        (header, text("Value of the first header with this name.")),
        (
            regex,
            text(
                "First match of a regular expression in the body: the first group, or the whole \
                 match if there is no group.",
            ),
        ),
    ];
    let one = table("Source of the value.", keys).requires_one_of(&SOURCES);
    let about = "Values to take from each expected response. In later requests, {{ NAME }} stands \
                 for the value with this name.";
    named(about, one)
}
