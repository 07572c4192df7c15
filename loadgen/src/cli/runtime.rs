//! Options for the runtime of targets and backends, and for their limits there: data only.

use clap::{Args, ValueEnum};

use crate::scenario::{Cpus, Memory};

/// Runtime of targets and backends, and their limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct RuntimeArgs {
    /// Runtime of targets and backends [default: process].
    #[arg(long, value_enum)]
    pub runtime: Option<RuntimeName>,
    /// Number of CPUs that each target may use in its container or pod, such as 0.5, from 0.01 to 1024.
    /// Requires `--runtime podman` or `loadgen k8s` [default: the limit of the experiment's arm, or in targets.toml,
    /// or no limit].
    #[arg(long, value_name = "N")]
    pub cpus: Option<Cpus>,
    /// Memory that each target may use in its container or pod, at least 6m: in bytes, or with a unit of
    /// 1,024, such as 256m or 1g. Requires `--runtime podman` or `loadgen k8s` [default: as of --cpus].
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Memory>,
    /// Number of CPUs that each backend may use in its container or pod, from 0.01 to 1024. Requires
    /// `--runtime podman` or `loadgen k8s` [default: the limit of the experiment, or no limit].
    #[arg(long, value_name = "N")]
    pub backend_cpus: Option<Cpus>,
    /// Memory that each backend may use in its container or pod, at least 6m. Requires `--runtime podman` or `loadgen k8s`
    /// [default: the limit of the experiment, or no limit].
    #[arg(long, value_name = "SIZE")]
    pub backend_memory: Option<Memory>,
}

/// Name of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeName {
    /// Processes of this machine.
    Process,
    /// Containers, created by podman-compose.
    Podman,
    /// Pods of a cluster: only for `loadgen k8s`.
    Kubernetes,
}
