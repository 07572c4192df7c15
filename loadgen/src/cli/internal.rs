//! Options of the commands that loadgen starts itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Options of `launcher`, which the lab sets.
#[derive(Debug, Args)]
pub struct LauncherArgs {
    /// Socket on which to listen.
    #[arg(long)]
    pub socket: PathBuf,
    /// CPUs that the launcher itself may use [default: those of the server].
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// Words of the target's own profiler.
    #[arg(long, allow_hyphen_values = true)]
    pub profiler: Vec<String>,
    /// Command line of the server.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Options of `guard`, which the lab sets.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// CPUs that the service may use [default: all].
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// User ID of the service.
    #[arg(long, requires = "gid")]
    pub uid: Option<u32>,
    /// Group ID of the service.
    #[arg(long, requires = "uid")]
    pub gid: Option<u32>,
    /// Ask the service to end by SIGQUIT instead of SIGTERM.
    #[arg(long)]
    pub quit: bool,
    /// Ask only the service's first process to end.
    #[arg(long)]
    pub spare_others: bool,
    /// Seconds that the service has to end by itself, before it is killed.
    #[arg(long, default_value_t = 5.0)]
    pub grace: f64,
    /// Folder to remove after the service was made to end, or, without a service, when loadgen has
    /// ended.
    #[arg(long)]
    pub remove: Option<PathBuf>,
    /// Words of the command that ends a service that signals do not end.
    #[arg(long, allow_hyphen_values = true)]
    pub end_by: Vec<OsString>,
    /// Command line of the service; none for a guard that only removes a folder.
    #[arg(last = true, required_unless_present = "remove")]
    pub command: Vec<OsString>,
}
