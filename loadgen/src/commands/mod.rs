//! Runs the subcommands. Each has a file or a folder of its name; `options` turns what they share of the
//! command line into a job, and `measure` carries the job out.

mod capacity;
mod check;
mod compare;
mod completions;
mod ctl;
mod experiment;
mod guard;
mod host_report;
mod hosts;
mod init;
mod k8s;
mod lab;
mod launcher;
mod list;
mod man;
mod manager;
mod measure;
mod options;
mod pod;
mod report;
mod run;
mod schema;
mod site;
mod worker;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::process::say_failure;

/// Runs the command that the command line names, and returns the exit code.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let result = match cli.command {
        None => run::run(&cli.run),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Capacity(args)) => capacity::run(args),
        Some(Command::Experiment(args)) => experiment::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Ctl(args)) => ctl::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Site(args)) => site::run(&args),
        Some(Command::List) => list::run(),
        Some(Command::Init(args)) => init::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
        Some(Command::Lab(command)) => lab::run(command),
        Some(Command::Manager(args)) => manager::run(args),
        Some(Command::Worker(args)) => worker::run(&args),
        Some(Command::Hosts(command)) => hosts::run(&command),
        Some(Command::K8s(command)) => k8s::run(&command),
        Some(Command::Pod(args)) => pod::run(args),
        Some(Command::Observe(args)) => pod::observe(&args),
        Some(Command::AwaitBackends(args)) => pod::await_backends(&args),
        Some(Command::HandOver) => pod::hand_over(),
        Some(Command::HostReport(args)) => host_report::run(&args),
        Some(Command::Guard(args)) => return guard::run(args),
        Some(Command::Launcher(args)) => return launcher::run(args),
    };
    result.unwrap_or_else(|failure| say_failure(&failure)).into()
}
