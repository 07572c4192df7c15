//! `loadgen guard` (hidden): runs one service of the lab, and ends
//! the service when loadgen is gone.

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::GuardArgs;
use crate::lab::guard::{self, GuardOptions};

/// Runs a service of the lab until the service ends, or ends the service when loadgen is gone.
/// Needs no async runtime, and starts no thread pool.
pub(super) fn run(args: GuardArgs) -> ExitCode {
    crate::process::call_process(c"loadgen guard");
    let options = GuardOptions {
        argv: args.command,
        cpus: args.cpus,
        run_as: args.uid.zip(args.gid),
        quit: args.quit,
        spare_others: args.spare_others,
        grace: Duration::try_from_secs_f64(args.grace).unwrap_or_default(),
        remove: args.remove,
        end_by: args.end_by,
    };
    match guard::run(&options) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::text::say(format_args!("loadgen guard: {error}"));
            ExitCode::from(127)
        }
    }
}
