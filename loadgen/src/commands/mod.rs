//! The subcommands, one file each, and the exit codes that they share.

mod capacity;
mod check;
mod compare;
mod completions;
mod ctl;
mod guard;
mod init;
mod lab;
mod list;
mod manager;
mod output;
mod process;
mod report;
mod run;
mod runtime;
mod saved;
mod scenarios;
mod schema;
mod shown_error;
mod threads;
mod url;
mod worker;

use std::process::ExitCode;

use miette::{Diagnostic, Report};
use serde::{Deserialize, Serialize};

use crate::cli::{Cli, Command};
use crate::lab::LabError;

/// What loadgen tells its caller. Part of the command line's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// All was done.
    Done = 0,
    /// Something failed that no other code names.
    Failed = 1,
    /// The command line or a scenario is wrong.
    Usage = 2,
    /// A threshold failed.
    Threshold = 3,
    /// A target could not be started or verified.
    Target = 4,
    /// The result is not what was planned: a worker was lost.
    Degraded = 5,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that ends the command, and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    /// What loadgen exits with.
    pub exit: Exit,
    /// What it says on stderr.
    pub report: Report,
}

impl Failure {
    /// `error` ends the command with `exit`.
    pub fn new(exit: Exit, error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self { exit, report: Report::new(error) }
    }

    /// For `map_err`.
    pub fn with<E: Diagnostic + Send + Sync + 'static>(exit: Exit) -> impl FnOnce(E) -> Self {
        move |error| Self::new(exit, error)
    }

    /// A plain message with its mend.
    pub fn message(exit: Exit, message: String, help: &str) -> Self {
        Self { exit, report: miette::miette!(help = help.to_owned(), "{message}") }
    }

    /// Says it on stderr, and gives what loadgen exits with.
    pub fn print(&self) -> Exit {
        output::say_error(&self.report);
        self.exit
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Target };
        Self::new(exit, error)
    }
}

/// Runs the command that the command line names and tells how it went.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let result = match cli.command {
        None => run::run(cli.run),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::Capacity(args)) => capacity::run(args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Ctl(args)) => ctl::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::List) => list::run(),
        Some(Command::Init(args)) => init::run(&args),
        Some(Command::Schema) => schema::run(),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Lab(command)) => lab::run(command),
        Some(Command::Manager(args)) => manager::run(args),
        Some(Command::Worker(args)) => worker::run(&args),
        Some(Command::Guard(args)) => return guard::run(args),
    };
    result.unwrap_or_else(|failure| failure.print()).into()
}
