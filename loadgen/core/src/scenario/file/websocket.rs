//! `websocket`, `send`, `receive` and `close`: the steps of a WebSocket.

use std::ops::Range;

use toml::de::DeValue;

use super::condition::OF_BODY;
use super::reader::{Faults, Table, Value};
use super::{body, headers};
use crate::scenario::action::Action;
use crate::scenario::body::Body;
use crate::scenario::error::Fault;
use crate::scenario::http::{Http, HttpFeature, HttpVersion, TransportKind};
use crate::scenario::model::When;
use crate::scenario::nearest::list;
use crate::scenario::template::Template;

/// Keys of the steps of a WebSocket, in the order in which they are used.
pub(super) const KEYS: [&str; 4] = ["websocket", "send", "receive", "close"];

/// Keys of the content of a message, of which a message has exactly one.
pub(super) const CONTENTS: [&str; 3] = ["text", "json", "file"];

/// Key of a step that names the subprotocol, and the header that offers the subprotocol.
pub(super) const SUBPROTOCOL: &str = "subprotocol";
const SUBPROTOCOL_HEADER: &str = "sec-websocket-protocol";

/// Headers of the opening handshake, which loadgen sets itself.
const OF_HANDSHAKE: [&str; 7] = [
    "connection",
    "upgrade",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    SUBPROTOCOL_HEADER,
    "sec-websocket-version",
];

/// Reads `send`: a message, and whether the step waits for a message of the server.
pub(super) fn read_send(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<(Action, Body)> {
    let mut table = value.table("`send`", faults)?;
    let contents = table.take_any(CONTENTS);
    let reply = table.take("reply").map_or(Some(true), |value| value.boolean(faults));
    table.finish(faults);
    let message = match contents.as_slice() {
        [content] => body::read_content(content, None, faults),
        [] => {
            let help = "write send = { text = \"hello\" } or { json = { type = \"ping\" } }";
            value.fault("`send` has no message", "nothing to send", help, faults)
        }
        several => {
            let fault = Fault::new(format!("a message has only one of {}", list(CONTENTS)));
            let at = |fault: Fault, one: &Value<'_>| fault.at(one.key_place.clone(), "one message");
            faults.add(several.iter().fold(fault, at).help("keep one of them"));
            None
        }
    };
    Some((Action::Send { reply: reply? }, message?))
}

/// Reads a key that must be `true`: `receive` or `close`.
pub(super) fn read_true(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<()> {
    if value.boolean(faults)? {
        return Some(());
    }
    let message = format!("`{}` must be true", value.key);
    value.fault(message, "no action", "leave out the step", faults)
}

/// Takes the keys of a step that have no meaning for its action, and adds a fault for each.
pub(super) fn refuse(table: &mut Table<'_>, action: Action, faults: &mut Faults<'_>) {
    let refused: &[&'static str] = match action {
        Action::Request => &[SUBPROTOCOL],
        Action::Connect => &["body", "counters"],
        Action::Send { reply: true } | Action::Receive => {
            &["query", "headers", "auth", "body", SUBPROTOCOL]
        }
        Action::Send { reply: false } | Action::Close => {
            &["query", "headers", "auth", "body", SUBPROTOCOL, "counters", "capture"]
        }
    };
    for value in table.take_any(refused.iter().copied()) {
        refuse_key(&value, action, faults);
    }
    let mut of_expect: Vec<&str> = Vec::new();
    let mut of_capture: Vec<&str> = Vec::new();
    match action {
        Action::Request => return,
        Action::Connect => {
            of_expect.extend(OF_BODY.into_iter().chain(["stream"]));
            of_capture.extend(["json", "regex"]);
        }
        Action::Send { reply: true } | Action::Receive => {
            of_expect.extend(["status", "headers", "stream"]);
            of_capture.push("header");
        }
        Action::Send { reply: false } | Action::Close => {
            of_expect.extend(OF_BODY);
            of_expect.extend(["status", "headers", "stream"]);
        }
    }
    let expect = table.peek("expect");
    let not = inner(expect.as_ref()).into_iter().find(|value| value.key == "not");
    let conditions = inner(expect.as_ref()).into_iter().chain(inner(not.as_ref()));
    for value in conditions.filter(|value| of_expect.contains(&value.key)) {
        refuse_key(&value, action, faults);
    }
    let captures = inner(table.peek("capture").as_ref());
    let sources = captures.iter().flat_map(|capture| inner(Some(capture)));
    for value in sources.filter(|value| of_capture.contains(&value.key)) {
        refuse_key(&value, action, faults);
    }
}

/// Returns the values of a table; none for any other value.
fn inner<'a>(value: Option<&Value<'a>>) -> Vec<Value<'a>> {
    match value.map(|value| value.node.get_ref()) {
        Some(DeValue::Table(table)) => Table::new("", 0..0, table).rest(),
        _ => Vec::new(),
    }
}

