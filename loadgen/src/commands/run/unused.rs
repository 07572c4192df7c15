//! Options that would have no effect beside the others. Each is an error: who gives an option believes
//! that it does something.

use crate::cli::{OnWorkerLoss, RunArgs, RuntimeName};
use crate::commands::{Exit, Failure};
use crate::scenario::Scenario;

/// An option that was given, why it has no effect, and what to do.
type Unused = (&'static str, &'static str, &'static str);

/// Refuses the first option that has no effect in a run of `scenario` with so many workers.
pub fn refuse(args: &RunArgs, scenario: &Scenario, workers: Option<u32>) -> Result<(), Failure> {
    let unused = [beside_url(args), limits(args, scenario), losses(args, workers)];
    match unused.into_iter().flatten().next() {
        None => Ok(()),
        Some((option, why, help)) => {
            Err(Failure::message(Exit::Usage, format!("{option} {why}"), help))
        }
    }
}

fn beside_url(args: &RunArgs) -> Option<Unused> {
    let lab = "is for targets of the lab: the server at --url runs already";
    let runtime = &args.common.runtime;
    let given = [
        ("--runtime", runtime.runtime.is_some()),
        ("--cpus", runtime.cpus.is_some()),
        ("--memory", runtime.memory.is_some()),
        ("--backend-cpus", runtime.backend_cpus.is_some()),
        ("--backend-memory", runtime.backend_memory.is_some()),
        ("--server-workers", !args.server_workers.is_empty()),
    ];
    let (option, _) = given.into_iter().find(|(_, given)| *given && !args.common.url.is_empty())?;
    Some((option, lab, "leave one of them out"))
}

fn limits(args: &RunArgs, scenario: &Scenario) -> Option<Unused> {
    let runtime = &args.common.runtime;
    let given = [
        ("--backend-cpus", runtime.backend_cpus.is_some()),
        ("--backend-memory", runtime.backend_memory.is_some()),
    ];
    // Without containers there is nothing to limit at all, which is said elsewhere.
    let is_idle = runtime.runtime == Some(RuntimeName::Podman) && scenario.backends.is_empty();
    let (option, _) = given.into_iter().find(|(_, given)| *given && is_idle)?;
    Some((option, "limits backends, and the scenario has none", "leave it out"))
}

fn losses(args: &RunArgs, workers: Option<u32>) -> Option<Unused> {
    let option = "--on-worker-loss";
    match (args.on_worker_loss?, workers) {
        (_, None) => {
            let why = "is for workers, and there are none: the load comes from this process";
            Some((option, why, "add --workers N, or leave it out"))
        }
        (OnWorkerLoss::Continue, Some(1)) => {
            let why = "continue takes two workers at least: without the only one nothing goes on";
            Some((option, why, "have more workers, or leave it out"))
        }
        _ => None,
    }
}
