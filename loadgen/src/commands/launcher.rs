//! `loadgen launcher` (hidden): runs one server of the lab, and samples its stacks when asked.

use std::process::ExitCode;

use crate::cli::LauncherArgs;
use crate::lab::launcher::{self, LauncherOptions};

/// Runs a server of the lab until it ends. Needs no thread pool.
pub(super) fn run(args: LauncherArgs) -> ExitCode {
    crate::process::call_process(c"loadgen launch");
    let LauncherArgs { socket, cpus, profiler, command } = args;
    match launcher::run(&LauncherOptions { socket, cpus, profiler, argv: command }) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::text::say(format_args!("loadgen launcher: {error}"));
            ExitCode::from(127)
        }
    }
}
