//! Options of a lab: where and how its services run.

use std::path::PathBuf;
use std::sync::Arc;

use super::machine::cpus::Layout;
use super::manifest::Manifest;
use crate::scenario::Limits;

/// Callback that reports each slow step, as a phrase such as "starting redis".
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of a [`Lab`](crate::lab::Lab): folder for logs, CPUs and runtime.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder for the logs of all services; created if missing.
    pub logs: PathBuf,
    /// CPUs of the target, the backends and the load generator.
    pub cpus: Layout,
    /// Runtime of targets and backends: processes or containers.
    pub runtime: Runtime,
    /// Connections that all targets that are up at the same time may open to PostgreSQL: see
    /// [`Size::connections`](crate::lab::Size::connections).
    pub connections: u32,
}

/// Runtime of targets and backends: processes, containers, or the pods of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runtime {
    /// Processes of this machine, without containers.
    #[default]
    Process,
    /// One container for each target and backend, created by podman-compose.
    Podman {
        /// Limits of each target, which take precedence over the manifest's limits.
        targets: Limits,
        /// Limits of each backend.
        backends: Limits,
    },
    /// Pods of a Kubernetes cluster, in which the load is generated, too: the lab of this machine runs none of them.
    Kubernetes {
        /// Limits of each pod of a target, which take precedence over the manifest's limits.
        targets: Limits,
        /// Limits of the pod of each backend.
        backends: Limits,
    },
}

impl Runtime {
    /// Returns the limits of a target's container: those of the command line, or else the limits
    /// `own` of the target's size, or else those of the `manifest`.
    pub fn target_limits(self, own: Limits, manifest: Limits) -> Limits {
        match self {
            Self::Process => Limits::default(),
            Self::Podman { targets, .. } | Self::Kubernetes { targets, .. } => {
                targets.or(own).or(manifest)
            }
        }
    }

    /// Returns the limits of each backend's container.
    pub fn backend_limits(self) -> Limits {
        match self {
            Self::Process => Limits::default(),
            Self::Podman { backends, .. } | Self::Kubernetes { backends, .. } => backends,
        }
    }

    /// Returns the runtime with these limits of each backend, unless the command line has others.
    #[must_use]
    pub fn with_backend_limits(self, limits: Limits) -> Self {
        match self {
            Self::Process => self,
            Self::Podman { targets, backends } => {
                Self::Podman { targets, backends: backends.or(limits) }
            }
            Self::Kubernetes { targets, backends } => {
                Self::Kubernetes { targets, backends: backends.or(limits) }
            }
        }
    }

    /// Checks that this machine can run the target of this name and its upstreams: as processes,
    /// they require programs; as containers, their images have these programs.
    ///
    /// # Errors
    /// The first requirement that is not met, as a sentence for people.
    pub fn check_requirements(self, manifest: &Manifest, name: &str) -> Result<(), String> {
        let contained = self != Self::Process;
        let target = manifest.target(name).map_err(|error| error.to_string())?;
        manifest.runs(target, contained)?;
        if contained { Ok(()) } else { manifest.requirements_of(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_limits_first_then_the_arm_then_the_manifest() {
        let limits = |cpus: &str, memory: &str| Limits {
            cpus: cpus.parse().ok(),
            memory: memory.parse().ok(),
        };
        let (own, manifest) = (limits("2", "1g"), limits("3", "3g"));
        let runtime = Runtime::Podman { targets: limits("1", ""), backends: limits("", "2g") };
        assert_eq!(runtime.target_limits(own, manifest), limits("1", "1g"));
        assert_eq!(runtime.target_limits(Limits::default(), manifest), limits("1", "3g"));
        assert_eq!(Runtime::Process.target_limits(own, manifest), Limits::default());
        let Runtime::Podman { backends, .. } = runtime.with_backend_limits(own) else { panic!() };
        assert_eq!(backends, limits("2", "2g"));
        assert_eq!(Runtime::Process.with_backend_limits(own), Runtime::Process);
    }
}
