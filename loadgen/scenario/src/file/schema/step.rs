//! Schema of `[[step]]`.

use serde_json::{Value, json};

use super::expect::{expect, header_names};
use super::kinds::{
    Schema, any, array, boolean, choice, duration, integer, matching, name, named, partly, pointer,
    table, text, without,
};
use super::load;
use crate::file::body::{CONTENTS, MOST_REPETITIONS};
use crate::file::capture::{MATCH, MOST_MATCHES, PICKS, SOURCES};
use crate::file::condition::OF_BODY;
use crate::file::grpc;
use crate::file::moment::{GIVEN, WHEN};
use crate::file::multipart::CONTENTS as FIELD_CONTENTS;
use crate::file::repeat;
use crate::file::step::{METHODS, MOST_WEIGHT, REQUEST};
use crate::file::websocket::{self, SUBPROTOCOL};

/// Returns the schema of the array of all `[[step]]` tables.
pub(super) fn steps() -> Schema {
    let about = "Steps of each user, in this order: in each iteration, or once.";
    array(about, step(true))
}

/// Returns the schema of the array of all `[[flow]]` tables.
pub(super) fn flows() -> Schema {
    let weight = "Share of the iterations that take this flow, among the weights of all flows.";
    let steps = "Steps of an iteration, in the order of sending.";
    let keys = [
        ("name", name("Name of the flow in the results, unique in the file.")),
        ("weight", integer(1..=MOST_WEIGHT, weight).or(1)),
        ("step", array(steps, step(false)).with("minItems", 1)),
    ];
    let one = table("A journey of a user: the steps of one iteration.", keys);
    let about = "Flows among which the users divide their iterations, each in a table [[flow]].";
    array(about, one.requires(["name", "step"])).with("minItems", 1)
}

/// Returns the schema of a step. `once` tells whether users may send the step once, at their start or
/// stop.
fn step(once: bool) -> Schema {
    let label =
        "Name of the step in the results, unique in the file. Default: the method and the path.";
    let group = "Name under which the results of several steps are also added up.";
    let weight = "Of consecutive steps with weights, an iteration takes one step, with the step's \
                  share of the sum of the weights as its probability.";
    let timeout = "Longest time from the send to the last byte of the response's body, at most \
                   \"10m\".";
    let verify = "Whether the step is sent before each round, to verify the target.";
    let think_time = "Time that a user waits after this step, instead of the think time of [load]";
    let [get, post, put, patch, delete, head, options] =
        METHODS.map(|(key, method)| (key, path(method.name())));
    let request = "Any method and a path, separated by a space: \"PROPFIND /files\". A template.";
    let [open_key, send_key, receive_key, close_key] = websocket::KEYS;
    let call = "Service and method of a unary gRPC call, such as \"package.Service/Method\". Its \
                message is body = { json = { … } }. Needs [grpc].";
    let subprotocol = "Subprotocol that the WebSocket offers, such as \"graphql-transport-ws\".";
    let keys = [
        ("name", name(label)),
        get,
        post,
        put,
        patch,
        delete,
        head,
        options,
        (REQUEST, matching("^[A-Za-z0-9!#$%&'*+.^_`|~-]+ ([/?]|$)", request)),
        (grpc::KEY, matching("^[^/]+/[^/]+$", call)),
        (open_key, path("Opens the user's WebSocket, with a GET request")),
        (send_key, send()),
        (
            receive_key,
            boolean("Waits for a message over the user's WebSocket.").with("const", true),
        ),
        (close_key, boolean("Closes the user's WebSocket.").with("const", true)),
        (SUBPROTOCOL, matching("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", subprotocol)),
        ("when", moment(once)),
        ("weight", integer(1..=MOST_WEIGHT, weight)),
        ("repeat", repetitions()),
        ("group", name(group)),
        ("timeout", duration(timeout).or("30s")),
        ("think_time", load::think_time(think_time)),
        ("verify", boolean(verify).or(true)),
        ("query", pairs("Names and values of the query, to be percent-encoded.")),
        ("headers", headers()),
        ("auth", auth("User and password of the request, instead of those of [http].")),
        ("body", body()),
        ("expect", expect()),
        ("counters", counters()),
        ("capture", captures()),
    ];
    let mut requests = METHODS.map(|(key, _)| key).to_vec();
    requests.extend([REQUEST, grpc::KEY]);
    requests.extend(websocket::KEYS);
    let of_iterations = partly(["repeat", "weight"].map(|key| (key, Value::Bool(false))));
    let at_once = json!({
        "properties": { "when": { "type": "string" } }, "required": ["when"],
        "additionalProperties": true
    });
    table("One request, and the expected response.", keys)
        .requires_one_of(&requests)
        .with("if", at_once)
        .with("then", of_iterations)
        .beside("head", without_a_body())
        .excludes(grpc::KEY, &["query", SUBPROTOCOL])
        .excludes(open_key, &["body", "counters"])
        .excludes(send_key, &OF_HTTP)
        .excludes(receive_key, &OF_HTTP)
        .excludes(close_key, &[&OF_HTTP[..], &["counters", "capture"]].concat())
}

