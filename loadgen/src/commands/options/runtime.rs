//! Reads the options of a runtime.

use crate::cli::{RuntimeArgs, RuntimeName};
use crate::failure::{Exit, Failure};
use crate::lab::Runtime;
use crate::scenario::Limits;

/// Command that loads targets in a cluster.
pub const K8S_RUN: &str = "loadgen k8s run --target NAME --image IMAGE";

/// Returns the lab's runtime, processes or containers, from the options of the command line. Limits
/// without containers are an error. `in_cluster` is the command for the pods of a cluster.
pub fn runtime(args: RuntimeArgs, in_cluster: &str) -> Result<Runtime, Failure> {
    let RuntimeArgs { runtime, cpus, memory, backend_cpus, backend_memory } = args;
    let targets = Limits { cpus, memory };
    let backends = Limits { cpus: backend_cpus, memory: backend_memory };
    match runtime {
        Some(RuntimeName::Podman) => return Ok(Runtime::Podman { targets, backends }),
        Some(RuntimeName::Kubernetes) => {
            let message =
                "--runtime kubernetes: the load on the pods of a cluster comes from the cluster";
            let help = format!("start both there: {in_cluster}");
            return Err(Failure::conflict(message.to_owned(), &help));
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

/// Returns the runtime of targets in the cluster that also generates the load. Another runtime is an error.
pub fn in_cluster(args: RuntimeArgs) -> Result<Runtime, Failure> {
    let RuntimeArgs { runtime, cpus, memory, backend_cpus, backend_memory } = args;
    if !matches!(runtime, None | Some(RuntimeName::Kubernetes)) {
        let message = "--runtime: the targets of `loadgen k8s` run in pods of the cluster";
        let (message, help) = (message.to_owned(), "leave out --runtime");
        return Err(Failure::message(Exit::Usage, "unused_option", message, help));
    }
    let targets = Limits { cpus, memory };
    let backends = Limits { cpus: backend_cpus, memory: backend_memory };
    Ok(Runtime::Kubernetes { targets, backends })
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
