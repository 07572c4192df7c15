//! The binary `loadgen`: parse, call, exit code.

use std::process::ExitCode;

use clap::Parser;
use loadgen::cli::Cli;
use loadgen::commands;

fn main() -> ExitCode {
    commands::run(Cli::parse())
}