/// Keys that only a step with an HTTP request can have.
const OF_HTTP: [&str; 5] = ["query", "headers", "auth", "body", SUBPROTOCOL];

/// Returns the schema of a message to send.
fn send() -> Schema {
    let reply = "Whether the step ends with a message of the server, rather than with the send.";
    let [text_key, json_key, file_key] = websocket::CONTENTS;
    let keys = [
        (text_key, text("Text message, a template.")),
        (
            json_key,
            any("Value to send as JSON, in a text message. Strings in the value are templates.")
                .with("additionalProperties", true),
        ),
        (file_key, name("Path of a file to send as a binary message: at most 16 MiB.")),
        ("reply", boolean(reply).or(true)),
    ];
    table("Message to send over the user's WebSocket.", keys).requires_one_of(&websocket::CONTENTS)
}

fn moment(once: bool) -> Schema {
    let about = "Time at which each user sends the step once: before the user's first iteration \
                 (start), or after the user's last iteration (stop).";
    let [present, absent, equal] = GIVEN;
    let values = named("Captured values and the texts that they must be.", text("The text."));
    let keys = [
        (present, name("Captured value that the user must have.")),
        (absent, name("Captured value that the user must not have.")),
        (equal, values.with("minProperties", 1)),
    ];
    let given = table("Condition without which an iteration leaves the step out.", keys)
        .requires_one_of(&GIVEN);
    if !once {
        return given;
    }
    let forms = [choice(&WHEN, about), given].map(Value::from);
    any("Time or condition of the step.").with("oneOf", forms.to_vec())
}

fn repetitions() -> Schema {
    let keys = [
        ("min", integer(0..=repeat::MOST, "Smallest number of times.")),
        ("max", integer(1..=repeat::MOST, "Largest number of times.")),
    ];
    let range = table("A random number of times.", keys).requires(["min", "max"]);
    let forms = [integer(1..=repeat::MOST, "Number of times."), range].map(Value::from);
    let about = "Number of times that an iteration sends the step, one after another.";
    any(about).with("oneOf", forms.to_vec()).or(1)
}

fn path(method: &str) -> Schema {
    let about = format!(
        "{method}: path and query, percent-encoded: beginning with / or ?, or empty. A template, in \
         which {{{{ uuid }}}}, {{{{ int 1 100 }}}}, {{{{ user }}}}, {{{{ env NAME }}}} and others stand for \
         values."
    );
    matching("^([/?]|$)", &about)
}

/// Returns a schema that forbids all keys that read a response's body. Used for HEAD requests,
/// whose responses have no body.
fn without_a_body() -> Value {
    let mut table = without(&["counters"]);
    let of_body: Vec<&str> = OF_BODY.into_iter().chain(["stream"]).collect();
    let mut expect = without(&of_body);
    expect["properties"]["not"] = without(&OF_BODY);
    table["properties"]["expect"] = expect;
    table["properties"]["capture"] = json!({ "additionalProperties": without(&["json", "regex"]) });
    table
}

fn headers() -> Schema {
    let value = text("Value of the header, a template.");
    named("Headers in addition to those of every request.", value)
        .with("propertyNames", header_names())
}

/// Returns the schema of a user and a password.
pub(super) fn auth(about: &str) -> Schema {
    let keys = [
        ("user", text("User, a template.")),
        ("password", text("Password, a template, such as {{ env PASSWORD }}.")),
    ];
    table(about, keys).requires(["user", "password"])
}

