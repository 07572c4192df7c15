//! Explains a scenario in words: its requests and the expected answers.

use std::fmt::Write;

use crate::{
    Action, Assign, Condition, Existing, Http, HttpVersion, ITERATION, Load, Model, Open, Repeat,
    Rows, Scenario, Sharing, Stage, Step, Until, process_environment,
};
use loadgen_text::{count, counted, duration};

/// Returns the explanation of the whole scenario, with a line for each part.
#[must_use]
pub fn explain(scenario: &Scenario) -> String {
    let mut out = format!("{}: ok\n", scenario.name);
    if let Some(description) = &scenario.description {
        let _ = writeln!(out, "  {description}");
    }
    if !scenario.targets.is_empty() {
        let _ = writeln!(out, "  targets     {}", scenario.targets.join(", "));
    }
    if !scenario.backends.is_empty() {
        let names: Vec<String> = scenario.backends.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  backends    {}", names.join(", "));
    }
    let Existing { items, profiles } = scenario.existing;
    if items > 0 {
        let rows = counted(items, "row");
        let _ = writeln!(out, "  items       {rows} in PostgreSQL before each round");
    }
    if profiles > 0 {
        let _ = writeln!(out, "  profiles    {} in each backend", count(profiles));
    }
    let _ = writeln!(out, "  load        {}", explain_load(&scenario.load));
    if let Some(time) = scenario.think_times() {
        let _ = writeln!(out, "  think time  {time}");
    }
    let _ = writeln!(out, "  transport   {}", explain_transport(&scenario.http));
    for step in &scenario.once {
        out += &explain_step("once", step, "");
    }
    for step in &scenario.steps[scenario.start_steps()] {
        out += &explain_step("start", step, "");
    }
    let of_flows: u64 = scenario.flows.iter().map(|flow| u64::from(flow.weight)).sum();
    for flow in &scenario.flows {
        if flow.name != ITERATION {
            let (name, weight) = (&flow.name, count(flow.weight.into()));
            let share = match scenario.assign {
                _ if scenario.flows.len() == 1 => String::new(),
                Assign::User if scenario.load.model == Model::Closed => {
                    format!(", by {weight} of {}", counted(of_flows, "user"))
                }
                _ => format!(", in {weight} of {}", counted(of_flows, "iteration")),
            };
            let _ = writeln!(out, "  flow        {name}{share}");
        }
        for choice in scenario.choices(flow) {
            let steps = &scenario.steps[choice];
            let sum: u64 = steps.iter().filter_map(|step| step.weight).map(u64::from).sum();
            for step in steps {
                let share = match step.weight {
                    Some(weight) if steps.len() > 1 => {
                        format!(", in {} of {}", count(weight.into()), counted(sum, "iteration"))
                    }
                    _ => String::new(),
                };
                out += &explain_step("step", step, &share);
            }
        }
    }
    for step in &scenario.steps[scenario.stop_steps()] {
        out += &explain_step("stop", step, "");
    }
    for step in &scenario.finally {
        out += &explain_step("finally", step, "");
    }
    for rows in &scenario.rows {
        let number = counted(rows.len() as u64, "row");
        let Rows { name, file, order, .. } = rows;
        let _ = writeln!(out, "  rows        {name}: {number} of {file}, {order}");
    }
    if !scenario.variables().is_empty() {
        let _ = writeln!(out, "  environment {}", explain_variables(scenario));
    }
    for threshold in &scenario.thresholds {
        let _ = writeln!(out, "  threshold   {threshold}");
    }
    for proof in &scenario.proofs {
        let _ = writeln!(out, "  proof       {proof}");
    }
    out
}

/// Returns a load in words, without its think time.
pub(super) fn explain_load(load: &Load) -> String {
    let until = match &load.until {
        Until::Duration(d) => format!("for {}", duration(*d)),
        Until::Iterations(n) => format!("{} in total", counted(*n, "iteration")),
        Until::IterationsPerUser(n) => format!("{} per user", counted(*n, "iteration")),
        Until::Stages(stages) => explain_stages(stages),
    };
    let ramp = match load.ramp_up {
        d if d.is_zero() => String::new(),
        d => format!(", ramp-up {}", duration(d)),
    };
    let users = counted(load.users.into(), "user");
    let staged = matches!(load.until, Until::Stages(_));
    match load.model {
        Model::Closed if staged => format!("closed model, users in stages: {until}"),
        Model::Closed => format!("closed model, {users}{ramp}, {until}"),
        Model::Open(Open { arrivals, .. }) if staged => {
            format!("open model, {arrivals} requests/s in stages: {until}, by up to {users}")
        }
        Model::Open(Open { rate, arrivals }) => {
            format!("open model, {rate} requests/s, {arrivals}{ramp}, {until}, by up to {users}")
        }
    }
}

