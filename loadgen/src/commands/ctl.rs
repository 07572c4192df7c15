//! `loadgen ctl`: sends a request to a run in progress.

use std::path::Path;

use crate::cli::{CtlArgs, CtlCommand};
use crate::experiment::control::{ControlRequest, ask, newest_in};
use crate::experiment::folder::RUNS;
use crate::failure::{Exit, Failure};
use crate::process::{on_all_cpus, print};
use crate::scenario::LoadLevel;

/// Sends a request to the run in a folder, and prints what the run did.
pub(super) fn run(args: &CtlArgs) -> Result<Exit, Failure> {
    let request = match args.request {
        CtlCommand::Stop => ControlRequest::Stop,
        CtlCommand::Users { number } => ControlRequest::Users(number),
        CtlCommand::Rate { per_s } => ControlRequest::Rate(per_s),
    };
    // Checked here, because JSON has no NaN and no infinity.
    if let ControlRequest::Rate(rate) = request {
        LoadLevel::Rate(rate).check().map_err(Failure::with(Exit::Usage))?;
    }
    let newest = || newest_in(Path::new(RUNS));
    let run = args.run.clone().or_else(newest).unwrap_or_else(|| RUNS.into());
    let done = on_all_cpus()?.block_on(ask(&run, request))?;
    print(&format!("{done}\n"))?;
    Ok(Exit::Done)
}
