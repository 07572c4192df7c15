//! Provisional: guard and lab only.
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match loadgen::cli::Cli::parse().command {
        loadgen::cli::Command::Guard(args) => loadgen::commands::guard::run(args),
        loadgen::cli::Command::Lab(args) => match tokio::runtime::Runtime::new().map(|r| {
            let done = r.block_on(loadgen::commands::lab::run(args));
            r.shutdown_background();
            done
        }) {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Ok(Err(error)) => {
                let code = if error.is_usage() { 2 } else { 4 };
                eprintln!("{:?}", miette::Report::new(error));
                ExitCode::from(code)
            }
            Err(_) => ExitCode::FAILURE,
        },
    }
}
