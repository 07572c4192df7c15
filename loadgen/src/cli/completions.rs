//! The command line of `loadgen completions`.

use clap::{Args, ValueEnum};

/// The options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell that completes.
    #[arg(value_enum)]
    pub shell: ShellName,
}

/// The shells that there are completions for.
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
Where they go:
  bash  loadgen completions bash >~/.local/share/bash-completion/completions/loadgen
  zsh   loadgen completions zsh >DIR/_loadgen         DIR is one of $fpath
  fish  loadgen completions fish >~/.config/fish/completions/loadgen.fish";
