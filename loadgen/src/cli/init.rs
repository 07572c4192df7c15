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
    /// those that the files of this folder name or contain. Each of them is started once, on this machine,
    /// and must answer GET /.
    #[arg(long, conflicts_with = "path")]
    pub targets: bool,
    /// Do not start the servers that were found: loadgen.toml marks each of them as a guess.
    #[arg(long, requires = "targets", conflicts_with = "path")]
    pub no_try: bool,
    /// Overwrite an existing file. The schema is always overwritten.
    #[arg(long)]
    pub force: bool,
}
