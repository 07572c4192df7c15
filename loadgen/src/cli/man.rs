//! The command line of `loadgen man`.

use std::path::PathBuf;

use clap::Args;

/// Options of `man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// Folder for the pages; created if it is missing. Pages that are there are overwritten.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

const MAN_EXAMPLES: &str = "\
Installation:
  loadgen man ~/.local/share/man/man1
  man loadgen-capacity";
