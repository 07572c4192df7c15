//! `[load]`: amount, duration and model of the load.

use std::time::Duration;

use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::schema::{self, Schema, each_required, says, without};
use super::keys::{
    Choice, Custom, Defaulted, Integer, Key, Keys, Number, Time, custom, integer, key, number,
};
use super::reader::{Faults, Table, Value};
use crate::error::Fault;
use crate::load::{Arrivals, Load, Model, Open, Stage, ThinkTime, Until};
use crate::overrides::{
    LEAST_RATE, LONGEST_DRAIN, MOST_ITERATIONS, MOST_RATE, MOST_USERS, SENDERS,
};

/// Users of a file that names none, as in k6.
const DEFAULT_USERS: u32 = 1;

/// Load models that a file can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Closed,
    Open,
}

const KINDS: [(&str, Kind); 2] = [("closed", Kind::Closed), ("open", Kind::Open)];

const ARRIVAL_NAMES: [(&str, Arrivals); 2] =
    [("even", Arrivals::Even), ("poisson", Arrivals::Poisson)];

impl Kind {
    /// Returns the key that sets the load at the end of a stage in this model.
    fn level(self) -> &'static str {
        match self {
            Self::Closed => "users",
            Self::Open => "rate",
        }
    }
}

keys! {
    /// amount and duration of the load
    pub(super) const KEYS: Keys = table("[load]").with(rules);

    /// [load model](#load-models): each user waits for a response before its next request (closed), or the
    /// clock decides (open)
    const MODEL: Defaulted<Choice<Kind>> = key("model", Choice(&KINDS)).or("\"closed\"");
    /// users of the whole test, over all workers; in the open model, the most users that send at the same time
    const USERS: Key<Integer> = key("users", integer(1, MOST_USERS as u64))
        .otherwise("`1`, as in k6; `1000` in the open model");
    /// open model: requests per second of the whole test
    const RATE: Key<Number> = key("rate", number(LEAST_RATE, MOST_RATE))
        .needed("required in the open model without `stages`");
    /// open model: requests at even intervals (`even`), or at random times (`poisson`)
    const ARRIVALS: Defaulted<Choice<Arrivals>> = key("arrivals", Choice(&ARRIVAL_NAMES)).or("\"even\"");
    /// time over which the users start, one after another, or the rate rises
    const RAMP_UP: Defaulted<Time> = key("ramp_up", Time::ANY).or("\"0s\"");
    /// time for which the load is held after the ramp-up, such as `"1m30s"`
    const DURATION: Defaulted<Time> = key("duration", Time::POSITIVE).or("\"10s\"");
    /// ends the test after this many iterations, shared by all users
    const ITERATIONS: Key<Integer> = key("iterations", integer(1, MOST_ITERATIONS))
        .otherwise("the test ends after `duration`");
    /// closed model: ends the test when each user has done this many iterations
    const ITERATIONS_PER_USER: Key<Integer> = key("iterations_per_user", integer(1, MOST_ITERATIONS))
        .otherwise("the test ends after `duration`");
    /// [changes of the load](#stages) from zero on, one after another, instead of a constant load
    const STAGES: Key<Custom> =
        key("stages", custom("array of tables", || schema::array(STAGE.schema()).with("minItems", 1)))
        .otherwise("a constant load");
    /// [time](#think-time) that a user waits between a response and its next request: `"1s"`, `{ min = "1s",
    /// max = "3s" }` or `{ mean = "2s" }`
    const THINK_TIME: Key<Custom> = key("think_time", custom("duration or table", think_time))
        .otherwise("no wait");
    /// longest [wait for the responses](../explanation/counting.md) to in-flight requests after an end by time
    const DRAIN: Defaulted<Time> = key("drain", Time::ANY.at_most(LONGEST_DRAIN, "too long")).or("\"3s\"");
}

