//! `loadgen completions`: what a shell needs to complete loadgen's command line.

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, CompletionsArgs, ShellName};
use crate::failure::{Exit, Failure};
use crate::process::print;

/// Prints the script for a shell.
pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    // Into memory first: the generator panics where its reader has gone.
    let mut script = Vec::new();
    generate(shell, &mut offered(), "loadgen", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// The command line without what is hidden: the generator would offer that, too.
fn offered() -> Command {
    let all = Cli::command();
    Command::new("loadgen")
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments().cloned())
        .subcommands(all.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}
