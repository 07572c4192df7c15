//! Checks whether other workers can take over the load of a lost one (`--on-worker-loss redistribute`).

use crate::cluster::OnLoss;
use crate::experiment::job::{Job, Method};
use crate::failure::Failure;
use crate::scenario::{Order, Until};

/// Returns an error if other workers are to take over a load of which nobody knows how much a lost worker has done, or
/// that they cannot carry.
pub fn check(job: &Job) -> Result<(), Failure> {
    if job.on_loss != OnLoss::Redistribute {
        return Ok(());
    }
    let scenario = &job.scenario;
    let counts = matches!(scenario.load.until, Until::Iterations(_) | Until::IterationsPerUser(_));
    let has_once = scenario.rows.iter().any(|rows| rows.order == Order::Once);
    let why = match job.method {
        Method::Duets => "does not apply to a duet: a pair that lost a worker does not count",
        _ if counts => {
            "needs a load that ends after a time: how many iterations a lost worker has done is not known"
        }
        _ if has_once => {
            "does not apply to rows that are used once: which of them a lost worker has used is not known"
        }
        _ if scenario.http.sharing.is_set() => {
            "does not apply to users that share connections, which are dealt to workers for the whole round"
        }
        _ => return Ok(()),
    };
    let help = "use --on-worker-loss continue: the others keep their own shares";
    Err(Failure::conflict(format!("--on-worker-loss redistribute {why}"), help))
}
