//! Schema of `[[step]]`.

use serde_json::{Value, json};

use super::kinds::{
    POINTER, Schema, any, array, choice, duration, integer, matching, name, named, pointer, table,
    text, without,
};
use crate::scenario::file::body::MOST_REPETITIONS;
use crate::scenario::file::capture::SOURCES;
use crate::scenario::file::step::{METHODS, MOST_WEIGHT, WHEN};

/// Returns the schema of all steps.
pub(super) fn steps() -> Schema {
    let about = "What each user does, in this order: in each iteration, or once.";
    array(about, step()).with("minItems", 1)
}

fn step() -> Schema {
    let label = "What results are filed under, each only once: the method and the path where it is \
                 left out.";
    let when = "Sent once by each user: before its first iteration, or after its last one.";
    let weight = "Of steps with weights that stand one after another, an iteration takes one: each as \
                  often as its share of the sum.";
    let timeout = "From the send to the last byte of the answer's body, at most \"10m\".";
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
    table("One request, and what its answer must be.", keys)
        .requires_one_of(&METHODS.map(|(key, _)| key))
        .excludes("weight", &["when"])
        .beside("head", without_a_body())
}

fn path(method: &str) -> Schema {
    let about = format!(
        "{}: path and query, beginning with / and percent-encoded. A template: {{{{ uuid }}}}, \
         {{{{ int 1 100 }}}}, {{{{ user }}}}, {{{{ env NAME }}}} and others stand for values.",
        method.to_uppercase()
    );
    matching("^/", &about)
}

/// Forbids keys that read a body, because the answer to HEAD has none.
fn without_a_body() -> Value {
    let mut table = without(&["counters"]);
    table["properties"]["expect"] = without(&["json", "body"]);
    table["properties"]["capture"] = json!({ "additionalProperties": without(&["json", "regex"]) });
    table
}

fn headers() -> Schema {
    // Header names are tokens (RFC 9110, section 5.6.2).
    let names = json!({ "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });
    named("What is sent beside what every request has.", text("Its value, a template."))
        .with("propertyNames", names)
}

fn body() -> Schema {
    let repeat = "The body is an array of so many renderings of `json`.";
    let content_type = "The media type: application/json, or text/plain; charset=utf-8, where it is \
                        left out.";
    let keys = [
        (
            "json",
            any("Sent as JSON; its strings are templates.").with("additionalProperties", true),
        ),
        ("text", text("Sent as it is, a template.")),
        ("content_type", matching("^[ -~]*[!-~][ -~]*$", content_type)),
        ("repeat", integer(1..=MOST_REPETITIONS, repeat)),
    ];
    table("What is sent.", keys).requires_one_of(&["json", "text"]).excludes("text", &["repeat"])
}

fn expect() -> Schema {
    let json = "What JSON pointers must find in the body: { \"/inserted\" = 1 }.";
    let body = text("A text that the body must contain.").with("minLength", 1);
    let keys = [
        ("status", integer(100..=599, "The status: any 2xx or 3xx where it is left out.")),
        (
            "json",
            named(json, any("The value, as it must be."))
                .with("propertyNames", json!({ "pattern": POINTER })),
        ),
        ("body", body),
    ];
    table("What the answer must be.", keys)
}

fn counters() -> Schema {
    let about =
        "Whole numbers that are read from each right answer and added up, each under a name.";
    named(about, pointer("A JSON pointer, such as \"/inserted\"."))
}

fn captures() -> Schema {
    let [json, header, regex] = SOURCES;
    let keys = [
        (json, pointer("What a JSON pointer finds in the body.")),
        (header, text("The value of the first header of this name.")),
        (
            regex,
            text("The first match of a regular expression in the body: its first group, or all."),
        ),
    ];
    let one = table("Where it is taken from.", keys).requires_one_of(&SOURCES);
    let about = "Values that are taken from each right answer: {{ NAME }} stands for them in later \
                 requests.";
    named(about, one)
}
