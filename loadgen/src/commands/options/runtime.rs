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
    if runtime == Some(RuntimeName::Podman) {
        return Ok(Runtime::Podman { targets, backends });
    }
    let given = [
        ("--cpus", cpus.is_some()),
        ("--memory", memory.is_some()),
        ("--backend-cpus", backend_cpus.is_some()),
        ("--backend-memory", backend_memory.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(Runtime::Process),
        Some((option, _)) => {
            let message =
                format!("{option} limits containers, but the lab runs without containers");
            Err(Failure::message(Exit::Usage, "unused_option", message, "add --runtime podman"))
        }
    }
}
