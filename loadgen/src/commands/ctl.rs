//! `loadgen ctl`: has a run that goes on do something.

use crate::cli::{CtlArgs, CtlCommand};
use crate::experiment::control::{ControlRequest, ask};
use crate::failure::{Exit, Failure};
use crate::process::{on_all_cpus, print};
use crate::scenario::LoadLevel;

/// Asks the run for it, and prints what it did.
pub fn run(args: &CtlArgs) -> Result<Exit, Failure> {
    let request = match args.request {
        CtlCommand::Stop => ControlRequest::Stop,
        CtlCommand::Users { number } => ControlRequest::Users(number),
        CtlCommand::Rate { per_s } => ControlRequest::Rate(per_s),
    };
    // JSON has no way to say some of the numbers that are none.
    if let ControlRequest::Rate(rate) = request {
        LoadLevel::Rate(rate).check().map_err(Failure::with(Exit::Usage))?;
    }
    let done = on_all_cpus()?.block_on(ask(&args.run, request))?;
    print(&format!("{done}\n"))?;
    Ok(Exit::Done)
}