fn body() -> Schema {
    let once = "Whether the body is rendered once for each user, instead of for each request.";
    let repeat = "Number of times that `json` is rendered: the body is an array of the results.";
    let content_type = "Media type of the body. Default: application/json for `json`, \
                        text/plain; charset=utf-8 for `text`, \
                        application/x-www-form-urlencoded for `form`; for `file` by the name of \
                        the file.";
    let file = "Path of a file to send as it is, relative to the scenario file: at most 16 MiB.";
    let keys = [
        (
            "json",
            any("Value to send as JSON. Strings in the value are templates.")
                .with("additionalProperties", true),
        ),
        ("text", text("Text to send as it is, a template.")),
        ("form", pairs("Names and values of a form, to be percent-encoded.")),
        ("multipart", multipart()),
        ("file", name(file)),
        ("content_type", media_type(content_type)),
        ("repeat", integer(1..=MOST_REPETITIONS, repeat)),
        ("once", boolean(once)),
    ];
    table("Body of the request.", keys)
        .requires_one_of(&CONTENTS)
        .excludes("text", &["repeat"])
        .excludes("form", &["repeat"])
        .excludes("multipart", &["repeat", "content_type"])
        .excludes("file", &["repeat"])
}

fn media_type(about: &str) -> Schema {
    matching("^[ -~]*[!-~][ -~]*$", about)
}

/// Returns the schema of the fields of a multipart form.
fn multipart() -> Schema {
    let scalar = || json!({ "type": ["string", "number", "boolean"] });
    let several =
        json!({ "type": "array", "items": { "oneOf": [scalar(), Value::from(field())] } });
    let forms = vec![scalar(), Value::from(field()), several];
    let value = any("Value, a template; a file; or an array of these.").with("oneOf", forms);
    named("Fields of a multipart form, which may be files.", value).with("minProperties", 1)
}

fn field() -> Schema {
    let [file, text_key, json_key] = FIELD_CONTENTS;
    let keys = [
        (file, name("Path of a file to send, relative to the scenario file: at most 16 MiB.")),
        (text_key, text("Text to send, a template.")),
        (
            json_key,
            any("Value to send as JSON. Strings in the value are templates.")
                .with("additionalProperties", true),
        ),
        ("filename", text("Name of the file in the form, a template. Default: that of `file`.")),
        (
            "content_type",
            media_type(
                "Media type of the field. Default: application/json for `json`, for `file` by the \
                 name of the file.",
            ),
        ),
    ];
    table("A field with a file, or with a media type of its own.", keys)
        .requires_one_of(&FIELD_CONTENTS)
}

/// Returns the schema of a table of names and values, whose strings are templates.
fn pairs(about: &str) -> Schema {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let several = json!({ "type": "array", "items": scalar });
    let value = any("Value, a template, or an array of values.");
    named(about, value.with("oneOf", vec![scalar, several]))
}

fn counters() -> Schema {
    let about =
        "Unsigned integers to read from each expected response and to add up, each under a name.";
    named(about, pointer("JSON pointer, such as \"/inserted\"."))
}

fn captures() -> Schema {
    let [json, header, regex] = SOURCES;
    let optional = "Whether a response may lack the value. The user then has no such value.";
    let number = integer(1..=MOST_MATCHES, "Number of the match, from 1.");
    let picks = [choice(&PICKS, "The first, the last or a random match."), number].map(Value::from);
    let keys = [
        (
            json,
            pointer(
                "Value that a JSON pointer finds in the body. A part * stands for each element of an array \
                 and each member of an object.",
            ),
        ),
        (header, text("Value of the first header with this name.")),
        (
            regex,
            text(
                "Match of a regular expression in the body: the first group, or the whole match if there \
                 is no group.",
            ),
        ),
        (
            MATCH,
            any("Which of several matches of `regex`, or of a pointer with *, counts.")
                .with("oneOf", picks.to_vec())
                .or("first"),
        ),
        ("optional", boolean(optional).or(false)),
    ];
    let one = table("Source of the value.", keys).requires_one_of(&SOURCES);
    let about = "Values to take from each expected response. In later requests, {{ NAME }} stands \
                 for the value with this name.";
    named(about, one)
}
