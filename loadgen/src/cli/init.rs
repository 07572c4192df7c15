//! The command line of `loadgen init`.

use std::path::PathBuf;

use clap::Args;

/// Options of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// File to write. A name without an extension gets `.toml`; another extension is refused.
    #[arg(default_value = "scenario.toml")]
    pub path: PathBuf,
    /// Write loadgen.toml instead, which names servers of your own that loadgen starts. The servers are
    /// those whose start the files of this folder state, or whose code they contain. Each is started
    /// once, on this machine, and is sent GET /.
    #[arg(long, conflicts_with = "path")]
    pub targets: bool,
    /// Start no server: every server in loadgen.toml is a guess.
    #[arg(long, requires = "targets", conflicts_with = "path")]
    pub no_try: bool,
    /// Overwrite an existing file. The schema is always overwritten.
    #[arg(long)]
    pub force: bool,
}
