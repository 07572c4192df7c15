//! `[[step]]`: one request and its expected answer.

use std::ops::Range;
use std::time::Duration;

use super::headers::is_token;
use super::reader::{Faults, Table, Value};
use super::{auth, body, capture, expect, headers, load, pairs};
use crate::scenario::error::Fault;
use crate::scenario::method::Method;
use crate::scenario::model::{Step, When};
use crate::scenario::nearest::list;
use crate::scenario::template::{Piece, Template};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest timeout of a step; equals the longest latency that is measured.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) const MOST_WEIGHT: u64 = 1_000_000;

/// Keys whose value is a path, each with the method of the request.
pub(super) const METHODS: [(&str, Method); 7] = [
    ("get", Method::GET),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("patch", Method::PATCH),
    ("delete", Method::DELETE),
    ("head", Method::HEAD),
    ("options", Method::OPTIONS),
];

/// Key whose value is any method and a path.
pub(super) const REQUEST: &str = "request";

pub(super) const WHEN: [(&str, When); 2] = [("start", When::Start), ("stop", When::Stop)];

/// Reads all steps, and returns the steps' names and the steps. The names are `None` if a step has
/// no valid name. The steps are `None` if a step has a fault.
pub(super) fn read_all(
    value: Option<Value<'_>>,
    faults: &mut Faults<'_>,
) -> (Option<Vec<String>>, Option<Vec<Step>>) {
    let values = match value {
        Some(value) => match value.array("an array of tables, each headed [[step]]", faults) {
            Some(values) => values,
            None => return (None, None),
        },
        None => Vec::new(),
    };
    if values.is_empty() {
        let fault = Fault::new("the scenario has no step: there is nothing to send");
        faults.add(fault.help("add a [[step]] with a request, such as get = \"/\""));
    }
    let captured = values.iter().map(capture::names);
    faults.scope.expect(captured.flatten().collect());
    let mut places = Vec::new();
    let read = values.iter().map(|value| {
        let (name, step, when) = read(value, faults);
        faults.scope.captured(capture::names(value));
        places.push(when);
        (name, step)
    });
    let (names, steps): (Vec<_>, Vec<_>) = read.unzip();
    check_names(&names, faults);
    check_order(&places, faults);
    let names = names.into_iter().map(|name| Some(name?.text));
    (names.collect(), steps.into_iter().collect())
}

/// The name of a step, and the position in the file of the text that the name comes from.
struct Name {
    place: Range<usize>,
    text: String,
}

fn read(
    value: &Value<'_>,
    faults: &mut Faults<'_>,
) -> (Option<Name>, Option<Step>, Option<Moment>) {
    let Some(mut table) = value.table("a [[step]]", faults) else {
        return (None, None, None);
    };
    let name = table.take("name");
    let moment = read_moment(&mut table, faults);
    faults.scope.in_iteration = moment.as_ref().is_none_or(|m| m.when == When::Iteration);
    let request = read_request(&mut table, faults);
    let name = match name {
        Some(name) => read_name(&name, faults),
        None => request.as_ref().map(Request::name),
    };
    let text = name.as_ref().map(|name| name.text.clone());
    let when = moment.as_ref().map(|moment| moment.when);
    let step = read_rest(text, when, request, &mut table, faults);
    table.finish(faults);
    (name, step, moment)
}

/// Time at which a step is sent (start, iteration or stop), and the position in the file that sets
/// the time.
struct Moment {
    when: When,
    place: Range<usize>,
}

fn read_moment(table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Moment> {
    let Some(value) = table.take("when") else {
        return Some(Moment { when: When::Iteration, place: table.place.clone() });
    };
    Some(Moment { when: value.choice(&WHEN, faults)?, place: value.place() })
}

fn read_rest(
    name: Option<String>,
    when: Option<When>,
    request: Option<Request>,
    table: &mut Table<'_>,
    faults: &mut Faults<'_>,
) -> Option<Step> {
    let weight = table.take("weight").map_or(Some(None), |value| {
        if matches!(when, Some(When::Start | When::Stop)) {
            let message = "a step with `when` cannot have a `weight`";
            let help =
                "weights divide the iterations among steps: leave out either `weight` or `when`";
            return value.fault(message, "no effect", help, faults);
        }
        let weight = value.integer(1..=MOST_WEIGHT, faults)?;
        u32::try_from(weight).ok().map(Some)
    });
    let timeout =
        table.take("timeout").map_or(Some(DEFAULT_TIMEOUT), |value| read_timeout(&value, faults));
    let think_time = match table.take("think_time") {
        None => Some(None),
        Some(value) if when == Some(When::Stop) => {
            let message = "a step with when = \"stop\" cannot have a `think_time`";
            let help = "users do not wait while they stop: leave out `think_time`";
            value.fault(message, "no effect", help, faults)
        }
        Some(value) => load::read_think_time(&value, faults).map(Some),
    };
    let verify = table.take("verify").map_or(Some(true), |value| value.boolean(faults));
    let query = table.take("query").map(|value| pairs::read(&value, "`query`", faults));
    let body = table.take("body");
    let headers = table
        .take("headers")
        .map_or(Some(Vec::new()), |value| headers::read(&value, body.is_some(), faults));
    let headers = auth::beside(table.take("auth"), headers, faults);
    let body = body.map(|value| body::read(&value, faults));
    let method = request.as_ref().map(|request| &request.method);
    let (expect, counters) = expect::read(table, method, timeout, faults);
    let captures = capture::read(table, method, faults);
    let Request { method, mut path, .. } = request?;
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
        None => None,
    };
    Some(Step {
        name: name?,
        when: when?,
        method,
        path,
        headers: headers?,
        body,
        weight: weight?,
        timeout: timeout?,
        think_time: think_time?,
        verify: verify?,
        expect: expect?,
        counters,
        captures: captures?,
    })
}

