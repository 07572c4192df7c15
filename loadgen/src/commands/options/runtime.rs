//! Reads the options of a runtime.

use crate::cli::{RuntimeArgs, RuntimeName};
use crate::failure::{Exit, Failure};
use crate::lab::Runtime;
use crate::scenario::Limits;

/// Returns the lab's runtime, processes or containers, from the options of the command line. Limits
/// without containers are an error.
pub fn runtime(args: RuntimeArgs) -> Result<Runtime, Failure> {
    let RuntimeArgs { runtime, cpus, memory, backend_cpus, backend_memory } = args;
    let targets = Limits { cpus, memory };
    let backends = Limits { cpus: backend_cpus, memory: backend_memory };
    match runtime {
        Some(RuntimeName::Podman) => return Ok(Runtime::Podman { targets, backends }),
        Some(RuntimeName::Kubernetes) => {
            let message =
                "--runtime kubernetes: the load on the pods of a cluster comes from the cluster";
            let help = "start both there: loadgen k8s run --target NAME --image IMAGE";
            return Err(Failure::conflict(message.to_owned(), help));
        }
        Some(RuntimeName::Process) | None => {}
    }
    match given(args).find(|option| *option != "--runtime") {
        None => Ok(Runtime::Process),
        Some(option) => {
            let message =
                format!("{option} limits containers, but the lab runs without containers");
            Err(Failure::message(Exit::Usage, "unused_option", message, "add --runtime podman"))
        }
    }
}

/// Returns the runtime of targets in the cluster that also generates the load. Another runtime, and limits of backends,
/// which loadgen does not run there, are an error.
pub fn in_cluster(args: RuntimeArgs) -> Result<Runtime, Failure> {
    let RuntimeArgs { runtime, cpus, memory, .. } = args;
    let unused = |message: &str, help: &str| {
        Err(Failure::message(Exit::Usage, "unused_option", message.to_owned(), help))
    };
    if !matches!(runtime, None | Some(RuntimeName::Kubernetes)) {
        let message = "--runtime: the targets of `loadgen k8s` run in pods of the cluster";
        return unused(message, "leave out --runtime");
    }
    if given(args).any(|option| option.starts_with("--backend-")) {
        let message = "--backend-cpus and --backend-memory: loadgen runs no backends in a cluster";
        return unused(message, "leave out the option");
    }
    Ok(Runtime::Kubernetes { targets: Limits { cpus, memory } })
}

/// Returns the options that were given.
pub fn given(args: RuntimeArgs) -> impl Iterator<Item = &'static str> {
    let options = [
        ("--runtime", args.runtime.is_some()),
        ("--cpus", args.cpus.is_some()),
        ("--memory", args.memory.is_some()),
        ("--backend-cpus", args.backend_cpus.is_some()),
        ("--backend-memory", args.backend_memory.is_some()),
    ];
    options.into_iter().filter_map(|(option, given)| given.then_some(option))
}
