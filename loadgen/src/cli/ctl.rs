//! The command line of `loadgen ctl`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `ctl`.
#[derive(Debug, Args)]
#[command(after_help = CTL_EXAMPLES)]
pub struct CtlArgs {
    /// Folder of the run: the folder of the run's --out [default: the newest run in progress in runs/].
    #[arg(long, value_name = "DIR")]
    pub run: Option<PathBuf>,
    /// Request to the run.
    #[command(subcommand)]
    pub request: CtlCommand,
}

/// Requests to a run.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// End the run in good order, as Ctrl-C does: the measurements until then are reported and
    /// saved.
    Stop,
    /// Change the number of users of the whole test, from 1 to 1,000,000, until the end of the round;
    /// only in the closed model.
    Users {
        /// Number of users of the whole test, over all workers.
        #[arg(value_name = "N")]
        number: u32,
    },
    /// Change the requests per second of the whole test, from 0.001 to 10,000,000, until the end of the
    /// round; only in the open model.
    Rate {
        /// Requests per second of the whole test, over all workers.
        #[arg(value_name = "R", allow_negative_numbers = true)]
        per_s: f64,
    },
}

const CTL_EXAMPLES: &str = "\
Examples:
  loadgen ctl users 200
  loadgen ctl --run my-run stop

On the terminal of a run, the keys + and - change the load by a tenth, and q
stops the run. With --no-progress, type a line instead: users 200, rate 500 or
stop.

A round with a changed load is marked in the result, and is in no ranking.

Exit codes:
  0  done
  1  no run is in progress in the folder, or the run has no round in progress
  2  the load cannot change to the requested level";
