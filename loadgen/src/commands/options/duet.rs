//! Checks whether a job can be measured as duets.

use crate::experiment::job::{Job, Method};
use crate::experiment::subject::Subject;
use crate::failure::Failure;
use crate::lab::Runtime;
use crate::scenario::{Order, Scenario, Until};

/// Returns an error if two contenders of a job with `--duet` cannot be loaded at the same time, or if
/// the result would say nothing.
pub fn check(job: &Job) -> Result<(), Failure> {
    if job.method != Method::Duets {
        return Ok(());
    }
    let refused = |what: &str, help: &str| Err(Failure::conflict(format!("--duet {what}"), help));
    let are_replicas = |contender| job.replicas(contender).is_some();
    if job.remote.is_some() {
        return refused(
            "loads both targets from one process, not from workers on other hosts",
            "leave out --duet, or use `loadgen run`",
        );
    }
    if let Subject::Running(_) = job.subject {
        return refused(
            "starts both targets afresh in each round, but a server at a URL runs already",
            "name targets: --target NAME,NAME; `loadgen init --targets` names servers of your own",
        );
    }
    if job.contenders.len() < 2 {
        return refused(
            "compares at least two targets",
            "name two targets: --target NAME,NAME; or add --aa to compare one with itself",
        );
    }
    if job.is_matrix() {
        return refused(
            "takes only one number of users and of server workers",
            "name one number of each, or leave out --duet",
        );
    }
    if (0..job.contenders.len()).any(are_replicas) {
        return refused(
            "takes no target with replicas",
            "leave out --duet, or the replicas of the target",
        );
    }
    if matches!(job.runtime, Runtime::Podman { .. }) {
        return refused("runs its targets as processes, not in containers", "leave out --runtime");
    }
    if uses_up_rows(&job.scenario) {
        return refused(
            "would send each row of a file with use = \"once\" to both targets, which have one database",
            "use = \"cycle\" or \"random\", or leave out --duet",
        );
    }
    if !matches!(job.scenario.load.until, Until::Duration(_)) {
        return refused(
            "needs a load that ends after a duration and does not change",
            "give `duration` in [load] of the scenario, instead of stages or iterations",
        );
    }
    Ok(())
}

/// Returns whether a row of a file that was sent must not be sent again.
pub fn uses_up_rows(scenario: &Scenario) -> bool {
    scenario.rows.iter().any(|rows| rows.order == Order::Once)
}