fn read_name(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Name> {
    let name = value.name(faults)?;
    if name.chars().any(char::is_control) {
        return value.fault(
            "a step's name must be one line of text",
            "has control characters",
            "",
            faults,
        );
    }
    let (place, text) = (value.place(), name.to_owned());
    Some(Name { place, text })
}

struct Request {
    place: Range<usize>,
    method: Method,
    path: Template,
}

impl Request {
    /// Returns the step's default name: the method and the path, such as `GET /items`.
    fn name(&self) -> Name {
        let text = format!("{} {}", self.method, self.path).trim_end().to_owned();
        Name { place: self.place.clone(), text }
    }
}

fn read_request(table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Request> {
    let keys = METHODS.map(|(key, _)| key);
    let values = table.take_any(keys.into_iter().chain([REQUEST]));
    if values.is_empty() {
        let fault =
            Fault::new("the step has no request").at(table.place.clone(), "nothing to send");
        let help = format!("add one of {}, such as get = \"/\"", list(keys));
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

fn read_one_request(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Request> {
    let text = value.text(faults)?;
    let place = value.place();
    if let Some((_, method)) = METHODS.into_iter().find(|(key, _)| *key == value.key) {
        return Some(Request { place, method, path: read_path(text, value, faults)? });
    }
    let Some((method, path)) = text.split_once(' ') else {
        let message = format!("`{}` must be a method, a space and a path", value.key);
        let help = "write request = \"PROPFIND /files\"";
        return value.fault(message, "no space", help, faults);
    };
    if method.is_empty() || !method.chars().all(is_token) || method.eq_ignore_ascii_case("CONNECT")
    {
        let message = format!("`{method}` is not a method that loadgen can send");
        let help = "write a method such as PROPFIND, in upper case";
        return value.fault(message, "not a method", help, faults);
    }
    Some(Request { place, method: Method::new(method), path: read_path(path, value, faults)? })
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

fn read_timeout(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Duration> {
    let timeout = value.positive_duration(faults)?;
    if timeout > LONGEST_TIMEOUT {
        let message = "`timeout` must be at most 10m";
        return value.fault(message, "longer than any measured latency", "", faults);
    }
    Some(timeout)
}

/// Adds a fault for each name that an earlier step already has, because results are stored by the
/// steps' names.
fn check_names(names: &[Option<Name>], faults: &mut Faults<'_>) {
    let names: Vec<&Name> = names.iter().flatten().collect();
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = names[..index].iter().find(|other| other.text == name.text) {
            let fault = Fault::new(format!("two steps are called `{}`", name.text))
                .at(first.place.clone(), "the first")
                .at(name.place.clone(), "the second")
                .help("give each step a different `name`: results are stored by name");
            faults.add(fault);
        }
    }
}

/// Checks that the steps are in the order of sending: the start steps, then the steps of each
/// iteration, then the stop steps. A scenario without a step for iterations is a fault, because
/// such a scenario has no load.
fn check_order(moments: &[Option<Moment>], faults: &mut Faults<'_>) {
    let known: Vec<&Moment> = moments.iter().flatten().collect();
    for pair in known.windows(2) {
        let (message, help) = match (pair[0].when, pair[1].when) {
            (When::Iteration | When::Stop, When::Start) => (
                "a step with when = \"start\" follows a step that is sent later",
                "move the step before all others: steps are sent in the order of the file",
            ),
            (When::Stop, When::Iteration) => (
                "a step with when = \"stop\" precedes a step that is sent earlier",
                "move the step after all others: steps are sent in the order of the file",
            ),
            _ => continue,
        };
        let wrong = if pair[1].when == When::Start { pair[1] } else { pair[0] };
        faults.add(Fault::new(message).at(wrong.place.clone(), "not here").help(help));
    }
    if !known.is_empty()
        && known.len() == moments.len()
        && known.iter().all(|moment| moment.when != When::Iteration)
    {
        let fault = Fault::new("the scenario has no step for its iterations: there is no load")
            .at(known[0].place.clone(), "sent once by each user");
        faults.add(fault.help("add a [[step]] without `when`"));
    }
}
