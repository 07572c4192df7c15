//! `[load]`: how much, and for how long.

use std::time::Duration;

use super::reader::{Faults, Table, Value};
use crate::scenario::error::Fault;
use crate::scenario::model::{Load, Until};
use crate::scenario::overrides::{MOST_ITERATIONS, MOST_USERS};

/// How long a test lasts when its file does not say.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// As in k6, one user where the file does not say.
const DEFAULT_USERS: u32 = 1;

const DEFAULT: Load = Load {
    users: DEFAULT_USERS,
    ramp_up: Duration::ZERO,
    until: Until::Duration(DEFAULT_DURATION),
};

/// The models that a file may name, and whether this version has them.
const MODELS: [(&str, bool); 2] = [("closed", true), ("open", false)];

pub(super) fn read(value: Option<Value<'_>>, faults: &mut Faults<'_>) -> Option<Load> {
    let Some(value) = value else {
        return Some(DEFAULT);
    };
    let mut table = value.table("[load]", faults)?;
    if let Some(model) = table.take("model") {
        check_model(&model, &mut table, faults);
    }
    let users = table.take("users").map_or(Some(DEFAULT_USERS), |value| {
        let users = value.integer(1..=u64::from(MOST_USERS), faults)?;
        u32::try_from(users).ok()
    });
    let ramp_up = table.take("ramp_up");
    let ramp_up_time =
        ramp_up.as_ref().map_or(Some(Duration::ZERO), |value| value.duration(faults));
    let (end, until) = read_end(&mut table, faults);
    table.finish(faults);
    let load = Load { users: users?, ramp_up: ramp_up_time?, until: until? };
    if load.is_too_long() {
        let places = [ramp_up, end].into_iter().flatten().map(|value| value.place());
        let fault = Fault::new("`ramp_up` and `duration` together must be at most 24h");
        faults.add(places.fold(fault, |fault, place| fault.at(place, "adds up")));
    }
    Some(load)
}

fn check_model(value: &Value<'_>, table: &mut Table<'_>, faults: &mut Faults<'_>) {
    if value.choice(&MODELS, faults) == Some(false) {
        // What belongs to the open model is no fault of its own.
        table.take("rate");
        let message = "the open model is not available in this version";
        let help =
            "leave `model` out for the closed model, in which `users` wait for their answers";
        value.fault::<()>(message, "not yet", help, faults);
    }
}

/// The one key that says when the test ends, and what it says.
fn read_end<'a>(
    table: &mut Table<'a>,
    faults: &mut Faults<'_>,
) -> (Option<Value<'a>>, Option<Until>) {
    let ends = table.take_any(["duration", "iterations", "iterations_per_user"]);
    let until: Vec<Option<Until>> = ends.iter().map(|end| read_until(end, faults)).collect();
    match until.as_slice() {
        [] => (None, Some(DEFAULT.until)),
        [until] => (ends.into_iter().next(), *until),
        _ => {
            let fault = Fault::new(
                "a test ends by only one of `duration`, `iterations` and `iterations_per_user`",
            )
            .help("keep one of them");
            let at = |fault: Fault, end: &Value<'_>| fault.at(end.key_place.clone(), "one end");
            faults.add(ends.iter().fold(fault, at));
            (None, None)
        }
    }
}

fn read_until(end: &Value<'_>, faults: &mut Faults<'_>) -> Option<Until> {
    match end.key {
        "duration" => end.positive_duration(faults).map(Until::Duration),
        "iterations" => end.integer(1..=MOST_ITERATIONS, faults).map(Until::Iterations),
        _ => end.integer(1..=MOST_ITERATIONS, faults).map(Until::IterationsPerUser),
    }
}
