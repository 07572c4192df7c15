//! `loadgen completions`: prints the script with which a shell completes loadgen's command line.

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, CompletionsArgs, ShellName};
use crate::failure::{Exit, Failure};
use crate::process::print;

/// Prints the completion script for a shell.
pub(super) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    // Writes into memory first: `generate` panics if its reader is gone.
    let mut script = Vec::new();
    generate(shell, &mut offered(), "loadgen", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Returns the definition of the command line without hidden commands, because `generate` would offer
/// these commands, too, and without the URLs of a run: with them, zsh would complete no subcommand.
fn offered() -> Command {
    let all = Cli::command();
    let options = all.get_arguments().filter(|argument| !argument.is_positional()).cloned();
    // Options refer to the URLs.
    let options = options.map(|option| {
        option.requires(Resettable::Reset).required_unless_present(Resettable::Reset)
    });
    Command::new("loadgen")
        .version(env!("CARGO_PKG_VERSION"))
        .args(options)
        .subcommands(all.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}
