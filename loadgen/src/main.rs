//! The hidden worker alone, for the tests of the cluster.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use loadgen::commands::worker;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Worker(args) = Cli::parse().command;
    match worker::run(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{:?}", miette::Report::new(error));
            ExitCode::FAILURE
        }
    }
}
