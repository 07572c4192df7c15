//! Reads a scenario file, with one module for each part of the file.
//!
//! A function of these modules returns `None` only after adding a fault. A default value replaces a
//! value with a fault where the default helps to find more faults.

mod attachment;
mod auth;
mod body;
mod capture;
mod condition;
mod csv;
mod expect;
pub(super) mod experiment;
mod flow;
mod grpc;
mod headers;
mod http;
mod json;
mod load;
mod meaning;
mod media_type;
mod message;
mod moment;
mod multipart;
mod name;
mod pairs;
mod pointer;
mod proof;
mod reader;
mod regex;
mod repeat;
mod rows;
mod schema;
mod services;
mod step;
mod stream;
mod thresholds;
mod tls;
mod websocket;

use std::mem;
use std::path::Path;

use flow::{All, Steps};
pub(super) use reader::thousands;
use reader::{Faults, Table, Value};
pub(super) use schema::schema;
use services::Services;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::error::Fault;
use super::flow::Assign;
use super::http::{Http, HttpVersion};
use super::iteration::groups;
use super::load::Model;
use super::model::{Existing, OnError, Scenario, Step};
use crate::backend::Backend;

/// Reads a scenario, or returns all faults of the file, in the order of their lines. Relative paths
/// in the file start at `folder`. Environment variables are read only if `environment` is given.
pub(super) fn read(
    name: &str,
    text: &str,
    folder: &Path,
    environment: Option<Environment<'_>>,
) -> Result<Scenario, Vec<Fault>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut faults = Faults::new(text);
        errors.iter().for_each(|error| faults.add(syntax_fault(error, text)));
        return Err(faults.in_order());
    }
    let mut faults = Faults::new(text);
    faults.scope.environment = environment;
    faults.folder = folder.to_owned();
    let table = Table::new("a scenario", 0..0, tree.get_ref());
    match read_scenario(name, folder, table, &mut faults) {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => Err(faults.in_order()),
    }
}

fn syntax_fault(error: &toml::de::Error, text: &str) -> Fault {
    let place = error.span().unwrap_or(0..0);
    // The parser's span may lie beyond the end of the text or within a character.
    let place = if text.get(place.clone()).is_some() { place } else { 0..0 };
    Fault::new(error.message()).at(place, "here")
}

fn read_scenario(
    name: &str,
    folder: &Path,
    mut table: Table<'_>,
    faults: &mut Faults<'_>,
) -> Option<Scenario> {
    let description = table.take("description").and_then(|value| value.text(faults));
    let targets = table.take("targets").map(|value| read_names(&value, faults));
    let backends = table.take("backends").map(|value| read_backends(&value, faults));
    let (items, profiles) = (table.take("existing_items"), table.take("existing_profiles"));
    let on_error = table.take("on_error").and_then(|value| value.choice(&ON_ERROR, faults));
    let http_table = table.take("http");
    let (grpc_table, makes_calls) = (table.take("grpc"), grpc::is_used(&table));
    let version = if makes_calls { HttpVersion::Http2 } else { HttpVersion::Http11 };
    let http = Http { version, ..Http::default() };
    let http = match &http_table {
        Some(value) => http::read(value, http, folder, faults),
        None => Some(http),
    };
    faults.is_http2 = http.as_ref().is_some_and(|http| http.version == HttpVersion::Http2);
    if let Some(value) = &grpc_table {
        faults.services = grpc::read(value, faults);
        if !makes_calls {
            let help = "add a step with `grpc`, or leave out the table";
            value.fault::<()>("no step uses [grpc]", "unused", help, faults);
        }
    }
    let load = load::read(table.take("load"), faults);
    let rows = rows::read_all(table.take("rows"), folder, faults);
    if let (Some(value), Some(http), Some(load)) = (&http_table, &http, &load) {
        http::check_users(value, http, load.users, faults);
    }
    let auth = http_table.as_ref().and_then(|value| auth::of_all(value, faults));
    let assign = table.take("assign");
    let (steps, flows) = (table.take("step"), table.take("flow"));
    let assign = assign.and_then(|value| flow::read_assign(&value, flows.is_some(), faults));
    let is_closed = load.as_ref().is_some_and(|load| load.model == Model::Closed);
    let one_flow_each = is_closed && assign == Some(Assign::User);
    let Steps { mut all, steps: names, of_round, flows, websocket, call } =
        flow::read_all(steps, flows, one_flow_each, faults);
    match (&http, websocket, call) {
        (_, Some(websocket), Some(call)) => grpc::refuse_websocket(call, websocket, faults),
        (Some(http), Some(place), None) => {
            websocket::check_http(http, http_table.as_ref(), place, faults);
        }
        (Some(http), None, Some(place)) => {
            grpc::check_http(http, http_table.as_ref(), place, faults);
        }
        _ => {}
    }
    if let (Some(auth), Some(all), Some(http)) = (&auth, &mut all, &http_table) {
        auth::refuse_of_users(auth, all.once.iter().chain(&all.finally), http, faults);
        for steps in [&mut all.once, &mut all.steps, &mut all.finally] {
            auth::send_with_all(auth, steps);
        }
    }
    let steps = all.as_ref().map(|all| all.steps.as_slice());
    let thresholds = table.take("thresholds");
    let counters = steps.map(counters);
    let groups = steps.map(groups);
    let known = thresholds::Known {
        steps: names.as_deref(),
        of_round: &of_round,
        flows: flows.as_deref(),
        groups: groups.as_deref(),
        counters: counters.as_deref(),
        has_stream: steps.map(|steps| steps.iter().any(|step| step.expect.stream.is_some())),
    };
    let thresholds = thresholds.map(|value| thresholds::read(&value, &known, faults));
    let backends = backends.unwrap_or_default();
    let items = items.and_then(|value| read_existing_items(&value, &backends, faults));
    let profiles = profiles.and_then(|value| read_existing_profiles(&value, &backends, faults));
    let existing = Existing { items: items.unwrap_or(0), profiles: profiles.unwrap_or(0) };
    let known = proof::Known { backends: &backends, counters: counters.as_deref() };
    let proofs = proof::read_all(table.take("proof"), &known, faults);
    table.finish(faults);
    let rows = steps.map(|steps| rows::used(rows, steps, faults));
    let All { once, steps, finally, flows } = all?;
    Some(Scenario {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        targets: targets.unwrap_or_default(),
        backends,
        existing,
        http: http.unwrap_or_default(),
        grpc: match mem::take(&mut faults.services) {
            Services::Read(protos) => Some(protos),
            Services::Missing | Services::Faulty => None,
        },
        load: load?,
        rows: rows.unwrap_or_default(),
        once,
        steps,
        finally,
        flows,
        assign: assign.unwrap_or_default(),
        on_error: on_error.unwrap_or_default(),
        thresholds: thresholds.unwrap_or_default(),
        proofs,
    })
}

