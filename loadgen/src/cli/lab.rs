//! `loadgen lab`: data only.

use clap::{Args, Subcommand, ValueEnum};

use super::RuntimeArgs;
use crate::scenario::Backend;

/// What `lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Start targets and backends, and keep them up until Ctrl-C.
    Up(LabUpArgs),
    /// Stop the lab that is up.
    Down,
    /// Show what is up, and whether it answers.
    Status,
    /// Check all that `--runtime podman` needs, and say what mends what is missing.
    Doctor,
}

/// The options of `lab up`.
#[derive(Debug, Args)]
pub struct LabUpArgs {
    /// The targets to start [default: those that targets.toml does not leave out].
    #[arg(short, long = "target", value_name = "NAME,…", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// What targets and backends run in.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// The backends to start [default: all].
    #[arg(short, long = "backend", value_name = "NAME,…", value_delimiter = ',')]
    pub backends: Vec<BackendName>,
    /// Worker processes of each target.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: u32,
    /// The first target's port; the others follow it [default: free ports].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Return when all is ready, and leave the lab up in the background.
    #[arg(long)]
    pub detach: bool,
    /// What to print when all is ready.
    #[arg(short, long, value_enum, default_value_t = LabFormat::Table)]
    pub format: LabFormat,
}

/// A backend by its name.
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

/// What `lab up` writes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LabFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}
