//! Describes what is known now, in JSON, for the script of the page.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::report::view::{PlannedLoad, Round, Row, State, StepOfRound, View, activity, fitting};

/// Most workers that the page lists.
const MOST_WORKERS: usize = 100;

/// Returns what is known at a moment.
pub(super) fn now(view: &View, now: Instant) -> Value {
    let (number, of) = view.forecast.place();
    let of_round = view.round.as_ref().and_then(|round| round.left(now));
    let usage = view.usage.iter().map(|(name, used)| {
        json!({ "name": name, "cpu_percent": used.cpu_percent, "memory_bytes": used.memory_bytes })
    });
    let is_on = view.round.as_ref().is_some_and(|round| round.timeline.is_some());
    let (workers, more_workers) = fitting(view.workers.rows(now, is_on), MOST_WORKERS);
    json!({
        "doing": view.doing,
        "place": [number, of],
        "done": view.done(now),
        "left_s": view.left(now).as_ref().map(Duration::as_secs),
        "phase": view.phase(now).map(activity),
        "round": view.round.as_ref().map(|of| round(of, of_round)),
        "usage": usage.collect::<Vec<_>>(),
        "workers": workers.iter().map(worker).collect::<Vec<_>>(),
        "more_workers": more_workers,
        "notes": view.log,
    })
}

fn round(round: &Round, left: Option<Duration>) -> Value {
    let errors = round.errors.iter().map(|(kind, count)| {
        json!({ "kind": kind.to_string(), "count": count, "example": round.examples.get(kind) })
    });
    json!({
        "target": round.target,
        "left_s": left.as_ref().map(Duration::as_secs),
        "load": round.load.map(|load| match load {
            PlannedLoad::Users(users) => f64::from(users),
            PlannedLoad::Rate(per_s) => per_s,
        }),
        "unit": round.load.map(|load| match load {
            PlannedLoad::Users(_) => "users",
            PlannedLoad::Rate(_) => "requests/s",
        }),
        "failed": round.failed(),
        "errors": errors.collect::<Vec<_>>(),
        "steps": round.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

fn step(step: &StepOfRound) -> Value {
    let newest = step.newest;
    json!({
        "name": step.name,
        "answered": newest.answered,
        "p50_us": newest.p50_us,
        "p95_us": newest.p95_us,
        "p99_us": newest.p99_us,
        "failed": step.failed,
    })
}

fn worker(worker: &Row) -> Value {
    let (state, figure) = match worker.state {
        State::Quiet => ("quiet", None),
        State::Working(requests) => ("working", Some(requests)),
        State::Late(silent) => ("late", Some(silent.as_secs())),
        State::Lost => ("lost", None),
    };
    json!({ "number": worker.number, "host": worker.host, "state": state, "figure": figure })
}
