//! The outermost table of a scenario file.

use std::mem;
use std::path::Path;

use serde_json::json;
use toml::de::{DeTable, DeValue};

use super::flow::{All, Steps};
use super::keys::schema::{Schema, array, named, partly};
use super::keys::{
    self, Choice, Custom, Defaulted, Integer, Key, Keys, Text, custom, integer, key,
};
use super::reader::{Faults, Value};
use super::services::Services;
use super::{auth, flow, grpc, http, load, proof, rows, step, thresholds, websocket};
use crate::backend::Backend;
use crate::error::Fault;
use crate::flow::Assign;
use crate::http::{Http, HttpVersion};
use crate::iteration::groups;
use crate::load::Model;
use crate::model::{Existing, OnError, Scenario, Step};

keys! {
    /// the requests, the load, and the expected responses of a test
    pub(super) const KEYS: Keys = table("a scenario").with(rules);

    /// one line for people
    const DESCRIPTION: Key<Text> = key("description", Text).otherwise("no description");
    /// targets to compare; `--target` replaces them, `--url` needs none
    const TARGETS: Key<Custom> =
        key("targets", custom("array of unique strings", || unique(keys::schema::name("Name of a target."))))
        .otherwise("all targets of the project except those with `default = false`");
    /// backends that run beside the target
    const BACKENDS: Key<Custom> =
        key("backends", custom("array of unique strings: `\"redis\"`, `\"postgres\"`", backends_schema))
        .otherwise("no backend");
    /// rows that PostgreSQL's table `items` holds before each round. loadgen makes these rows once, and copies
    /// the database for each round. Needs the backend `"postgres"`; has no effect with `--url`
    const EXISTING_ITEMS: Defaulted<Integer> = key("existing_items", integer(0, MOST_EXISTING_ITEMS)).or("0");
    /// user profiles that each backend holds before each round, for the targets `profiles-…`. loadgen makes
    /// them once in a run, and again in Redis if a round left other keys: targets must not change them. Needs a
    /// backend; has no effect with `--url`
    const EXISTING_PROFILES: Defaulted<Integer> = key("existing_profiles", integer(0, MOST_EXISTING_PROFILES))
        .or("0");
    /// action of a user after a failed step: begin the next iteration, or go on with the next step
    const ON_ERROR: Defaulted<Choice<OnError>> = key("on_error", Choice(&REACTIONS)).or("\"next_iteration\"");
    /// [options of HTTP](#http)
    const HTTP: Key<Custom> = key("http", custom("table `[http]`", || http::KEYS.schema()))
        .otherwise("the defaults of its keys");
    /// services that steps [call with gRPC](#grpc-steps)
    const GRPC: Key<Custom> = key("grpc", custom("table `[grpc]`", || grpc::KEYS.schema()))
        .needed("required if a step has `grpc`");
    /// [amount and duration of the load](#load)
    const LOAD: Key<Custom> = key("load", custom("table `[load]`", || load::KEYS.schema()))
        .otherwise("one user for ten seconds");
    /// CSV files with [rows for users to send](#rowsname)
    const ROWS: Key<Custom> = key("rows", custom("tables `[rows.NAME]`", || named(rows::KEYS.schema())))
        .otherwise("no rows");
    const ASSIGN: Defaulted<Choice<Assign>> = flow::ASSIGN;
    /// [requests of each user](#step), in this order: in each iteration, or once
    const STEP: Key<Custom> = key("step", custom("array of tables `[[step]]`", || array(step::KEYS.schema())))
        .needed("required: at least one, or a flow");
    /// [journeys](#flow) among which users divide their iterations
    const FLOW: Key<Custom> =
        key("flow", custom("array of tables `[[flow]]`", || array(flow::KEYS.schema()).with("minItems", 1)))
        .otherwise("all steps in each iteration");
    /// [conditions](#thresholds) that the run must meet to pass. A key is a metric of all steps, or `"NAME.METRIC"` of
    /// a step, a group or a flow, or `"iteration.METRIC"` of all iterations, or `"counter.NAME"`
    const THRESHOLDS: Key<Custom> = key("thresholds", custom("table `[thresholds]`", thresholds::schema))
        .otherwise("no threshold");
    /// [content](#proof) that a backend must have after each round
    const PROOF: Key<Custom> = key("proof", custom("array of tables `[[proof]]`", || array(proof::KEYS.schema())))
        .otherwise("no proof");
}

