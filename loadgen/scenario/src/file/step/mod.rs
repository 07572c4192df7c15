//! `[[step]]`: one request and its expected answer.

mod keys;

use self::keys::{
    AUTH, BODY, CAPTURE, COUNTERS, EXPECT, GROUP, HEADERS, NAME, OTHERS, QUERY, REDIRECTS, REPEAT,
    SUBPROTOCOL, THINK_TIME, TIMEOUT, VERIFY, WEIGHT, WHEN,
};
pub(super) use self::keys::{KEYS, METHODS, MOST_WEIGHT, OF_FLOW};
use std::ops::Range;

use super::grpc::{self, Called};
use super::keys::Keys;
use super::moment::{self, Moment};
use super::name::Name;
use super::reader::{Faults, Table, Value};
use super::websocket::{self, Placed};
use super::{auth, body, capture, expect, headers, load, meaning, pairs, repeat};
use crate::action::Action;
use crate::body::Body;
use crate::error::Fault;
use crate::expect::Statuses;
use crate::flow::{Given, Repeat};
use crate::method::Method;
use crate::model::{Step, When, request_line};
use crate::nearest::list;
use crate::template::{Piece, Template};
use crate::token::is_method;

/// A step as read, of which some parts may have faults.
#[derive(Default)]
pub(super) struct Read {
    pub name: Option<Name>,
    pub moment: Option<Moment>,
    pub placed: Option<Placed>,
    pub step: Option<Step>,
}

