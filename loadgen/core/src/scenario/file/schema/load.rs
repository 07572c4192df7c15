//! `[load]`.

use serde_json::{Value, json};

use super::kinds::{
    Schema, any, array, choice, duration, each_required, integer, number, says, table, without,
};
use crate::scenario::file::load::{ARRIVALS, KINDS};
use crate::scenario::overrides::{LEAST_RATE, MOST_ITERATIONS, MOST_RATE, MOST_USERS};

pub(super) fn load() -> Schema {
    let model = "Who decides when a request is sent: the user that has waited for its answer (closed), \
                 or the clock (open).";
    let users = "Users of the whole test, over all workers: 1 where it is left out. In the open model \
                 the most that send at the same time: 1000.";
    let rate = "Requests per second of the whole test, in the open model.";
    let arrivals = "Whether requests come at even distances, or each by chance, in the open model.";
    let ramp_up = "The time over which the users start, one after another, or the rate rises.";
    let lasts = "How long the test lasts once the ramp-up has ended, such as \"10s\" or \"1m30s\".";
    let iterations = "Ends the test after this many iterations, shared by all users.";
    let each = "Ends the test when each user has done this many iterations, in the closed model.";
    let drain =
        "How long after the end the answers to requests in flight are waited for, at most \"10m\".";
    let keys = [
        ("model", choice(&KINDS, model).or("closed")),
        ("users", integer(1..=u64::from(MOST_USERS), users)),
        ("rate", number(LEAST_RATE..=MOST_RATE, rate)),
        ("arrivals", choice(&ARRIVALS, arrivals)),
        ("ramp_up", duration(ramp_up).or("0s")),
        ("duration", duration(lasts).or("10s")),
        ("iterations", integer(1..=MOST_ITERATIONS, iterations)),
        ("iterations_per_user", integer(1..=MOST_ITERATIONS, each)),
        ("stages", stages()),
        ("think_time", think_time()),
        ("drain", duration(drain).or("3s")),
    ];
    table("How much load, and for how long.", keys)
        .excludes("stages", &["duration", "iterations", "iterations_per_user", "ramp_up"])
        .excludes("iterations", &["duration", "iterations_per_user"])
        .excludes("iterations_per_user", &["duration", "iterations"])
        .with("if", says("model", "open"))
        .with("then", open())
        .with("else", closed())
}

/// Returns the additional rules of the open model.
fn open() -> Value {
    let mut open = without(&["iterations_per_user"]);
    open["properties"]["stages"] = json!({ "items": without(&["users"]) });
    open["dependencies"] = json!({ "stages": without(&["rate"]) });
    open["anyOf"] = each_required(&["rate", "stages"]);
    open
}

/// Returns the additional rules of the closed model.
fn closed() -> Value {
    let mut closed = without(&["rate", "arrivals"]);
    closed["properties"]["stages"] = json!({ "items": without(&["rate"]) });
    closed["dependencies"] = json!({ "stages": without(&["users"]) });
    closed
}

fn stages() -> Schema {
    let keys = [
        (
            "users",
            integer(0..=u64::from(MOST_USERS), "How many users at its end, in the closed model."),
        ),
        ("rate", number(0.0..=MOST_RATE, "Requests per second at its end, in the open model.")),
        ("over", duration("How long it takes to get there, in a straight line; \"0s\" is a jump.")),
    ];
    let stage = table("A stretch of the load.", keys)
        .requires(["over"])
        .requires_one_of(&["users", "rate"]);
    let about = "How the load changes, beginning with nothing: { users = 100, over = \"30s\" }, …";
    array(about, stage).with("minItems", 1)
}

fn think_time() -> Schema {
    let uniform = table(
        "Any time between, each as likely.",
        [("min", duration("The shortest.")), ("max", duration("The longest."))],
    );
    let exponential =
        table("Exponentially distributed times.", [("mean", duration("Their mean."))]);
    let forms: Vec<Value> = vec![
        duration("Always the same.").into(),
        uniform.requires(["min", "max"]).into(),
        exponential.requires(["mean"]).into(),
    ];
    let about = "How long a user waits between an answer and its next request: \"1s\", \
                 { min = \"1s\", max = \"3s\" } or { mean = \"2s\" }.";
    any(about).with("oneOf", forms)
}
