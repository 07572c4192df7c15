//! Provides programs and their packages, from the locked Python environment or from containers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::error::LabError;
use super::home::Home;
use super::install::python::Python;
use super::options::{Options, Progress, Runtime};
use super::podman::{Podman, Project};
use super::service::Service;
use super::service::password::random_password;
use super::service::programs::user_variables;

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

    /// Returns the user's own environment variables, with which their commands run as without loadgen.
    pub(super) fn user_variables(&self) -> Vec<(String, String)> {
        match self {
            Self::Process(python) => python.variables(),
            Self::Podman { .. } => user_variables().collect(),
        }
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