fn rules(table: Schema) -> Schema {
    table
        .excludes("stages", &["duration", "iterations", "iterations_per_user", "ramp_up"])
        .excludes("iterations", &["duration", "iterations_per_user"])
        .excludes("iterations_per_user", &["duration", "iterations"])
        .with("if", says("model", "open"))
        .with("then", open())
        .with("else", closed())
}

/// Returns the rules that `[load]` must also meet in the open model.
fn open() -> Json {
    let mut open = without(&["iterations_per_user"]);
    open["properties"]["stages"] = json!({ "items": without(&["users"]) });
    open["dependencies"] = json!({ "stages": without(&["rate"]) });
    open["anyOf"] = each_required(&["rate", "stages"]);
    open
}

/// Returns the rules that `[load]` must also meet in the closed model.
fn closed() -> Json {
    let mut closed = without(&["rate", "arrivals"]);
    closed["properties"]["stages"] = json!({ "items": without(&["rate"]) });
    closed["dependencies"] = json!({ "stages": without(&["users"]) });
    closed
}

/// Reads the table; a file without it has the load of an empty one.
pub(super) fn read(value: Option<Value<'_>>, faults: &mut Faults<'_>) -> Option<Load> {
    let empty = Spanned::new(0..0, DeValue::Table(DeTable::new()));
    let value = value.unwrap_or(Value { key: "load", key_place: 0..0, node: &empty });
    let mut table = KEYS.open(&value, faults)?;
    // The model decides which other keys are valid.
    let kind = MODEL.read(&mut table, faults)?;
    let load = read_kind(kind, &mut table, faults);
    table.finish(faults);
    load
}

