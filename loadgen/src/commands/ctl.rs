//! `loadgen ctl`: has a run that goes on do something.

use crate::cli::{CtlArgs, CtlCommand};
use crate::experiment::control::{Wish, ask};
use crate::failure::{Exit, Failure};
use crate::process::{on_all_cpus, print};
use crate::scenario::Amount;

/// Asks the run for it, and prints what it did.
pub fn run(args: &CtlArgs) -> Result<Exit, Failure> {
    let wish = match args.wish {
        CtlCommand::Stop => Wish::Stop,
        CtlCommand::Users { number } => Wish::Users(number),
        CtlCommand::Rate { per_s } => Wish::Rate(per_s),
    };
    // JSON has no way to say some of the numbers that are none.
    if let Wish::Rate(rate) = wish {
        Amount::Rate(rate).check().map_err(Failure::with(Exit::Usage))?;
    }
    let done = on_all_cpus()?.block_on(ask(&args.run, wish))?;
    print(&format!("{done}\n"))?;
    Ok(Exit::Done)
}