/// Reads the steps of an array, one after another.
pub(super) fn read_all(of: &Keys, values: &[Value<'_>], faults: &mut Faults<'_>) -> Vec<Read> {
    let read = values.iter().map(|value| {
        let read = read(of, value, faults);
        faults.scope.captured(capture::names(value));
        read
    });
    read.collect()
}

fn read(of: &Keys, value: &Value<'_>, faults: &mut Faults<'_>) -> Read {
    let Some(mut table) = of.open(value, faults) else {
        return Read::default();
    };
    let name = NAME.take(&mut table);
    let moment = moment::read(WHEN.take(&mut table), table.place.clone(), faults);
    faults.scope.when = moment.as_ref().map_or(When::Iteration, |moment| moment.when);
    // The condition makes sure of the value, even if a later step captures it.
    let given = moment.as_ref().and_then(|moment| moment.given.as_ref());
    let before = faults.scope.with_captured(given.into_iter().flat_map(Given::present));
    let request = read_request(&mut table, faults);
    let name = match name {
        Some(name) => Name::read(&name, "a step", faults),
        None => request.as_ref().map(Request::name),
    };
    let text = name.as_ref().map(|name| name.text.clone());
    let placed = moment.as_ref().zip(request.as_ref()).map(|(moment, request)| Placed {
        action: request.action,
        when: moment.when,
        place: request.place.clone(),
    });
    if let Some(moment) = moment.as_ref().filter(|moment| !moment.when.is_of_users()) {
        moment::refuse_of_users(&table, placed.as_ref(), moment, faults);
    }
    let step = read_rest(text, moment.as_ref(), request, &mut table, faults);
    table.finish(faults);
    faults.scope.has_captured(before);
    Read { name, moment, placed, step }
}

fn read_rest(
    name: Option<String>,
    moment: Option<&Moment>,
    request: Option<Request>,
    table: &mut Table<'_>,
    faults: &mut Faults<'_>,
) -> Option<Step> {
    let when = moment.map(|moment| moment.when);
    let once = when.is_some_and(|when| when != When::Iteration);
    let weight = match table.peek(WEIGHT.name()).filter(|_| once) {
        Some(value) => {
            let message = "a step with `when` cannot have a `weight`";
            let help =
                "weights divide the iterations among steps: leave out either `weight` or `when`";
            WEIGHT.take(table);
            value.fault(message, "no effect", help, faults)
        }
        None => WEIGHT.read(table, faults).map(|weight| weight.and_then(|n| u32::try_from(n).ok())),
    };
    let repeat = match REPEAT.take(table) {
        Some(value) => repeat::read(&value, once, faults),
        None => Some(Repeat::default()),
    };
    let group = match GROUP.take(table) {
        Some(value) => Name::read(&value, "a group", faults).map(|name| Some(name.text)),
        None => Some(None),
    };
    let timeout = TIMEOUT.read(table, faults);
    let think_time = match THINK_TIME.take(table) {
        None => Some(None),
        Some(value) if when == Some(When::Stop) => {
            let message = "a step with when = \"stop\" cannot have a `think_time`";
            let help = "users do not wait while they stop: leave out `think_time`";
            value.fault(message, "no effect", help, faults)
        }
        Some(value) => load::read_think_time(&value, faults).map(Some),
    };
    let verify = VERIFY.read(table, faults);
    let called = request.as_ref().and_then(|request| request.called.as_ref());
    let answers_many = called.is_some_and(|called| called.answers_many);
    let action = request.as_ref().map_or(Action::Request, |it| it.action);
    meaning::refuse(table, action, answers_many, faults);
    let redirects = REDIRECTS.read(table, faults);
    let query = QUERY.take(table).map(|value| pairs::read(&value, "`query`", faults));
    let body = BODY.take(table);
    let written = HEADERS.take(table);
    let has_body = body.is_some() && called.is_none();
    let headers =
        written.as_ref().map_or(Some(Vec::new()), |value| headers::read(value, has_body, faults));
    let headers = match request.as_ref().map(|request| request.action) {
        Some(Action::Connect) => {
            let subprotocol = SUBPROTOCOL.take(table);
            websocket::beside(subprotocol, written.as_ref(), headers, faults)
        }
        Some(Action::Call) => {
            grpc::check_headers(written.as_ref(), faults);
            headers
        }
        _ => headers,
    };
    let headers = auth::beside(AUTH.take(table), headers, faults);
    let body = match (called, body) {
        (Some(called), body) => Some(grpc::read_body(body.as_ref(), called, faults)),
        (None, body) => body.map(|value| body::read(&value, faults)),
    };
    let method = request.as_ref().map(|request| &request.method);
    let has_status = table.peek(EXPECT.name()).is_some_and(|expect| {
        expect.node.get_ref().as_table().is_some_and(|keys| keys.contains_key("status"))
    });
    let (written, counters) = (EXPECT.take(table), COUNTERS.take(table));
    let (expect, counters) = expect::read(written.clone(), counters, method, timeout, faults);
    let captures = capture::read(CAPTURE.take(table), method, faults);
    let Request { action, method, mut path, message, .. } = request?;
    if let Some(query) = query {
        let query = query?;
        let has_query = path.literals().any(|text| text.contains('?'));
        if query.as_constant() != Some("") {
            path.push(Piece::Literal(if has_query { "&" } else { "?" }.to_owned()));
            path.append(query);
        }
    }
    let body = match body {
        Some(body) => Some(body?),
        None => message,
    };
    let mut expect = expect?;
    match action {
        Action::Request => {}
        Action::Call => {
            expect.status = Statuses::new(vec![(200, 200)]);
            expect.grpc_status.get_or_insert_default();
            if answers_many {
                let stream = expect.stream.take();
                expect.stream = Some(grpc::expected_stream(stream, written.as_ref(), faults));
            }
        }
        _ if has_status => {}
        _ => expect.status = Statuses::new(vec![(101, 101)]),
    }
    Some(Step {
        name: name?,
        when: when?,
        action,
        method,
        path,
        headers: headers?,
        body,
        weight: weight?,
        given: moment?.given.clone(),
        repeat: repeat?,
        group: group?,
        timeout: timeout?,
        redirects: match (action, redirects?) {
            (Action::Request, Some(own)) => u32::try_from(own).unwrap_or_default(),
            (Action::Request, None) => faults.redirects,
            _ => 0,
        },
        think_time: think_time?,
        verify: verify?,
        expect,
        counters,
        captures: captures?,
    })
}

struct Request {
    place: Range<usize>,
    action: Action,
    method: Method,
    path: Template,
    /// Message to send over a WebSocket.
    message: Option<Body>,
    /// Method that a gRPC call calls.
    called: Option<Called>,
}

impl Request {
    fn of_http(place: Range<usize>, method: Method, path: Template) -> Self {
        Self { place, action: Action::Request, method, path, message: None, called: None }
    }

    /// Creates a use of the user's WebSocket, which has no path.
    fn of_socket(place: Range<usize>, action: Action, message: Option<Body>) -> Self {
        let request = Self::of_http(place, Method::GET, Template::default());
        Self { action, message, ..request }
    }

    /// Returns the step's default name: the method and the path, such as `GET /items`.
    fn name(&self) -> Name {
        let text = request_line(self.action, &self.method, &self.path);
        Name { place: self.place.clone(), text }
    }
}

fn read_request(table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Request> {
    let keys = METHODS.map(|(key, _)| key);
    let values = table.take_any(keys.into_iter().chain(OTHERS));
    if values.is_empty() {
        let fault =
            Fault::new("the step has no request").at(table.place.clone(), "nothing to send");
        let help = format!(
            "add one of {}, such as get = \"/\"; or one of {}",
            list(keys),
            list([grpc::KEY].into_iter().chain(websocket::STEPS))
        );
        faults.add(fault.help(help));
    }
    if values.len() > 1 {
        let fault = Fault::new("a step has only one request")
            .help("write a separate [[step]] for each request");
        let at =
            |fault: Fault, request: &Value<'_>| fault.at(request.key_place.clone(), "one request");
        faults.add(values.iter().fold(fault, at));
    }
    let requests: Vec<_> = values.iter().map(|value| read_one_request(value, faults)).collect();
    // Several requests are a fault, found above: the first one stands for the step.
    requests.into_iter().next()?
}

/// Reads a use of the user's WebSocket.
fn read_of_socket(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Request> {
    let place = value.key_place.clone();
    match value.key {
        "websocket" => {
            let path = read_path(value.text(faults)?, value, faults)?;
            let opened = Request::of_http(value.place(), Method::GET, path);
            Some(Request { action: Action::Connect, ..opened })
        }
        "send" => {
            let (action, message) = websocket::read_send(value, faults)?;
            Some(Request::of_socket(place, action, Some(message)))
        }
        "receive" => {
            websocket::read_true(value, faults)?;
            Some(Request::of_socket(place, Action::Receive, None))
        }
        _ => {
            websocket::read_true(value, faults)?;
            Some(Request::of_socket(place, Action::Close, None))
        }
    }
}

fn read_one_request(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Request> {
    if websocket::STEPS.contains(&value.key) {
        return read_of_socket(value, faults);
    }
    if value.key == grpc::KEY {
        let (path, called) = grpc::read_call(value, faults)?;
        let posted = Request::of_http(value.place(), Method::POST, path);
        return Some(Request { action: Action::Call, called: Some(called), ..posted });
    }
    let text = value.text(faults)?;
    let place = value.place();
    if let Some((_, method)) = METHODS.into_iter().find(|(key, _)| *key == value.key) {
        return Some(Request::of_http(place, method, read_path(text, value, faults)?));
    }
    let Some((method, path)) = text.split_once(' ') else {
        let message = format!("`{}` must be a method, a space and a path", value.key);
        let help = "write request = \"PROPFIND /files\"";
        return value.fault(message, "no space", help, faults);
    };
    if !is_method(method) {
        let message = format!("`{method}` is not a method that loadgen can send");
        let help = "write a method such as PROPFIND, in upper case";
        return value.fault(message, "not a method", help, faults);
    }
    Some(Request::of_http(place, Method::new(method), read_path(path, value, faults)?))
}

/// Reads a path and query. `text` is the value, or the end of the value.
fn read_path(text: &str, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Template> {
    // Nothing, or only a query, stands for the path of the target's URL.
    if !text.is_empty() && !text.starts_with(['/', '?']) {
        let message = format!("`{}` must be a path that begins with `/`", value.key);
        let help = "write only path and query, such as \"/items\": the host is that of the target";
        return value.fault(message, "not a path", help, faults);
    }
    let path = value.parsed(text, Template::parse_path(text, &faults.scope), faults)?;
    if let Some(bad) =
        path.literals().flat_map(str::chars).find(|c| !c.is_ascii_graphic() || *c == '#')
    {
        let message = format!("`{}` contains {bad:?}, which a path cannot contain", value.key);
        return value.fault(
            message,
            "not a path",
            "percent-encode the character, such as %20 for a space",
            faults,
        );
    }
    Some(path)
}