fn rules(table: Schema) -> Schema {
    let mut with_steps = partly([(STEP.name(), json!({ "minItems": 1 }))]);
    with_steps["required"] = json!([STEP.name()]);
    table.with("anyOf", vec![with_steps, json!({ "required": [FLOW.name()] })])
}

fn backends_schema() -> Schema {
    unique(keys::schema::choice(&BACKEND_NAMES, "Name of a backend."))
}

fn unique(item: Schema) -> Schema {
    array(item).with("uniqueItems", true)
}

/// Reads a scenario called `name`.
pub(super) fn read(
    name: &str,
    folder: &Path,
    tree: &DeTable<'_>,
    faults: &mut Faults<'_>,
) -> Option<Scenario> {
    let mut table = KEYS.of_file(tree);
    let description = DESCRIPTION.read(&mut table, faults);
    let targets = TARGETS.take(&mut table).map(|value| read_names(&value, faults));
    let backends = BACKENDS.take(&mut table).map(|value| read_backends(&value, faults));
    let items = EXISTING_ITEMS.take(&mut table);
    let profiles = EXISTING_PROFILES.take(&mut table);
    let on_error = ON_ERROR.read(&mut table, faults);
    let http_table = HTTP.take(&mut table);
    let (grpc_table, makes_calls) = (GRPC.take(&mut table), grpc::is_used(&table));
    let version = if makes_calls { HttpVersion::Http2 } else { HttpVersion::Http11 };
    let http = Http { version, ..Http::default() };
    let http = match &http_table {
        Some(value) => http::read(value, http, folder, faults),
        None => Some(http),
    };
    faults.is_http2 = http.as_ref().is_some_and(|http| http.version == HttpVersion::Http2);
    faults.redirects = http.as_ref().map_or(0, |http| http.redirects);
    if let Some(value) = &grpc_table {
        faults.services = grpc::read(value, faults);
        if !makes_calls {
            let help = "add a step with `grpc`, or leave out the table";
            value.fault::<()>("no step uses [grpc]", "unused", help, faults);
        }
    }
    let load = load::read(LOAD.take(&mut table), faults);
    let rows = rows::read_all(ROWS.take(&mut table), folder, faults);
    if let (Some(value), Some(http), Some(load)) = (&http_table, &http, &load) {
        http::check_users(value, http, load.users, faults);
    }
    let auth = http_table.as_ref().and_then(|value| auth::of_all(value, faults));
    let assign = ASSIGN.take(&mut table);
    let (steps, flows) = (STEP.take(&mut table), FLOW.take(&mut table));
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
    if let (Some(http), Some(all), Some(value)) = (&http, &all, &http_table) {
        let steps = all.once.iter().chain(&all.steps).chain(&all.finally);
        http::refuse_files_on_disk(http, steps, value, faults);
    }
    if let (Some(auth), Some(all), Some(http)) = (&auth, &mut all, &http_table) {
        auth::refuse_of_users(auth, all.once.iter().chain(&all.finally), http, faults);
        for steps in [&mut all.once, &mut all.steps, &mut all.finally] {
            auth::send_with_all(auth, steps);
        }
    }
    let steps = all.as_ref().map(|all| all.steps.as_slice());
    let thresholds = THRESHOLDS.take(&mut table);
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
    let proofs = proof::read_all(PROOF.take(&mut table), &known, faults);
    table.finish(faults);
    let rows = steps.map(|steps| rows::used(rows, steps, faults));
    let All { once, steps, finally, flows } = all?;
    Some(Scenario {
        name: name.to_owned(),
        description: description?,
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
        on_error: on_error?,
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

const REACTIONS: [(&str, OnError); 2] =
    [("next_iteration", OnError::NextIteration), ("continue", OnError::Continue)];

pub(super) const BACKEND_NAMES: [(&str, Backend); 2] =
    [("redis", Backend::Redis), ("postgres", Backend::Postgres)];

/// Largest number of existing items: a gigabyte or so in PostgreSQL's files, made in some minutes.
const MOST_EXISTING_ITEMS: u64 = 10_000_000;

fn read_existing_items(
    value: &Value<'_>,
    backends: &[Backend],
    faults: &mut Faults<'_>,
) -> Option<u64> {
    let number = EXISTING_ITEMS.value(value, faults)?;
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
    let number = EXISTING_PROFILES.value(value, faults)?;
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
    names.iter().filter_map(|(_, value)| value.choice(&BACKEND_NAMES, faults)).collect()
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
