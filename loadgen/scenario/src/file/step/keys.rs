//! The keys of a step.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::file::condition::OF_BODY;
use crate::file::keys::schema::{self, Schema, partly, without};
use crate::file::keys::{
    Boolean, Custom, Declared, Defaulted, Integer, Key, Keys, ONE_REQUEST, REQUEST_PATH, Time,
    custom, integer, key, matching, not_blank,
};
use crate::file::{
    auth, body, capture, expect, grpc, headers, http, load, moment, pairs, repeat, websocket,
};
use crate::method::Method;

/// Longest timeout of a step; equals the longest latency that is measured.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

pub(in crate::file) const MOST_WEIGHT: u64 = 1_000_000;

/// Keys whose value is a path, each with the method of the request.
pub(in crate::file) const METHODS: [(&str, Method); 7] = [
    (GET.name(), Method::GET),
    (POST.name(), Method::POST),
    (PUT.name(), Method::PUT),
    (PATCH.name(), Method::PATCH),
    (DELETE.name(), Method::DELETE),
    (HEAD.name(), Method::HEAD),
    (OPTIONS.name(), Method::OPTIONS),
];

/// Keys of all other requests.
pub(super) const OTHERS: [&str; 6] =
    [REQUEST.name(), grpc::KEY, OPEN.name(), SEND.name(), RECEIVE.name(), CLOSE.name()];

/// Declares the key of a method.
const fn method(name: &'static str) -> Key<Custom> {
    let about = "path and query of a request with this method, percent-encoded: begins with `/`, or with `?` or is \
                 empty for the path of the target's URL, without a slash at its end. [Placeholders](#templates) \
                 such as `{{ uuid }}`, `{{ int 1 100 }}`, `{{ user }}` and `{{ env NAME }}` stand for values";
    key(name, REQUEST_PATH).about(about).needed(ONE_REQUEST)
}

keys! {
    /// one request, and the expected response
    pub(in crate::file) const KEYS: Keys = table("a [[step]]").with(rules);

    /// name of the step in the results
    pub(super) const NAME: Key<Custom> = key("name", not_blank("unique string of one line"))
        .otherwise("method and path, such as `GET /redis3`");
    const GET: Key<Custom> = method("get");
    const POST: Key<Custom> = method("post");
    const PUT: Key<Custom> = method("put");
    const PATCH: Key<Custom> = method("patch");
    const DELETE: Key<Custom> = method("delete");
    const HEAD: Key<Custom> = method("head");
    const OPTIONS: Key<Custom> = method("options");
    /// any method but `CONNECT`, with path and query: `"PROPFIND /files"`
    const REQUEST: Key<Custom> =
        key("request", matching("method, a space and a template", "^[A-Za-z0-9!#$%&'*+.^_`|~-]+ ([/?]|$)"))
        .needed(ONE_REQUEST);
    /// a [gRPC call](#grpc-steps), whose message is `body = { json = { … } }`. Needs `[grpc]`
    const GRPC: Key<Custom> = key(grpc::KEY, matching("`package.Service/Method`", "^[^/]+/[^/]+$"))
        .needed(ONE_REQUEST);
    const OPEN: Key<Custom> = websocket::OPEN;
    const SEND: Key<Custom> = websocket::SEND;
    const RECEIVE: Key<Custom> = websocket::RECEIVE;
    const CLOSE: Key<Custom> = websocket::CLOSE;
    pub(super) const SUBPROTOCOL: Key<Custom> = websocket::SUBPROTOCOL;
    pub(super) const WHEN: Key<Custom> = moment::KEY;
    /// makes the step one of several alternatives: of consecutive steps with weights, an iteration takes one,
    /// with its share of their sum as its probability
    pub(super) const WEIGHT: Key<Integer> = key("weight", integer(1, MOST_WEIGHT))
        .otherwise("no alternatives");
    pub(super) const REPEAT: Defaulted<Custom> = repeat::KEY;
    /// name under which the results of several steps are also added up: a row of the report, and a name for
    /// [thresholds](#thresholds)
    pub(super) const GROUP: Key<Custom> = key("group", not_blank("string of one line"))
        .otherwise("no group");
    /// longest time from the send to the last byte of the response body
    pub(super) const TIMEOUT: Defaulted<Time> =
        key("timeout", Time::POSITIVE.at_most(LONGEST_TIMEOUT, "longer than any measured latency"))
        .or("\"30s\"");
    /// most consecutive redirects that the request follows
    pub(super) const REDIRECTS: Key<Integer> = key("redirects", integer(0, http::MOST_REDIRECTS))
        .otherwise("that of [`[http]`](#http)");
    /// time that a user waits after this step, before its next request: `"1s"`, `{ min = "1s", max = "3s" }` or
    /// `{ mean = "2s" }`; not for a stop step
    pub(super) const THINK_TIME: Key<Custom> = key("think_time", custom("duration or table", load::think_time))
        .otherwise("that of `[load]`");
    /// whether the step is sent once before each round, to [verify the target](#verification)
    pub(super) const VERIFY: Defaulted<Boolean> = key("verify", Boolean).or("true");
    /// names and values of the [query](#query-and-form), which follow those in the path
    pub(super) const QUERY: Key<Custom> = key("query", custom("table", pairs::schema))
        .otherwise("only the query in the path");
    /// headers of the request, besides those of every request
    pub(super) const HEADERS: Key<Custom> = key("headers", custom("table of templates", headers::schema))
        .otherwise("only those of every request");
    /// [user and password](#user-and-password) of the request
    pub(super) const AUTH: Key<Custom> = key("auth", custom("table", || auth::KEYS.schema()))
        .otherwise("that of [`[http]`](#http)");
    /// [body of the request](#body)
    pub(super) const BODY: Key<Custom> = key("body", custom("table", || body::KEYS.schema()))
        .otherwise("no body");
    /// [expected response](#expect-and-counters)
    pub(super) const EXPECT: Key<Custom> = key("expect", custom("table", || expect::KEYS.schema()))
        .otherwise("any 2xx status");
    /// unsigned integers to read from each expected response and to add up
    pub(super) const COUNTERS: Key<Custom> = key("counters", custom("table of JSON pointers", expect::counters_schema))
        .otherwise("no counters");
    /// [values to take from each expected response](#capture) for later requests, in which `{{ NAME }}` stands
    /// for the value with this name
    pub(super) const CAPTURE: Key<Custom> =
        key("capture", custom("table of tables", || schema::named(capture::KEYS.schema())))
        .otherwise("no values");
}

