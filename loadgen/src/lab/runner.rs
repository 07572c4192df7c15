//! What programs and their packages come from: the locked Python environment, or containers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::LabError;
use super::home::Home;
use super::password::random_password;
use super::podman::{Podman, Project};
use super::python::Python;
use super::service::Service;
use super::{Options, Progress};
use crate::scenario::Limits;

/// How targets and backends are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runtime {
    /// As processes of this machine.
    #[default]
    Process,
    /// Each in a container, by podman-compose.
    Podman {
        /// For each target, before those of the manifest.
        targets: Limits,
        /// For each backend.
        backends: Limits,
    },
}

/// A runtime that is ready to run what it is asked to.
#[derive(Debug)]
pub(super) enum Runner {
    /// From this environment.
    Process(Python),
    /// In the containers of a project.
    Podman {
        podman: Box<Podman>,
        /// PostgreSQL's.
        password: String,
    },
}

impl Runner {
    /// Brings it up to date. Starts nothing.
    pub async fn prepare(
        home: &Home,
        options: &Options,
        progress: &Progress,
    ) -> Result<Self, LabError> {
        let Runtime::Podman { backends, .. } = options.runtime else {
            return Ok(Self::Process(Python::prepare(home, &**progress).await?));
        };
        if home.is_installed() {
            return Err(LabError::Podman {
                what: "containers take a checkout of loadgen, and this one was installed by pip"
                    .to_owned(),
                output: Vec::new(),
                help: "run it in the checkout, or name that: LOADGEN_HOME=FOLDER".to_owned(),
            });
        }
        let password = random_password().map_err(LabError::io("draw a password"))?;
        let podman = Podman::prepare(home, options, backends, &password, &**progress).await?;
        Ok(Self::Podman { podman: Box::new(podman), password })
    }

    /// The project of its containers, if it has any.
    pub fn project(&self) -> Option<&Arc<Project>> {
        match self {
            Self::Process(_) => None,
            Self::Podman { podman, .. } => Some(podman.project()),
        }
    }

    /// A service that is up, with its container.
    pub async fn placed(&self, service: Service) -> Result<Service, LabError> {
        place(self.project(), service).await
    }

    /// Python's version, and those of these distributions.
    pub fn versions(&self, packages: &[String]) -> (Option<String>, BTreeMap<String, String>) {
        match self {
            Self::Process(python) => (python.version(), python.versions(packages)),
            Self::Podman { podman, .. } => {
                let found = podman.project().packages();
                (Some(found.python.clone()), found.versions(packages))
            }
        }
    }
}

/// A service that is up, with its container if it is one of this project's.
pub(super) async fn place(
    project: Option<&Arc<Project>>,
    service: Service,
) -> Result<Service, LabError> {
    let Some(project) = project else { return Ok(service) };
    let container = project.container(service.name()).await?;
    Ok(service.within(Some(container)))
}
