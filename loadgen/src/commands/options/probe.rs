//! Checks whether a probe can measure beside the load of a job.

use crate::experiment::job::Job;
use crate::failure::Failure;
use crate::scenario::{Assign, Model, Order, Until};

/// Returns an error if a probe cannot measure beside the load of a job with `--probe`, or if its
/// latencies could not be compared with those of the load.
pub fn check(job: &Job) -> Result<(), Failure> {
    if job.probe.is_none() {
        return Ok(());
    }
    let refused = |what: String, help: &str| {
        let message = format!("--probe {what}");
        Err(Failure::conflict(message, help))
    };
    let scenario = &job.scenario;
    if job.remote.is_some() {
        return refused(
            "measures from this host, but the load comes from workers on other hosts".to_owned(),
            "leave out --probe, or use `loadgen run`",
        );
    }
    if !matches!(scenario.load.until, Until::Duration(_)) {
        return refused(
            "needs a load that ends after a duration and does not change".to_owned(),
            "give --duration, or `duration` in [load] of the scenario, instead of stages or iterations",
        );
    }
    if let Some(rows) = scenario.rows.iter().find(|rows| rows.order == Order::Once) {
        return refused(
            format!("has no rows of its own: each row of `{}` is used only once", rows.name),
            "leave out --probe, or set use = \"cycle\" or \"random\" for the rows",
        );
    }
    let is_closed = scenario.load.model == Model::Closed;
    if is_closed && scenario.assign == Assign::User && scenario.flows.len() > 1 {
        return refused(
            "takes flows by iteration, but each user of the load keeps its flow, so that both send other \
             mixtures of requests"
                .to_owned(),
            "leave out --probe, or `assign = \"user\"`",
        );
    }
    Ok(())
}