/// A step of a flow, which is never sent once.
pub(in crate::file) const OF_FLOW: Keys = KEYS
    .called("a [[flow.step]]")
    .with(|step| rules(step).narrowed(WHEN.name(), moment::OF_FLOW.schema()));

/// Keys that only a step with an HTTP request can have.
const OF_HTTP: [&str; 6] =
    [QUERY.name(), HEADERS.name(), AUTH.name(), BODY.name(), REDIRECTS.name(), SUBPROTOCOL.name()];

fn rules(step: Schema) -> Schema {
    let requests: Vec<&str> = METHODS.map(|(key, _)| key).into_iter().chain(OTHERS).collect();
    let of_iterations = [REPEAT.name(), WEIGHT.name()].map(|key| (key, Json::Bool(false)));
    let at_once = json!({
        "properties": { "when": { "type": "string" } }, "required": ["when"],
        "additionalProperties": true
    });
    let [open, send, receive, close] = websocket::STEPS;
    step.requires_one_of(&requests)
        .with("if", at_once)
        .with("then", partly(of_iterations))
        .beside(HEAD.name(), without_a_body())
        .excludes(grpc::KEY, &["query", "redirects", "subprotocol"])
        .excludes(open, &["body", "counters", "redirects"])
        .excludes(send, &OF_HTTP)
        .excludes(receive, &OF_HTTP)
        .excludes(close, &[&OF_HTTP[..], &["counters", "capture"]].concat())
}

/// Returns a schema that forbids all keys that read a response's body. Used for HEAD requests,
/// whose responses have no body.
fn without_a_body() -> Json {
    let mut table = without(&["counters"]);
    let of_body: Vec<&str> = OF_BODY.into_iter().chain(["stream"]).collect();
    let mut expect = without(&of_body);
    expect["properties"]["not"] = without(&OF_BODY);
    table["properties"]["expect"] = expect;
    table["properties"]["capture"] = json!({ "additionalProperties": capture::without_a_body() });
    table
}
