//! `[load]`: amount, duration and model of the load.

use std::time::Duration;

use toml::de::DeValue;

use super::reader::{Faults, Table, Value};
use crate::error::Fault;
use crate::load::{Arrivals, DRAIN, Load, Model, Open, Stage, ThinkTime, Until};
use crate::overrides::{
    LEAST_RATE, LONGEST_DRAIN, MOST_ITERATIONS, MOST_RATE, MOST_USERS, SENDERS,
};

/// Duration of a test if the scenario file sets no end of the test.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// Load of a scenario file without a `[load]` table: one user, as in k6.
const DEFAULT: Load = Load {
    model: Model::Closed,
    users: 1,
    ramp_up: Duration::ZERO,
    think_time: None,
    until: Until::Duration(DEFAULT_DURATION),
    drain: DRAIN,
};

/// Load models that a file can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Closed,
    Open,
}

pub(super) const KINDS: [(&str, Kind); 2] = [("closed", Kind::Closed), ("open", Kind::Open)];

pub(super) const ARRIVALS: [(&str, Arrivals); 2] =
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

pub(super) fn read(value: Option<Value<'_>>, faults: &mut Faults<'_>) -> Option<Load> {
    let Some(value) = value else {
        return Some(DEFAULT);
    };
    let mut table = value.table("[load]", faults)?;
    let kind = table.take("model").map_or(Some(Kind::Closed), |model| model.choice(&KINDS, faults));
    let load = match kind {
        Some(kind) => read_kind(kind, &mut table, faults),
        // The model decides which other keys are valid.
        None => return None,
    };
    table.finish(faults);
    load
}

fn read_kind(kind: Kind, table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Load> {
    let place = table.place.clone();
    let stages = table.take("stages");
    if let Some(stages) = &stages {
        refuse_beside_stages(kind, stages, table, faults);
    }
    let users = table.take("users").map(|value| read_users(&value, faults));
    let ramp_up = table.take("ramp_up");
    let ramp_up_time =
        ramp_up.as_ref().map_or(Some(Duration::ZERO), |value| value.duration(faults));
    let think_time = match table.take("think_time") {
        None => Some(None),
        Some(value) => read_think_time(&value, faults).map(Some),
    };
    let drain = table.take("drain").map_or(Some(DRAIN), |value| read_drain(&value, faults));
    let (end, until) = match &stages {
        Some(stages) => (Some(stages.clone()), read_stages(kind, stages, faults)),
        None => read_end(kind, table, faults),
    };
    let most = match &until {
        Some(Until::Stages(stages)) => Some(stages.iter().fold(0.0, |most: f64, s| most.max(s.to))),
        _ => None,
    };
    let (model, users) = match kind {
        Kind::Closed => {
            refuse_rate(table, faults);
            let users = users.unwrap_or_else(|| Some(most.map_or(DEFAULT.users, |m| m as u32)));
            (Some(Model::Closed), users)
        }
        Kind::Open => {
            let open = read_open(most, stages.is_some(), table, place, faults);
            (open.map(Model::Open), users.unwrap_or(Some(SENDERS)))
        }
    };
    let load = Load {
        model: model?,
        users: users?,
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

fn read_drain(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Duration> {
    let drain = value.duration(faults)?;
    if drain > LONGEST_DRAIN {
        return value.fault("`drain` must be at most 10m", "too long", "", faults);
    }
    Some(drain)
}

/// Reads a think time: `"1s"`, `{ min = "1s", max = "3s" }` or `{ mean = "2s" }`.
pub(super) fn read_think_time(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<ThinkTime> {
    if let DeValue::String(_) = value.node.get_ref() {
        return value.duration(faults).map(ThinkTime::Fixed);
    }
    let mut table = value.table("`think_time`", faults)?;
    let mut time = |key| table.take(key).map(|value| value.duration(faults));
    let (min, max, mean) = (time("min"), time("max"), time("mean"));
    table.finish(faults);
    match (min, max, mean) {
        (None, None, Some(mean)) => Some(ThinkTime::Exponential { mean: mean? }),
        (Some(min), Some(max), None) => {
            let (min, max) = (min?, max?);
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

fn read_users(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<u32> {
    let users = value.integer(1..=u64::from(MOST_USERS), faults)?;
    u32::try_from(users).ok()
}

fn read_open(
    most: Option<f64>,
    in_stages: bool,
    table: &mut Table<'_>,
    place: std::ops::Range<usize>,
    faults: &mut Faults<'_>,
) -> Option<Open> {
    let arrivals = table
        .take("arrivals")
        .map_or(Some(Arrivals::Even), |value| value.choice(&ARRIVALS, faults));
    let rate = match (table.take("rate"), in_stages) {
        (_, true) => most,
        (Some(rate), false) => rate.number(LEAST_RATE..=MOST_RATE, faults),
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
    let ends = table.take_any(["duration", "iterations", "iterations_per_user"]);
    let until: Vec<Option<Until>> = ends.iter().map(|end| read_until(kind, end, faults)).collect();
    match until.as_slice() {
        [] => (None, Some(DEFAULT.until)),
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
        ("duration", _) => end.positive_duration(faults).map(Until::Duration),
        ("iterations", _) => end.integer(1..=MOST_ITERATIONS, faults).map(Until::Iterations),
        (_, Kind::Closed) => end.integer(1..=MOST_ITERATIONS, faults).map(Until::IterationsPerUser),
        (_, Kind::Open) => {
            let message = "`iterations_per_user` belongs to the closed model";
            let help = "in the open model any idle user sends the next request: write `iterations`, \
                        the number for all users together";
            end.fault(message, "in the open model", help, faults)
        }
    }
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
    let mut table = item.table("a stage", faults)?;
    let to = table.take(kind.level());
    let over = table.take("over");
    let over = match over {
        Some(over) => over.duration(faults),
        None => missing("over", "the duration of the stage: over = \"30s\"", &table, faults),
    };
    let to = match (to, kind) {
        (Some(to), Kind::Closed) => {
            to.integer(0..=u64::from(MOST_USERS), faults).map(|users| users as f64)
        }
        (Some(to), Kind::Open) => to.number(0.0..=MOST_RATE, faults),
        (None, _) => {
            let help = format!("the load at the end of the stage: {} = 100", kind.level());
            missing(kind.level(), &help, &table, faults)
        }
    };
    table.finish(faults);
    Some(Stage { to: to?, over: over? })
}

fn missing<T>(key: &str, what: &str, table: &Table<'_>, faults: &mut Faults<'_>) -> Option<T> {
    let fault = Fault::new(format!("a stage needs `{key}`")).at(table.place.clone(), "here");
    faults.add(fault.help(format!("add {what}")));
    None
}
