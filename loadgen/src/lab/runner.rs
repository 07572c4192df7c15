//! Provides programs and their packages, from the locked Python environment or from containers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::error::LabError;
use super::home::Home;
use super::install::python::Python;
use super::manifest::Manifest;
use super::podman::{Podman, Project};
use super::service::Service;
use super::service::password::random_password;
use super::{Options, Progress};
use crate::scenario::Limits;

/// Runtime of targets and backends: processes or containers.
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
}

impl Runtime {
    /// Returns the limits of a target's container: those of the command line, or else the limits
    /// `own` of the target's size, or else those of the `manifest`.
    pub fn target_limits(self, own: Limits, manifest: Limits) -> Limits {
        match self {
            Self::Process => Limits::default(),
            Self::Podman { targets, .. } => targets.or(own).or(manifest),
        }
    }

    /// Returns the runtime with these limits of each backend, unless the command line has others.
    #[must_use]
    pub fn with_backend_limits(self, limits: Limits) -> Self {
        match self {
            Self::Process => Self::Process,
            Self::Podman { targets, backends } => {
                Self::Podman { targets, backends: backends.or(limits) }
            }
        }
    }

    /// Checks that this machine can run the target of this name and its upstreams: as processes,
    /// they require programs; as containers, their images have these programs.
    ///
    /// # Errors
    /// The first requirement that is not met, as a sentence for people.
    pub fn check_requirements(self, manifest: &Manifest, name: &str) -> Result<(), String> {
        let contained = matches!(self, Self::Podman { .. });
        let target = manifest.target(name).map_err(|error| error.to_string())?;
        manifest.runs(target, contained)?;
        if contained { Ok(()) } else { manifest.requirements_of(name) }
    }
}

/// A runtime that is ready to run services.
#[derive(Debug)]
pub(super) enum Runner {
    /// Runs programs from this environment.
    Process(Python),
    /// Runs the containers of a podman-compose project.
    Podman {
        podman: Box<Podman>,
        /// Password of the backends.
        password: String,
    },
}

impl Runner {
    /// Prepares the Python environment, or the podman-compose project. Starts no target and no
    /// backend.
    pub(super) async fn prepare(
        home: &Home,
        options: &Options,
        progress: &Progress,
    ) -> Result<Self, LabError> {
        let Runtime::Podman { backends, .. } = options.runtime else {
            return Ok(Self::Process(Python::prepare(home, &**progress).await?));
        };
        if home.is_embedded() {
            return Err(LabError::Podman {
                what: "containers of the lab's targets need a checkout of loadgen".to_owned(),
                output: Vec::new(),
                help: "run loadgen in a checkout, or name the checkout: LOADGEN_HOME=FOLDER"
                    .to_owned(),
            });
        }
        let password = random_password().map_err(LabError::io("generate a password"))?;
        let podman = Podman::prepare(home, options, backends, &password, &**progress).await?;
        Ok(Self::Podman { podman: Box::new(podman), password })
    }

    /// Folder of the user's own project; `None` for the lab's project.
    pub(super) fn own_root(&self) -> Option<&Path> {
        match self {
            Self::Process(python) => python.is_for_own().then(|| python.root()),
            Self::Podman { podman, .. } => podman.own_root(),
        }
    }

    /// podman-compose project of the containers; `None` for processes.
    pub(super) fn project(&self) -> Option<&Arc<Project>> {
        match self {
            Self::Process(_) => None,
            Self::Podman { podman, .. } => Some(podman.project()),
        }
    }

    /// Looks up the container of a service that is up, and adds the container to the service.
    /// Without containers, returns the service unchanged.
    pub(super) async fn placed(&self, service: Service) -> Result<Service, LabError> {
        place(self.project(), service).await
    }

    /// Returns the version of Python, `None` if unknown, and the versions of these Python packages.
    pub(super) fn versions(
        &self,
        packages: &[String],
    ) -> (Option<String>, BTreeMap<String, String>) {
        match self {
            Self::Process(python) => (python.version(), python.versions(packages)),
            Self::Podman { podman, .. } => {
                let Some(found) = podman.project().packages() else { return Default::default() };
                (Some(found.python.clone()), found.versions(packages))
            }
        }
    }
}

/// Looks up a service's container in `project`, and adds the container to the service. Without a
/// project, returns the service unchanged.
pub(super) async fn place(
    project: Option<&Arc<Project>>,
    service: Service,
) -> Result<Service, LabError> {
    let Some(project) = project else { return Ok(service) };
    let container = project.container(service.name()).await?;
    Ok(service.within(Some(container)))
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