/// Returns the names of the counters of all steps, sorted and without duplicates.
fn counters(steps: &[Step]) -> Vec<&str> {
    let mut names: Vec<&str> =
        steps.iter().flat_map(|step| &step.counters).map(|counter| counter.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

const ON_ERROR: [(&str, OnError); 2] =
    [("next_iteration", OnError::NextIteration), ("continue", OnError::Continue)];

const BACKENDS: [(&str, Backend); 2] = [("redis", Backend::Redis), ("postgres", Backend::Postgres)];

/// Largest number of existing items: a gigabyte or so in PostgreSQL's files, made in some minutes.
const MOST_EXISTING_ITEMS: u64 = 10_000_000;

fn read_existing_items(
    value: &Value<'_>,
    backends: &[Backend],
    faults: &mut Faults<'_>,
) -> Option<u64> {
    let number = value.integer(0..=MOST_EXISTING_ITEMS, faults)?;
    if number > 0 && !backends.contains(&Backend::Postgres) {
        let message = "`existing_items` needs PostgreSQL, which is not in `backends`";
        return value.fault(message, "rows of a table", "add \"postgres\" to `backends`", faults);
    }
    Some(number)
}

/// Largest number of existing profiles: half a gigabyte for each million in Redis' memory.
const MOST_EXISTING_PROFILES: u64 = 1_000_000;

fn read_existing_profiles(
    value: &Value<'_>,
    backends: &[Backend],
    faults: &mut Faults<'_>,
) -> Option<u64> {
    let number = value.integer(0..=MOST_EXISTING_PROFILES, faults)?;
    if number > 0 && backends.is_empty() {
        let message = "`existing_profiles` needs a backend, but there are no `backends`";
        let help = "add `backends = [\"postgres\"]` or `backends = [\"redis\"]`";
        return value.fault(message, "profiles in a backend", help, faults);
    }
    Some(number)
}

/// Reads an array of unique, non-empty strings.
fn read_names(value: &Value<'_>, faults: &mut Faults<'_>) -> Vec<String> {
    let names = read_unique(value, faults);
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}

fn read_backends(value: &Value<'_>, faults: &mut Faults<'_>) -> Vec<Backend> {
    let names = read_unique(value, faults);
    names.iter().filter_map(|(_, value)| value.choice(&BACKENDS, faults)).collect()
}

fn read_unique<'a>(value: &Value<'a>, faults: &mut Faults<'_>) -> Vec<(&'a str, Value<'a>)> {
    let mut names: Vec<(&str, Value<'_>)> = Vec::new();
    for item in value.array("an array of strings", faults).unwrap_or_default() {
        let DeValue::String(name) = item.node.get_ref() else {
            item.wrong_type::<()>("an array of strings", faults);
            continue;
        };
        if name.trim().is_empty() {
            let message = format!("`{}` has an empty name", value.key);
            item.fault::<()>(message, "empty", "", faults);
        }
        if let Some((_, first)) = names.iter().find(|(other, _)| *other == name) {
            let fault = Fault::new(format!("`{}` has \"{name}\" twice", value.key))
                .at(first.place(), "the first")
                .at(item.place(), "the second");
            faults.add(fault.help("keep one of them"));
        } else {
            names.push((name, item));
        }
    }
    names
}
