//! `websocket`, `send`, `receive` and `close`: the steps of a WebSocket.

use std::ops::Range;

use super::keys::{
    self, Boolean, Custom, Defaulted, Key, Keys, ONE_REQUEST, PATH, REQUEST_PATH, TEMPLATE, TRUE,
    custom, key, matching,
};
use super::reader::{Faults, Value};
use super::{body, json};
use crate::action::Action;
use crate::body::Body;
use crate::error::Fault;
use crate::http::{Http, HttpVersion, TransportKind};
use crate::model::When;
use crate::nearest::list;
use crate::template::Template;
use crate::token::is_token;

/// Keys of the steps of a WebSocket, in the order in which they are used.
pub(super) const STEPS: [&str; 4] = [OPEN.name(), SEND.name(), RECEIVE.name(), CLOSE.name()];

keys! {
    /// opens the user's [WebSocket](#websocket-steps), with a GET request to this path and query
    pub(super) const OPEN: Key<Custom> = key("websocket", REQUEST_PATH).needed(ONE_REQUEST);
    /// sends a message over the user's WebSocket, and waits for one of the server unless `reply = false`
    pub(super) const SEND: Key<Custom> = key("send", custom("table", || MESSAGE.schema()))
        .needed(ONE_REQUEST);
    /// waits for a message over the user's WebSocket
    pub(super) const RECEIVE: Key<Custom> = key("receive", TRUE).needed(ONE_REQUEST);
    /// closes the user's WebSocket
    pub(super) const CLOSE: Key<Custom> = key("close", TRUE).needed(ONE_REQUEST);
    /// with `websocket`: [subprotocol](#websocket-steps) that is offered, such as `"graphql-transport-ws"`
    pub(super) const SUBPROTOCOL: Key<Custom> =
        key("subprotocol", matching("token", "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"))
        .otherwise("no subprotocol");
}

/// Keys of the content of a message, of which a message has exactly one.
const CONTENTS: [&str; 3] = [TEXT.name(), JSON.name(), FILE.name()];

/// When each of these keys is required.
const ONE_CONTENT: &str = "required: exactly one of `text`, `json` and `file`";

keys! {
    /// message to send over the user's WebSocket
    pub(super) const MESSAGE: Keys = table("`send`").with(|table| table.requires_one_of(&CONTENTS));

    /// text message
    const TEXT: Key<Custom> = key("text", TEMPLATE).needed(ONE_CONTENT);
    /// JSON in a text message; its strings are templates
    const JSON: Key<Custom> = key("json", keys::JSON).needed(ONE_CONTENT);
    /// content of a file of at most 16 MiB, as a binary message
    const FILE: Key<Custom> = key("file", PATH).needed(ONE_CONTENT);
    /// whether the step waits for a message; with `false` it ends when the message is sent
    const REPLY: Defaulted<Boolean> = key("reply", Boolean).or("true");
}

/// The header that offers the subprotocol.
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
    let mut table = MESSAGE.open(value, faults)?;
    let contents = table.take_any(CONTENTS);
    let reply = REPLY.read(&mut table, faults);
    table.finish(faults);
    let message = match contents.as_slice() {
        [content] => match body::read_content(content, None, faults) {
            Some(message) if message.files().any(|file| file.on_disk().is_some()) => {
                let help = "each process keeps the message in memory: send a smaller file";
                content.fault("a message has at most 16 MiB", "this file", help, faults)
            }
            message => message,
        },
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

/// Adds the headers of the opening handshake to those of a step, which must set none of them.
pub(super) fn beside(
    subprotocol: Option<Value<'_>>,
    written: Option<&Value<'_>>,
    headers: Option<Vec<(String, Template)>>,
    faults: &mut Faults<'_>,
) -> Option<Vec<(String, Template)>> {
    for value in written.into_iter().flat_map(json::fields) {
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
    if !is_token(name) {
        let message = format!("`{name}` is not the name of a subprotocol");
        let help = "use letters, digits and !#$%&'*+-.^_`|~, such as \"graphql-transport-ws\"";
        return value.fault(message, "invalid name", help, faults);
    }
    let mut headers = headers?;
    headers.push((SUBPROTOCOL_HEADER.to_owned(), Template::literal(name)));
    Some(headers)
}

/// Action of a step, and when it happens. `place` is the position of the action's key.
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
    let (what, help) = match http.version {
        HttpVersion::Http2 => (
            "HTTP/2".to_owned(),
            "leave out `version`: a WebSocket over HTTP/2 (RFC 8441) is not supported",
        ),
        HttpVersion::Http11 => (format!("the transport `{transport}`"), "leave out `transport`"),
    };
    let fault = Fault::new(format!("a WebSocket cannot be used with {what}"));
    faults.add_beside(fault.at(place, "uses a WebSocket").help(help), table);
}
