//! The command line of `loadgen lab`: data only.

use clap::{Args, Subcommand, ValueEnum};

use super::{ListFormat, RuntimeArgs, RuntimeName};
use crate::scenario::Backend;

/// Subcommands of `lab`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Start targets and backends, and keep them up until Ctrl-C, SIGTERM or SIGHUP.
    ///
    /// If standard input is a pipe, its end stops them, too.
    Up(LabUpArgs),
    /// Build targets without starting them, and show the folder or the image of each target that
    /// needs one. A run builds its targets itself.
    Build(LabBuildArgs),
    /// Stop what `lab up` started.
    Down,
    /// Show the services that `lab up` started, and whether each service responds.
    Status,
    /// Check the requirements of `--runtime podman`, and print how to fix those that are not met.
    Doctor,
}

/// Options of `lab build`.
#[derive(Debug, Args)]
pub struct LabBuildArgs {
    /// Targets to build, with their upstreams [default: all targets that this machine can run].
    #[arg(short, long = "target", value_name = "NAME,…", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Kind of builds: programs of this machine, or container images.
    #[arg(long, value_enum, default_value_t = RuntimeName::Process)]
    pub runtime: RuntimeName,
    /// Format of the list of builds.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    pub format: ListFormat,
}

/// Options of `lab up`.
#[derive(Debug, Args)]
pub struct LabUpArgs {
    /// Targets to start [default: all targets of the project except those with `default = false`].
    #[arg(short, long = "target", value_name = "NAME,…", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Runtime of targets and backends.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Backends to start [default: all; for targets of loadgen.toml, those that the targets need].
    #[arg(short, long = "backend", value_name = "NAME,…", value_delimiter = ',')]
    pub backends: Vec<BackendName>,
    /// Number of worker processes of each target, from 1 to 256.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: u32,
    /// Port of the first target, from 1 to 65535. Each further target gets the next port [default:
    /// free ports].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Return when all services are ready, and leave them up in the background.
    #[arg(long)]
    pub detach: bool,
    /// Format of the list of URLs that is printed when all services are ready.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    pub format: ListFormat,
}

/// Name of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// Redis.
    Redis,
    /// PostgreSQL.
    Postgres,
}

impl From<BackendName> for Backend {
    fn from(name: BackendName) -> Self {
        match name {
            BackendName::Redis => Self::Redis,
            BackendName::Postgres => Self::Postgres,
        }
    }
}
