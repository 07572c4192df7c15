//! Builds the record of the load.

use crate::experiment::job::{Job, Method};
use crate::experiment::measured::Measured;
use crate::record::{LoadRecord, StageRecord};
use crate::scenario::{Model, Until};

/// Returns the record of a job's load, as it was measured.
pub(super) fn load(job: &Job, measured: &Measured) -> LoadRecord {
    let load = &job.scenario.load;
    let (iterations, stages) = match &load.until {
        Until::Duration(_) => (None, Vec::new()),
        Until::Iterations(n) => (Some(*n), Vec::new()),
        Until::IterationsPerUser(n) => (Some(n.saturating_mul(load.users.into())), Vec::new()),
        Until::Stages(stages) => (None, stages.clone()),
    };
    let open = match load.model {
        Model::Closed => None,
        Model::Open(open) => Some(open),
    };
    let slicing = job.method.slicing();
    let later = match job.method {
        Method::OneStart(warmup) => Some(warmup),
        _ => slicing.map(|slicing| slicing.warmup),
    };
    LoadRecord {
        model: if open.is_some() { "open" } else { "closed" }.to_owned(),
        users: load.users,
        rate_per_s: open.map(|open| open.rate),
        arrivals: open.map(|open| open.arrivals.to_string()),
        stages: stages
            .iter()
            .map(|s| StageRecord { to: s.to, over_s: s.over.as_secs_f64() })
            .collect(),
        ramp_up_s: load.ramp_up.as_secs_f64(),
        think_time: job.scenario.think_times(),
        duration_s: load.held().map(|held| held.as_secs_f64()),
        iterations,
        drain_s: load.drain.as_secs_f64(),
        warmup_s: job.warmup.as_secs_f64(),
        targets: job.names(),
        duet: job.method == Method::Duets,
        probe_per_s: job.probe,
        trace_one_in: job.trace_one_in,
        rounds: measured.rounds_planned.or(measured.stages.last().copied()).unwrap_or(job.rounds),
        one_start: job.is_one_start(),
        slices: slicing.map(|slicing| slicing.slices),
        slice_warmup_s: later.map(|warmup| warmup.as_secs_f64()),
        workers: measured.workers,
    }
}
