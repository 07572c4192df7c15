//! Checks whether a job can be judged by `--fail-on-regression`.

use crate::experiment::job::Job;
use crate::failure::Failure;

/// Returns an error if a job has no two targets to compare, or several numbers of server workers or
/// users, which are no versions of one server.
pub fn check(job: &Job, fail_on_regression: Option<f64>) -> Result<(), Failure> {
    if fail_on_regression.is_none() {
        return Ok(());
    }
    let refused = |what: &str, help: &str| {
        Err(Failure::conflict(format!("--fail-on-regression {what}"), help))
    };
    if job.contenders.len() < 2 {
        return refused(
            "compares at least two targets, the first of which is the base",
            "name two: --target OLD,NEW, or --url OLD,NEW; `loadgen compare` compares saved runs",
        );
    }
    if job.is_matrix() {
        return refused(
            "takes only one number of users, of server workers and of replicas",
            "name one number of each",
        );
    }
    Ok(())
}
