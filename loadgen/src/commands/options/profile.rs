//! Checks whether targets can be profiled.

use crate::cli::ProfileArgs;
use crate::experiment::job::Job;
use crate::experiment::subject::Subject;
use crate::failure::Failure;
use crate::lab::Runtime;

/// Returns the number of profiling rounds; 0 for none. Returns an error if no target of the job can be profiled.
pub fn rounds(job: &Job, asked: ProfileArgs) -> Result<u32, Failure> {
    let Some(rounds) = asked.profile else { return Ok(0) };
    let refused = |what: &str, help: &str| {
        Err(Failure::conflict(
            format!("--profile needs targets that loadgen starts as processes, {what}"),
            help,
        ))
    };
    match (&job.subject, &job.runtime) {
        (Subject::Running(_), _) => refused(
            "not a server at a URL",
            "describe the server in targets.toml: `loadgen init --targets`",
        ),
        (Subject::Lab { .. }, Runtime::Podman { .. } | Runtime::Kubernetes { .. }) => {
            refused("not in containers", "leave out --runtime, or leave out --profile")
        }
        (Subject::Lab { .. }, Runtime::Process) => Ok(rounds),
    }
}
