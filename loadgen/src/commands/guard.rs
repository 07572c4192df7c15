//! `loadgen guard`: hidden; runs one service of the lab and ends it when loadgen goes.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::lab::guard::{self, Orders};

/// What a guard is told; [`crate::lab::service`] writes it.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// The CPUs that the service may use
    #[arg(long, value_delimiter = ',')]
    cpus: Vec<usize>,
    /// The user that it runs as
    #[arg(long, requires = "gid")]
    uid: Option<u32>,
    /// The group that it runs as
    #[arg(long, requires = "uid")]
    gid: Option<u32>,
    /// Ask it to end by SIGQUIT instead of SIGTERM
    #[arg(long)]
    quit: bool,
    /// Seconds that it has to end by itself
    #[arg(long, default_value_t = 5.0)]
    grace: f64,
    /// A folder to remove when it was made to end
    #[arg(long)]
    remove: Option<PathBuf>,
    /// The service's command line
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Guards until the service has ended. Needs no runtime, and makes no thread pool.
pub fn run(args: GuardArgs) -> ExitCode {
    let orders = Orders {
        argv: args.command,
        cpus: args.cpus,
        run_as: args.uid.zip(args.gid),
        quit: args.quit,
        grace: Duration::try_from_secs_f64(args.grace).unwrap_or_default(),
        remove: args.remove,
    };
    match guard::run(&orders) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "loadgen guard: {error}");
            ExitCode::from(127)
        }
    }
}
