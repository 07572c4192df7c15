//! Schema of `[load]`.

use serde_json::{Value, json};

use super::kinds::{
    Schema, any, array, choice, duration, each_required, integer, number, says, table, without,
};
use crate::file::load::{ARRIVALS, KINDS};
use crate::overrides::{LEAST_RATE, MOST_ITERATIONS, MOST_RATE, MOST_USERS};

pub(super) fn load() -> Schema {
    let model = "Load model, which decides when a request is sent: after the response to the \
                 user's previous request (closed), or by the clock (open).";
    let users = "Number of users of the whole test, over all workers. Default: 1. In the open \
                 model, the largest number of in-flight requests. Default there: 1000.";
    let rate = "Requests per second of the whole test, in the open model.";
    let arrivals = "Distribution of the requests over time, in the open model: at even intervals \
                    (even), or at random times (poisson).";
    let ramp_up =
        "Time over which the users start, one after another, or over which the rate rises.";
    let lasts = "Duration of the test after the ramp-up, such as \"10s\" or \"1m30s\".";
    let iterations = "Number of iterations, shared by all users, after which the test ends.";
    let each = "Number of iterations of each user after which the test ends, in the closed model.";
    let drain = "Longest wait for the responses to in-flight requests after the end, at most \
                 \"10m\".";
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
        (
            "think_time",
            think_time("Time that a user waits between a response and the next request"),
        ),
        ("drain", duration(drain).or("3s")),
    ];
    table("Amount and duration of the load.", keys)
        .excludes("stages", &["duration", "iterations", "iterations_per_user", "ramp_up"])
        .excludes("iterations", &["duration", "iterations_per_user"])
        .excludes("iterations_per_user", &["duration", "iterations"])
        .with("if", says("model", "open"))
        .with("then", open())
        .with("else", closed())
}

/// Returns the rules that `[load]` must also meet in the open model.
fn open() -> Value {
    let mut open = without(&["iterations_per_user"]);
    open["properties"]["stages"] = json!({ "items": without(&["users"]) });
    open["dependencies"] = json!({ "stages": without(&["rate"]) });
    open["anyOf"] = each_required(&["rate", "stages"]);
    open
}

/// Returns the rules that `[load]` must also meet in the closed model.
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
            integer(
                0..=u64::from(MOST_USERS),
                "Number of users at the end of the stage, in the closed model.",
            ),
        ),
        (
            "rate",
            number(
                0.0..=MOST_RATE,
                "Requests per second at the end of the stage, in the open model.",
            ),
        ),
        ("over", duration("Duration of the stage; \"0s\" is a jump.")),
    ];
    let stage = table("A linear change of the load.", keys)
        .requires(["over"])
        .requires_one_of(&["users", "rate"]);
    let about = "Consecutive changes of the load, from zero on: { users = 100, over = \"30s\" }, …";
    array(about, stage).with("minItems", 1)
}

/// Returns the schema of a think time.
pub(super) fn think_time(about: &str) -> Schema {
    let uniform = table(
        "Uniformly distributed times.",
        [("min", duration("Shortest time.")), ("max", duration("Longest time."))],
    );
    let exponential =
        table("Exponentially distributed times.", [("mean", duration("Mean of the times."))]);
    let forms: Vec<Value> = vec![
        duration("Always the same time.").into(),
        uniform.requires(["min", "max"]).into(),
        exponential.requires(["mean"]).into(),
    ];
    let about =
        format!("{about}: \"1s\", {{ min = \"1s\", max = \"3s\" }} or {{ mean = \"2s\" }}.");
    any(&about).with("oneOf", forms)
}