fn read_kind(kind: Kind, table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Load> {
    let place = table.place.clone();
    let stages = STAGES.take(table);
    if let Some(stages) = &stages {
        refuse_beside_stages(kind, stages, table, faults);
    }
    let ramp_up = table.peek(RAMP_UP.name());
    let users = USERS.read(table, faults);
    let ramp_up_time = RAMP_UP.read(table, faults);
    let think_time = match THINK_TIME.take(table) {
        None => Some(None),
        Some(value) => read_think_time(&value, faults).map(Some),
    };
    let drain = DRAIN.read(table, faults);
    let (end, until) = match &stages {
        Some(stages) => (Some(stages.clone()), read_stages(kind, stages, faults)),
        None => read_end(kind, table, faults),
    };
    let most = match &until {
        Some(Until::Stages(stages)) => Some(stages.iter().fold(0.0, |most: f64, s| most.max(s.to))),
        _ => None,
    };
    let (model, unset) = match kind {
        Kind::Closed => {
            refuse_rate(table, faults);
            (Some(Model::Closed), most.map_or(DEFAULT_USERS, |most| most as u32))
        }
        Kind::Open => {
            let open = read_open(most, stages.is_some(), table, place, faults);
            (open.map(Model::Open), SENDERS)
        }
    };
    let load = Load {
        model: model?,
        users: users?.map_or(Some(unset), |users| u32::try_from(users).ok())?,
        ramp_up: ramp_up_time?,
        think_time: think_time?,
        until: until?,
        drain: drain?,
    };
    if load.is_too_long() {
        let places = [ramp_up, end].into_iter().flatten().map(|value| value.place());
        let fault = Fault::new(match load.until {
            Until::Stages(_) => "the stages together must be at most 24h",
            _ => "`ramp_up` and `duration` together must be at most 24h",
        });
        faults.add(places.fold(fault, |fault, place| fault.at(place, "part of the sum")));
    }
    Some(load)
}

keys! {
    /// uniformly distributed times
    const UNIFORM: Keys = table("`think_time`");

    /// shortest time, such as `"1s"`
    const MIN: Key<Time> = key("min", Time::ANY).required();
    /// longest time, such as `"3s"`
    const MAX: Key<Time> = key("max", Time::ANY).required();
}

// Opened as the other form: the keys tell which it is.
keys! {
    /// exponentially distributed times
    const EXPONENTIAL: Keys = table("`think_time`");

    /// mean of the times, such as `"2s"`
    const MEAN: Key<Time> = key("mean", Time::ANY).required();
}

/// Returns the schema of a think time.
pub(super) fn think_time() -> Schema {
    let fixed = schema::time().with("description", "Always the same time.");
    schema::one_of([fixed, UNIFORM.schema(), EXPONENTIAL.schema()])
}

/// Reads a think time: `"1s"`, `{ min = "1s", max = "3s" }` or `{ mean = "2s" }`.
pub(super) fn read_think_time(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<ThinkTime> {
    if let DeValue::String(_) = value.node.get_ref() {
        return value.duration(faults).map(ThinkTime::Fixed);
    }
    let mut table = UNIFORM.open(value, faults)?;
    let times = [MIN, MAX, MEAN].map(|key| key.read(&mut table, faults));
    table.finish(faults);
    let [min, max, mean] = times;
    // `Some(None)` is an absent time, `None` one with a fault.
    match [min, max, mean] {
        [Some(None), Some(None), mean @ (None | Some(Some(_)))] => {
            Some(ThinkTime::Exponential { mean: mean?? })
        }
        [min @ (None | Some(Some(_))), max @ (None | Some(Some(_))), Some(None)] => {
            let (min, max) = (min??, max??);
            if min > max {
                return value.fault("`min` is longer than `max`", "an empty range", "", faults);
            }
            Some(ThinkTime::Uniform { min, max })
        }
        _ => {
            let help = "write \"1s\", { min = \"1s\", max = \"3s\" } for uniformly distributed times, \
                        or { mean = \"2s\" } for exponentially distributed times";
            let message = "`think_time` must be a time, `min` and `max`, or `mean`";
            value.fault(message, "none of these forms", help, faults)
        }
    }
}

fn read_open(
    most: Option<f64>,
    in_stages: bool,
    table: &mut Table<'_>,
    place: std::ops::Range<usize>,
    faults: &mut Faults<'_>,
) -> Option<Open> {
    let arrivals = ARRIVALS.read(table, faults);
    let rate = match (RATE.take(table), in_stages) {
        (_, true) => most,
        (Some(rate), false) => RATE.value(&rate, faults),
        (None, false) => {
            let fault = Fault::new("the open model needs a `rate`, or `stages`").at(place, "here");
            faults.add(fault.help("add the requests per second of the whole test: rate = 500"));
            None
        }
    };
    Some(Open { rate: rate?, arrivals: arrivals? })
}

/// Adds a fault for each key that only the open model allows. Called for a load in the closed
/// model.
fn refuse_rate(table: &mut Table<'_>, faults: &mut Faults<'_>) {
    for value in table.take_any(["rate", "arrivals"]) {
        let message = format!("`{}` belongs to the open model", value.key);
        let fault = Fault::new(message).at(value.key_place, "in the closed model");
        faults.add(fault.help("add model = \"open\", in which requests arrive at a rate"));
    }
}

/// Adds a fault for each key that conflicts with `stages`, because stages already set the amount
/// and the duration of the load.
fn refuse_beside_stages(
    kind: Kind,
    stages: &Value<'_>,
    table: &mut Table<'_>,
    faults: &mut Faults<'_>,
) {
    let same = ["duration", "iterations", "iterations_per_user", "ramp_up", kind.level()];
    for value in table.take_any(same) {
        let message = format!(
            "`stages` and `{}` exclude each other: `stages` set how much load, and how long",
            value.key
        );
        let fault = Fault::new(message)
            .at(stages.key_place.clone(), "here")
            .at(value.key_place, "and here")
            .help("keep one of them");
        faults.add(fault);
    }
}

/// Reads the key that ends the test: `duration`, `iterations` or `iterations_per_user`. More than
/// one of these keys is a fault.
fn read_end<'a>(
    kind: Kind,
    table: &mut Table<'a>,
    faults: &mut Faults<'_>,
) -> (Option<Value<'a>>, Option<Until>) {
    let ends = table.take_any([DURATION.name(), ITERATIONS.name(), ITERATIONS_PER_USER.name()]);
    let until: Vec<Option<Until>> = ends.iter().map(|end| read_until(kind, end, faults)).collect();
    match until.as_slice() {
        [] => (None, DURATION.default().map(Until::Duration)),
        [until] => (ends.into_iter().next(), until.clone()),
        _ => {
            let fault = Fault::new(
                "only one of `duration`, `iterations` and `iterations_per_user` can end a test",
            )
            .help("keep one of them");
            let at = |fault: Fault, end: &Value<'_>| fault.at(end.key_place.clone(), "one end");
            faults.add(ends.iter().fold(fault, at));
            (None, None)
        }
    }
}

fn read_until(kind: Kind, end: &Value<'_>, faults: &mut Faults<'_>) -> Option<Until> {
    match (end.key, kind) {
        ("duration", _) => DURATION.value(end, faults).map(Until::Duration),
        ("iterations", _) => ITERATIONS.value(end, faults).map(Until::Iterations),
        (_, Kind::Closed) => ITERATIONS_PER_USER.value(end, faults).map(Until::IterationsPerUser),
        (_, Kind::Open) => {
            let message = "`iterations_per_user` belongs to the closed model";
            let help = "in the open model any idle user sends the next request: write `iterations`, \
                        the number for all users together";
            end.fault(message, "in the open model", help, faults)
        }
    }
}

keys! {
    /// a linear change of the load
    pub(super) const STAGE: Keys = table("a stage")
        .with(|table| table.requires_one_of(&[TO_USERS.name(), TO_RATE.name()]));

    /// users at the end of the stage
    const TO_USERS: Key<Integer> = key("users", integer(0, MOST_USERS as u64))
        .needed("required in the closed model");
    /// requests per second at the end of the stage
    const TO_RATE: Key<Number> = key("rate", number(0.0, MOST_RATE)).needed("required in the open model");
    /// duration of the stage, such as `"30s"`; `"0s"` for a jump
    const OVER: Key<Time> = key("over", Time::ANY).required();
}

/// Reads `stages = [{ users = 100, over = "1m" }, …]`. In the open model, `rate` takes the place of
/// `users`.
fn read_stages(kind: Kind, value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Until> {
    let items = value.array("an array of tables", faults)?;
    let stages: Vec<Option<Stage>> =
        items.iter().map(|item| read_stage(kind, item, faults)).collect();
    let stages: Vec<Stage> = stages.into_iter().collect::<Option<_>>()?;
    let time: Duration = stages.iter().map(|stage| stage.over).sum();
    if time.is_zero() || stages.iter().all(|stage| stage.to <= 0.0) {
        let message = "`stages` need a load above zero and a duration above zero";
        let help = format!(
            "write stages = [{{ {} = 100, over = \"30s\" }}, …]: the load at the end of the stage, and the duration of the stage",
            kind.level()
        );
        return value.fault(message, "nothing to send", help, faults);
    }
    Some(Until::Stages(stages))
}

fn read_stage(kind: Kind, item: &Value<'_>, faults: &mut Faults<'_>) -> Option<Stage> {
    let mut table = item.table(STAGE.name, faults)?;
    let to = match kind {
        Kind::Closed => TO_USERS.read(&mut table, faults).map(|to| to.map(|users| users as f64)),
        Kind::Open => TO_RATE.read(&mut table, faults),
    };
    let over = OVER.read(&mut table, faults);
    if to == Some(None) {
        let help = format!("the load at the end of the stage: {} = 100", kind.level());
        missing(kind.level(), &help, &table, faults);
    }
    if over == Some(None) {
        missing("over", "the duration of the stage: over = \"30s\"", &table, faults);
    }
    table.finish(faults);
    Some(Stage { to: to??, over: over?? })
}

fn missing(key: &str, what: &str, table: &Table<'_>, faults: &mut Faults<'_>) {
    let fault = Fault::new(format!("a stage needs `{key}`")).at(table.place.clone(), "here");
    faults.add(fault.help(format!("add {what}")));
}
