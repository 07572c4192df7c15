//! Makes targets, and the balancer of replicas, ready to start.

use std::path::Path;

use super::Lab;
use super::balancer;
use super::error::LabError;
use super::install::build;
use super::install::variables;
use super::manifest::{Fill, TargetSpec};
use super::runner::Runner;
use super::service::logs::{MESSAGE_LINES, file_name};
use super::service::programs::user_variables;
use super::service::{Service, ServiceSpec};
use crate::measure::BALANCER;
use crate::scenario::Backend;

/// Hint on a failed build at a ref.
const AT_REF: &str = "; the build of a ref does not see your Python environment: if it needs one, let \
                      it make .venv in its folder";

impl Lab {
    /// Makes these targets and their upstreams ready to start. Processes: checks the required
    /// programs, and builds the targets that need a build and were not built before. Containers:
    /// builds the images that are missing.
    pub async fn build(&mut self, targets: &[String]) -> Result<(), LabError> {
        let mut all = Vec::new();
        for name in targets {
            for target in self.manifest.with_upstreams(name)? {
                if !all.contains(target) {
                    all.push(target.clone());
                }
            }
        }
        if all.iter().any(|target| target.entry.prepare.is_some()) {
            self.refs.note_build();
        }
        for target in &all {
            let contained = self.runner.project().is_some();
            self.manifest.runs(target, contained).map_err(|what| LabError::Missing {
                service: target.name.clone(),
                what,
                help: "change its table in loadgen.toml, or the option --runtime".to_owned(),
            })?;
            if let (true, Some(command)) = (contained, &target.entry.prepare) {
                self.prepare_program(&target.name, command).await?;
            }
            match &self.runner {
                Runner::Process(_) => self.build_program(target).await?,
                Runner::Podman { podman, .. } => {
                    let image = podman.target(&self.home, target, &*self.progress).await?;
                    self.images.extend([image]);
                }
            }
        }
        // After all builds, because each may install something.
        self.settle_refs(&all)
    }

    /// Runs the command that prepares a user's own target, in the project's folder, or in the folder
    /// of the target's ref.
    async fn prepare_program(&self, name: &str, command: &[String]) -> Result<(), LabError> {
        (self.progress)(&format!("building {name}"));
        let log = self.options.logs.join(format!("{}-build.log", file_name(name)));
        let (folder, env, hint) = match self.refs.home(name) {
            Some(home) => (home.root(), variables::of_build(home), AT_REF),
            None => (self.home.root(), self.user_env(), ""),
        };
        let done = self.carry_out(name, command, folder, env, &log).await?;
        let target = name.to_owned();
        done.map_err(|output| LabError::Build { target, output, log, hint })
    }

    /// Runs the user's command that fills a backend at this URL.
    pub(super) async fn fill_by(
        &self,
        backend: Backend,
        fill: &Fill,
        url: &str,
    ) -> Result<(), LabError> {
        (self.progress)(&format!("filling {backend}"));
        let log = self.options.logs.join(format!("{backend}-fill.log"));
        let variable = match backend {
            Backend::Redis => "REDIS_URL",
            Backend::Postgres => "DATABASE_URL",
        };
        let own = fill
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.replace(&format!("{{{backend}}}"), url)));
        let all = [(variable.to_owned(), url.to_owned())].into_iter().chain(own);
        let env = self.user_env().into_iter().chain(all).collect();
        let (name, root) = (format!("{backend}-fill"), self.home.root());
        let done = self.carry_out(&name, &fill.command, root, env, &log).await?;
        done.map_err(|output| LabError::Fill { backend, output, log })
    }

    /// Returns the user's own environment, in which their commands run as without loadgen.
    fn user_env(&self) -> Vec<(String, String)> {
        match &self.runner {
            Runner::Process(python) => python.variables(),
            Runner::Podman { .. } => user_variables().collect(),
        }
    }

    /// Runs a user's command to its end, in this folder. Returns the last lines of its output if it
    /// fails.
    async fn carry_out(
        &self,
        name: &str,
        command: &[String],
        folder: &Path,
        env: Vec<(String, String)>,
        log: &Path,
    ) -> Result<Result<(), Vec<String>>, LabError> {
        let mut spec = ServiceSpec::new(name, command, folder, log.to_owned());
        spec.env = env;
        Service::carry_out(&spec, MESSAGE_LINES).await
    }

    /// Makes the balancer of replicas ready to start. Processes: checks that HAProxy is installed.
    /// Containers: builds the image if it is missing.
    pub async fn prepare_balancer(&mut self) -> Result<(), LabError> {
        match &self.runner {
            Runner::Process(_) => {
                balancer::program()?;
                self.balancer_version = balancer::version().await;
                Ok(())
            }
            Runner::Podman { podman, .. } => {
                let image = podman.built(&self.home, BALANCER, &*self.progress).await?;
                self.images.insert(BALANCER.to_owned(), image);
                Ok(())
            }
        }
    }

    /// Version of HAProxy, the balancer of replicas; `None` before [`Lab::prepare_balancer`], if
    /// unknown, and in containers.
    pub fn balancer_version(&self) -> Option<&str> {
        self.balancer_version.as_deref()
    }

    /// Returns the largest number of connections that the balancer of replicas serves at a time.
    pub fn balancer_connections(&self) -> u64 {
        balancer::most_connections(self.runner.project().is_some())
    }

    async fn build_program(&mut self, target: &TargetSpec) -> Result<(), LabError> {
        let name = &target.name;
        let missing = |what| LabError::Missing {
            service: name.clone(),
            what,
            help: "install the program, or leave out the target".to_owned(),
        };
        let tools = target.tools().map_err(missing)?;
        if let Some(command) = &target.entry.prepare {
            return self.prepare_program(name, command).await;
        }
        let Some(build) = &target.entry.build else { return Ok(()) };
        let log = self.options.logs.join(format!("{name}-build.log"));
        let built = build::build(&self.home, name, build, tools, &log, &*self.progress).await?;
        self.built.insert(name.clone(), built);
        Ok(())
    }
}
