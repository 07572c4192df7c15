//! The command line of `loadgen init`.

use std::path::PathBuf;

use clap::Args;

/// The options of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The file to write; `.toml` is added to a plain name.
    #[arg(default_value = "scenario.toml")]
    pub path: PathBuf,
    /// Overwrite a file that is there already.
    #[arg(long)]
    pub force: bool,
}
