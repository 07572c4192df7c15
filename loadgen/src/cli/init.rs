//! The command line of `loadgen init`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::scenario::parse_duration;

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
    /// Write a step for each operation of an API, from its OpenAPI document: the URL of the document or of
    /// the server, or a file.
    #[arg(long, value_name = "URL|FILE", conflicts_with = "targets")]
    pub openapi: Option<String>,
    /// Send the operations that may change data, too, instead of leaving them as comments.
    #[arg(long, requires = "openapi", conflicts_with_all = ["targets", "har", "curl", "access_log"])]
    pub with_writes: bool,
    /// Write the journey that a browser has recorded (HAR). Given twice, with recordings of the same journey,
    /// what differs between them is taken from the responses, such as tokens and IDs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "openapi"])]
    pub har: Vec<PathBuf>,
    /// Send the images, scripts, styles and other static files of the recorded pages, too.
    #[arg(long, requires = "har", conflicts_with_all = ["targets", "openapi", "curl", "access_log"])]
    pub with_static: bool,
    /// Write the request of a `curl` command, as browsers and API clients copy it, or of several; `-` reads standard
    /// input.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["targets", "openapi", "har"])]
    pub curl: Option<String>,
    /// Write the requests of a server's access log, in their proportions and at their rates; `-` reads standard
    /// input. The first lines show the format.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "openapi", "har", "curl"])]
    pub access_log: Option<PathBuf>,
    /// Rate of the load, in rates of the access log.
    #[arg(long, value_name = "FACTOR", requires = "access_log", default_value_t = 1.0, conflicts_with_all = ["targets", "openapi", "har", "curl"])]
    pub speed: f64,
    /// Time in which the load runs through the whole access log: without it, the time of the log, but at most
    /// ten minutes.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, requires = "access_log", conflicts_with_all = ["targets", "openapi", "har", "curl"])]
    pub duration: Option<Duration>,
    /// Overwrite an existing file. The schema is always overwritten.
    #[arg(long)]
    pub force: bool,
}