/// Formats stages of the load as `to 100 in 1m, to 100 in 2m 30s`.
fn explain_stages(stages: &[Stage]) -> String {
    let one = |stage: &Stage| match stage.over {
        d if d.is_zero() => format!("jump to {}", stage.to),
        d => format!("to {} in {}", stage.to, duration(d)),
    };
    stages.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Formats environment variables as `API_TOKEN, API_USER (not set)`. An unset variable is no fault,
/// because a file can be valid on a machine that cannot run the scenario.
fn explain_variables(scenario: &Scenario) -> String {
    let one = |name: &str| match process_environment(name) {
        Some(_) => name.to_owned(),
        None => format!("{name} (not set)"),
    };
    scenario.variables().into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Formats the HTTP transport of a scenario, the reason for its choice, and how users share connections.
fn explain_transport(http: &Http) -> String {
    let Sharing { connections, streams } = http.sharing;
    let connections = connections.map(|n| format!(", {} shared", counted(n.into(), "connection")));
    let streams = streams.map(|n| format!(", up to {} on a connection", counted(n.into(), "user")));
    let [connections, streams] = [connections, streams].map(Option::unwrap_or_default);
    let life = http.connection.lifetime().unwrap_or_default();
    let requests = life.requests.map(|n| format!(", each for {}", counted(n.into(), "request")));
    let age = life.age.map(|age| format!(", each for {}", duration(age)));
    let [requests, age] = [requests, age].map(Option::unwrap_or_default);
    format!("{}{connections}{streams}{requests}{age}", explain_choice(http))
}

fn explain_choice(http: &Http) -> String {
    match (http.transport, http.version) {
        (Some(kind), _) => format!("{kind}, set in the scenario"),
        (None, HttpVersion::Http11) => "http1".to_owned(),
        (None, HttpVersion::Http2) => "http2, for HTTP/2".to_owned(),
    }
}

/// Formats a step: one line for the request and the expected response, more lines for headers and
/// body. `when` and `share` are words to show in the first line.
fn explain_step(when: &str, step: &Step, share: &str) -> String {
    let mut text = format!("  {when:<11} {}: {}", step.name, step.request_line());
    let expect = &step.expect;
    let _ = match step.action {
        Action::Request | Action::Connect => write!(text, ", expects {}", expect.status),
        Action::Call => {
            let statuses = expect.grpc_status.clone().unwrap_or_default();
            write!(text, ", expects grpc-status {statuses}")
        }
        Action::Send { reply: true } | Action::Receive => write!(text, ", expects a message"),
        Action::Send { reply: false } => write!(text, ", expects no message, is sent"),
        Action::Close => write!(text, ", expects the server's close frame"),
    };
    let (values, others): (Vec<_>, Vec<_>) =
        expect.all.iter().partition(|it| matches!(it, Condition::Json(..)));
    match values.len() {
        0 => {}
        1 => text.push_str(" with 1 JSON value"),
        n => {
            let _ = write!(text, " with {n} JSON values");
        }
    }
    match others.as_slice() {
        [] => {}
        [Condition::Text(_)] => text.push_str(" with a text in the body"),
        others => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            let _ = write!(text, " with {}", others.join(", "));
        }
    }
    if !expect.none.is_empty() {
        let none: Vec<String> = expect.none.iter().map(ToString::to_string).collect();
        let _ = write!(text, " without {}", none.join(", "));
    }
    if let Some(stream) = &expect.stream {
        let _ = write!(text, " with {stream}");
    }
    let within = expect.within.unwrap_or(step.timeout);
    let _ = write!(text, " within {}", humantime::format_duration(within));
    for counter in &step.counters {
        let _ = write!(text, ", counts {}", counter.name);
    }
    for capture in &step.captures {
        let optional = if capture.optional { " if there is one" } else { "" };
        let _ = write!(text, ", captures {}{optional}", capture.name);
        if !capture.pick.is_first() {
            let _ = write!(text, " ({})", capture.pick);
        }
    }
    text.push_str(share);
    match step.repeat {
        Repeat { min: 1, max: 1 } => {}
        Repeat { min, max } if min == max => {
            let _ = write!(text, ", {min} times");
        }
        Repeat { min, max } => {
            let _ = write!(text, ", {min} to {max} times");
        }
    }
    if let Some(given) = &step.given {
        let _ = write!(text, ", if {given}");
    }
    text.push('\n');
    for line in
        step.headers.iter().map(|(name, value)| format!("{name}: {value}")).chain(body_of(step))
    {
        let _ = writeln!(text, "                {line}");
    }
    text
}

/// Returns two lines: the media type of the step's body, and the beginning of the body. A message
/// over a WebSocket has only the second line.
/// Returns no lines for a step without a body.
fn body_of(step: &Step) -> Vec<String> {
    let body = step.body.iter().flat_map(|body| {
        // A message has no media type.
        let kind =
            (!step.action.needs_socket()).then(|| format!("content-type: {}", body.content_type));
        kind.into_iter().chain([shortened(&body.to_string())])
    });
    body.collect()
}

/// Formats a text as one line, cut after 160 characters.
#[must_use]
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 160;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}… ({} characters)", &line[..cut], text.chars().count()),
        None => line,
    }
}