fn refuse_key(value: &Value<'_>, action: Action, faults: &mut Faults<'_>) {
    let step = match action {
        Action::Request => "without `websocket`",
        Action::Connect => "with `websocket`",
        Action::Send { reply: true } => "with `send`",
        Action::Send { reply: false } => "with reply = false",
        Action::Receive => "with `receive`",
        Action::Close => "with `close`",
    };
    let help = match (value.key, action) {
        ("body", Action::Send { .. }) => "write the message in `send`",
        (SUBPROTOCOL, Action::Request) => "add the key to the step that opens the WebSocket",
        (SUBPROTOCOL | "headers" | "header" | "auth" | "query" | "status", _) => {
            "only the step with `websocket` sends an HTTP request and reads its status and headers"
        }
        ("stream", _) => "only the body of an HTTP response can be a stream",
        (_, Action::Connect) => "expect and read messages in a step with `send` or `receive`",
        _ => "leave out the key: such a step reads no message",
    };
    let fault = Fault::new(format!("`{}` has no meaning in a step {step}", value.key));
    faults.add(fault.at(value.key_place.clone(), "no effect").help(help));
}

/// Adds the headers of the opening handshake to those of a step, which must set none of them.
pub(super) fn beside(
    subprotocol: Option<Value<'_>>,
    written: Option<&Value<'_>>,
    headers: Option<Vec<(String, Template)>>,
    faults: &mut Faults<'_>,
) -> Option<Vec<(String, Template)>> {
    for value in inner(written) {
        let name = value.key.to_ascii_lowercase();
        if OF_HANDSHAKE.contains(&name.as_str()) {
            let message = format!("`{}` is a part of the opening handshake", value.key);
            let help = match name.as_str() {
                SUBPROTOCOL_HEADER => "write subprotocol = \"NAME\"",
                _ => "leave the header out: loadgen sets it",
            };
            faults.add(Fault::new(message).at(value.key_place.clone(), "not allowed").help(help));
        }
    }
    let Some(value) = subprotocol else { return headers };
    let name = value.text(faults)?;
    if name.is_empty() || !name.chars().all(headers::is_token) {
        let message = format!("`{name}` is not the name of a subprotocol");
        let help = "use letters, digits and !#$%&'*+-.^_`|~, such as \"graphql-transport-ws\"";
        return value.fault(message, "invalid name", help, faults);
    }
    let mut headers = headers?;
    headers.push((SUBPROTOCOL_HEADER.to_owned(), Template::literal(name)));
    Some(headers)
}

/// What a step does, and when; `place` is the position of the key that says so.
#[derive(Clone)]
pub(super) struct Placed {
    pub action: Action,
    pub when: When,
    pub place: Range<usize>,
}

/// Adds a fault for each step that needs a WebSocket which no step before it can open. `begins` has
/// the index of the first step of each flow, and of the first step after the last flow; it is empty
/// without flows. `one_flow_each` tells whether each user takes one flow only.
pub(super) fn check_order(
    steps: &[Placed],
    begins: &[usize],
    one_flow_each: bool,
    faults: &mut Faults<'_>,
) {
    let flow = |index: usize| begins.partition_point(|begin| *begin <= index);
    let is_before = |other: usize, index: usize| match (steps[other].when, steps[index].when) {
        (When::Iteration, When::Iteration) if flow(other) != flow(index) => !one_flow_each,
        (When::Iteration, When::Stop) => true,
        _ => other < index,
    };
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.action.needs_socket()) {
        let opens =
            |other: usize| steps[other].action == Action::Connect && is_before(other, index);
        if !(0..steps.len()).any(opens) {
            let fault = Fault::new("no step before this one opens a WebSocket");
            let help = "add a step before it, such as websocket = \"/ws\", in the same flow or with \
                        when = \"start\"";
            faults.add(fault.at(step.place.clone(), "needs an open WebSocket").help(help));
        }
    }
}

/// Adds a fault if steps use a WebSocket with options of `[http]` that a WebSocket cannot have.
/// `place` is the first step of a WebSocket.
pub(super) fn check_http(
    http: &Http,
    table: Option<&Value<'_>>,
    place: Range<usize>,
    faults: &mut Faults<'_>,
) {
    let transport = http.transport();
    if transport == TransportKind::Http1 {
        return;
    }
    let (what, help) = match (http.needs_reqwest().first(), http.version) {
        (Some(feature @ HttpFeature::Cookies), _) => (
            feature.to_string(),
            "leave out `cookies`: capture the cookie, and send it as a header of the step",
        ),
        (Some(feature), _) => (feature.to_string(), "leave out the key in [http]"),
        (None, HttpVersion::Http2) => (
            "HTTP/2".to_owned(),
            "leave out `version`: a WebSocket over HTTP/2 (RFC 8441) is not supported",
        ),
        (None, HttpVersion::Http11) => {
            (format!("the transport `{transport}`"), "leave out `transport`")
        }
    };
    let fault = Fault::new(format!("a WebSocket cannot be used with {what}"));
    let fault = fault.at(place, "uses a WebSocket");
    let fault = match table {
        Some(table) => fault.at(table.key_place.clone(), "asked for here"),
        None => fault,
    };
    faults.add(fault.help(help));
}
