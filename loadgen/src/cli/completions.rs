//! The command line of `loadgen completions`.

use clap::{Args, ValueEnum};

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// Shell to print the script for.
    #[arg(value_enum)]
    pub shell: ShellName,
}

/// Shells with a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    /// GNU Bash.
    Bash,
    /// The Z shell.
    Zsh,
    /// The friendly interactive shell.
    Fish,
}

const COMPLETIONS_EXAMPLES: &str = "\
Installation:
  loadgen completions bash >~/.local/share/bash-completion/completions/loadgen
  loadgen completions zsh >DIR/_loadgen         DIR is a folder of $fpath
  loadgen completions fish >~/.config/fish/completions/loadgen.fish";
