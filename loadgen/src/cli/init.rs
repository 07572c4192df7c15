//! The command line of `loadgen init`.

use std::path::PathBuf;

use clap::Args;

/// Options of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// File to write. A name without an extension gets `.toml`.
    #[arg(default_value = "scenario.toml")]
    pub path: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}
