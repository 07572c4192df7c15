//! Runs the binary `loadgen`: parses the command line, runs the command, returns the exit code.

use std::process::ExitCode;

use clap::Parser;
use loadgen::cli::Cli;
use loadgen::commands;

fn main() -> ExitCode {
    commands::run(Cli::parse())
}
