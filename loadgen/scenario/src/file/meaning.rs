//! Keys of a step that have no meaning for its action.

use super::condition::OF_BODY;
use super::json;
use super::reader::{Faults, Table, Value};
use super::websocket;
use crate::action::Action;
use crate::error::Fault;

const SUBPROTOCOL: &str = websocket::SUBPROTOCOL.name();

/// Key of `expect` that has a meaning only for a gRPC call.
pub(super) const GRPC_STATUS: &str = "grpc_status";

/// Takes the keys of a step that have no meaning for its action, and adds a fault for each. `answers_many` tells whether
/// the server answers a call with a stream of messages.
pub(super) fn refuse(
    table: &mut Table<'_>,
    action: Action,
    answers_many: bool,
    faults: &mut Faults<'_>,
) {
    let refused: &[&'static str] = match action {
        Action::Request => &[SUBPROTOCOL],
        Action::Call => &["query", "redirects", SUBPROTOCOL],
        Action::Connect => &["body", "counters", "redirects"],
        Action::Send { reply: true } | Action::Receive => {
            &["query", "headers", "auth", "body", "redirects", SUBPROTOCOL]
        }
        Action::Send { reply: false } | Action::Close => {
            &["query", "headers", "auth", "body", "redirects", SUBPROTOCOL, "counters", "capture"]
        }
    };
    for value in table.take_any(refused.iter().copied()) {
        refuse_key(&value, action, faults);
    }
    let mut of_expect: Vec<&str> = Vec::new();
    let mut of_capture: Vec<&str> = Vec::new();
    match action {
        Action::Request => of_expect.push(GRPC_STATUS),
        Action::Call if answers_many => of_expect.push("status"),
        Action::Call => of_expect.extend(["status", "stream"]),
        Action::Connect => {
            of_expect.extend(OF_BODY.into_iter().chain(["stream", GRPC_STATUS]));
            of_capture.extend(["json", "regex"]);
        }
        Action::Send { reply: true } | Action::Receive => {
            of_expect.extend(["status", "headers", "stream", GRPC_STATUS]);
            of_capture.push("header");
        }
        Action::Send { reply: false } | Action::Close => {
            of_expect.extend(OF_BODY);
            of_expect.extend(["status", "headers", "stream", GRPC_STATUS]);
        }
    }
    let expect = table.peek("expect");
    let not = inner(expect.as_ref()).into_iter().find(|value| value.key == "not");
    let conditions = inner(expect.as_ref()).into_iter().chain(inner(not.as_ref()));
    for value in conditions.filter(|value| of_expect.contains(&value.key)) {
        refuse_key(&value, action, faults);
    }
    let captures = inner(table.peek("capture").as_ref());
    for capture in &captures {
        let sources = inner(Some(capture));
        // An expression beside a header reads the header.
        let has_header = sources.iter().any(|value| value.key == "header");
        let is_refused = |value: &&Value<'_>| {
            of_capture.contains(&value.key) && !(has_header && value.key == "regex")
        };
        sources.iter().filter(is_refused).for_each(|value| refuse_key(value, action, faults));
    }
}

/// Returns the values of a table; none for any other value, and for none.
fn inner<'a>(value: Option<&Value<'a>>) -> Vec<Value<'a>> {
    value.map_or_else(Vec::new, json::fields)
}

fn refuse_key(value: &Value<'_>, action: Action, faults: &mut Faults<'_>) {
    let step = match (value.key, action) {
        (GRPC_STATUS, _) => "without `grpc`",
        (_, Action::Request) => "without `websocket`",
        (_, Action::Call) => "with `grpc`",
        (_, Action::Connect) => "with `websocket`",
        (_, Action::Send { reply: true }) => "with `send`",
        (_, Action::Send { reply: false }) => "with reply = false",
        (_, Action::Receive) => "with `receive`",
        (_, Action::Close) => "with `close`",
    };
    let help = match (value.key, action) {
        (GRPC_STATUS, _) => "only a step with `grpc` calls a method of gRPC",
        ("status", Action::Call) => {
            "write grpc_status = \"OK\": the HTTP status of a call is always 200"
        }
        ("query", Action::Call) => "write the request's message as body = { json = { … } }",
        ("body", Action::Send { .. }) => "write the message in `send`",
        (SUBPROTOCOL, Action::Request | Action::Call) => {
            "add the key to the step that opens the WebSocket"
        }
        (SUBPROTOCOL | "headers" | "header" | "auth" | "query" | "status", _) => {
            "only the step with `websocket` sends an HTTP request and reads its status and headers"
        }
        ("redirects", _) => "only HTTP requests follow redirects: leave out the key",
        ("stream", Action::Call) => "the method answers with one message, which is no stream",
        ("stream", _) => "only the body of an HTTP response can be a stream",
        (_, Action::Connect) => "expect and read messages in a step with `send` or `receive`",
        _ => "leave out the key: such a step reads no message",
    };
    let fault = Fault::new(format!("`{}` has no meaning in a step {step}", value.key));
    faults.add(fault.at(value.key_place.clone(), "no effect").help(help));
}
