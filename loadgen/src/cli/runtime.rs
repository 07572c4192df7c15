//! What targets and backends run in, and what they may have there: data only.

use clap::{Args, ValueEnum};

use crate::scenario::{Cpus, Memory};

/// What the lab runs targets and backends in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RuntimeArgs {
    /// What targets and backends run in: processes of this machine, or a container each, with
    /// podman-compose [default: process].
    #[arg(long, value_enum)]
    pub runtime: Option<RuntimeName>,
    /// The CPU time that each target may have in its container, such as 0.5 or 2 [default: that of
    /// targets.toml, or no limit].
    #[arg(long, value_name = "N")]
    pub cpus: Option<Cpus>,
    /// The memory that each target may have in its container, such as 256m or 1g [default: that of
    /// targets.toml, or no limit].
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,
    /// The CPU time that each backend may have in its container.
    #[arg(long, value_name = "N")]
    pub backend_cpus: Option<Cpus>,
    /// The memory that each backend may have in its container.
    #[arg(long, value_name = "SIZE")]
    pub backend_memory: Option<Memory>,
}

/// A runtime by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeName {
    /// Processes of this machine.
    Process,
    /// Containers.
    Podman,
}
