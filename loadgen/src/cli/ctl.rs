//! The command line of `loadgen ctl`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The options of `ctl`.
#[derive(Debug, Args)]
#[command(after_help = CTL_EXAMPLES)]
pub struct CtlArgs {
    /// The folder of the run: what its --out says, or the newest in runs/.
    #[arg(long, value_name = "DIR")]
    pub run: PathBuf,
    /// What it is to do.
    #[command(subcommand)]
    pub request: CtlCommand,
}

/// What a run can be told.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// End in good order, as after Ctrl-C: what was measured is reported and saved.
    Stop,
    /// Go on with so many users, to the end of the round; in the closed model.
    Users {
        /// Users of the whole test, over all workers.
        #[arg(value_name = "N")]
        number: u32,
    },
    /// Go on with so many requests per second, to the end of the round; in the open model.
    Rate {
        /// Requests per second of the whole test, over all workers.
        #[arg(value_name = "R", allow_negative_numbers = true)]
        per_s: f64,
    },
}

const CTL_EXAMPLES: &str = "\
Examples:
  loadgen ctl --run runs/2026-11-21T20-29-06Z-redis3 users 200
  loadgen ctl --run my-run stop

On the terminal of a run, + and - change its load by a tenth, and q stops it. With --no-progress the same
is typed as a line there: users 200, rate 500, stop.
A round that was changed is marked in the result and in no ranking.

Exit codes: 0 done, 1 no run or no round goes on there, 2 its load can't be changed to that";
