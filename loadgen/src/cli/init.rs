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
    /// those that the files of this folder seem to contain.
    #[arg(long, conflicts_with = "path")]
    pub targets: bool,
    /// Write a step for each operation of an API, from its OpenAPI document: the URL of the document or of
    /// the server, or a file.
    #[arg(long, value_name = "URL|FILE", conflicts_with = "targets")]
    pub openapi: Option<String>,
    /// Send the operations that may change data, too, instead of leaving them as comments.
    #[arg(long, requires = "openapi")]
    pub with_writes: bool,
    /// Overwrite an existing file. The schema is always overwritten.
    #[arg(long)]
    pub force: bool,
}
