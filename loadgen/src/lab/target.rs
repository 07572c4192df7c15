//! A target: its command line or its container, and the wait until it answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::error::LabError;
use super::manifest::TargetSpec;
use super::podman::Project;
use super::python::Python;
use super::ready::{Probe, Starting};
use super::runner::{Runner, Runtime, place};
use super::service::{Service, ServiceSpec};
use super::{Lab, postgres};
use crate::scenario::{Backend, Limits};

/// From the start of a target to its first good answer.
const LIMIT: Duration = Duration::from_secs(30);

/// How long a target may take to end. Each is told to give open requests one second; Sanic's
/// manager never ends when it is asked to in the moment in which it becomes ready.
const GRACE: Duration = Duration::from_secs(2);

/// Connections to each backend, for each worker process of a target: so many, and fewer where all of
/// them together would be more than PostgreSQL lets in.
fn pool_size(server_workers: u32) -> u32 {
    const EACH: u32 = 10;
    // The rest is for who looks whether it is up, and fills and counts its tables.
    const ALL: u32 = postgres::CONNECTIONS - 20;
    (ALL / server_workers.max(1)).clamp(1, EACH)
}

/// A target that is up.
#[derive(Debug)]
pub struct Target {
    /// Its name in the manifest.
    pub name: String,
    /// Where it serves, without a slash at the end.
    pub url: String,
    service: Service,
}

impl Target {
    /// The service, for its log and its resources.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// An error that shows its log, if it has ended by itself.
    pub fn lost(&mut self) -> Option<LabError> {
        self.service.lost()
    }

    /// Ends it, and returns when nothing of it is left.
    pub async fn stop(self) -> Result<(), LabError> {
        self.service.stop().await
    }
}

type Spec = Box<dyn Fn(u16) -> ServiceSpec + Send + Sync>;

/// A target whose process has been started; [`StartingTarget::ready`] waits for its answer.
pub struct StartingTarget {
    name: String,
    project: Option<Arc<Project>>,
    starting: Starting<Spec>,
}

impl StartingTarget {
    /// Waits until the target and its backends answer.
    pub async fn ready(self) -> Result<Target, LabError> {
        let (port, service) = self.starting.ready().await?;
        let service = place(self.project.as_ref(), service).await?;
        Ok(Target { name: self.name, url: format!("http://127.0.0.1:{port}"), service })
    }
}

impl Lab {
    /// Starts a target with so many worker processes on a free port, and waits until it and its
    /// backends answer. `log` names the file for its output.
    pub async fn start_target(
        &self,
        name: &str,
        log: &str,
        workers: u32,
    ) -> Result<Target, LabError> {
        (self.progress)(&format!("starting {name}"));
        self.launch_target(name, log, None, workers)?.ready().await
    }

    /// Starts a target's processes, on this port or a free one, without waiting for its answer.
    pub fn launch_target(
        &self,
        name: &str,
        log: &str,
        port: Option<u16>,
        workers: u32,
    ) -> Result<StartingTarget, LabError> {
        let target = self.manifest.target(name)?;
        let spec = match &self.runner {
            Runner::Process(python) => self.process(python, target.clone(), log, workers)?,
            Runner::Podman { podman, .. } => {
                self.container(Arc::clone(podman.project()), target, log, workers)
            }
        };
        let project = self.runner.project().cloned();
        let starting = Starting::on(port, spec, Probe::Health(self.health.clone()), LIMIT)?;
        let starting = starting.within(project.clone());
        Ok(StartingTarget { name: name.to_owned(), project, starting })
    }

    fn process(
        &self,
        python: &Python,
        target: TargetSpec,
        log: &str,
        workers: u32,
    ) -> Result<Spec, LabError> {
        let program = python.bin().join(&target.entry.command[0]);
        if !program.is_file() {
            return Err(LabError::Missing {
                service: target.name,
                what: format!(
                    "its command, {}, is not in the Python environment",
                    target.entry.command[0]
                ),
                help: python.mend().to_owned(),
            });
        }
        let (root, log) = (self.home.root().to_owned(), self.options.logs.join(log));
        let env = self.process_env(python, &target, workers);
        let cpus = self.options.cpus.target.clone();
        Ok(Box::new(move |port| {
            let mut argv = target.argv("127.0.0.1", port, workers, pool_size(workers));
            argv[0] = program.to_string_lossy().into_owned();
            let mut spec = ServiceSpec::new(&target.name, argv, Path::new(&root), log.clone());
            spec.env.clone_from(&env);
            spec.options.cpus.clone_from(&cpus);
            spec.options.grace = GRACE;
            spec
        }))
    }

    fn process_env(
        &self,
        python: &Python,
        target: &TargetSpec,
        workers: u32,
    ) -> Vec<(String, String)> {
        let own = target.entry.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let backends = self.backends().into_iter().map(|(backend, url)| match backend {
            Backend::Redis => ("REDIS_URL".to_owned(), url),
            Backend::Postgres => ("DATABASE_URL".to_owned(), url),
        });
        let always = [("PATH", python.path()), ("POOL_SIZE", pool_size(workers).to_string())];
        always
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(backends)
            .chain(own)
            .collect()
    }

    /// Its command and its own variables are in the image. In there, backends have their names.
    fn container(
        &self,
        project: Arc<Project>,
        target: &TargetSpec,
        log: &str,
        workers: u32,
    ) -> Spec {
        let limits = self.target_limits(target);
        let (mut redis, mut postgres) = (None, None);
        for (backend, _) in self.backends() {
            match backend {
                Backend::Redis => redis = self.redis_url("redis:6379"),
                Backend::Postgres => postgres = self.postgres_url("postgres:5432"),
            }
        }
        let variables = [
            ("POOL_SIZE", pool_size(workers).to_string()),
            ("SERVER_WORKERS", workers.to_string()),
            ("REDIS_URL", redis.unwrap_or_default()),
            ("DATABASE_URL", postgres.unwrap_or_default()),
            ("TARGET_CPUS", limits.cpus.map(|cpus| cpus.to_string()).unwrap_or_default()),
            ("TARGET_MEMORY", limits.memory.map(|memory| memory.to_string()).unwrap_or_default()),
        ];
        let (name, log) = (target.name.clone(), self.options.logs.join(log));
        let port_variable = port_variable(&name);
        Box::new(move |port| {
            let port = [(port_variable.as_str(), port.to_string())];
            project.spec(&name, &[&variables[..], &port].concat(), log.clone())
        })
    }

    /// What a target may have, in a container: what was asked for, else what the manifest says.
    pub fn target_limits(&self, target: &TargetSpec) -> Limits {
        match self.options.runtime {
            Runtime::Process => Limits::default(),
            Runtime::Podman { targets, .. } => targets.or(target.entry.limits()),
        }
    }
}

/// The variable of compose.yaml for the port at which a target is found on this machine.
fn port_variable(name: &str) -> String {
    format!("{}_PORT", name.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Home, Manifest};

    #[test]
    fn all_workers_together_have_no_more_connections_than_there_are() {
        assert_eq!([1, 4, 28, 29, 256].map(pool_size), [10, 10, 10, 9, 1]);
        assert!(
            (1..=256).all(|workers| workers * pool_size(workers) <= postgres::CONNECTIONS - 20)
        );
        let yaml = std::fs::read_to_string(Home::find().unwrap().compose()).unwrap();
        assert!(yaml.contains(&format!("max_connections={}]", postgres::CONNECTIONS)));
    }

    #[test]
    fn compose_yaml_has_a_service_for_each_target() {
        let home = Home::find().unwrap();
        let yaml = std::fs::read_to_string(home.compose()).unwrap();
        for TargetSpec { name, .. } in Manifest::load(&home.manifest()).unwrap().targets() {
            let words = [format!("\n  {name}:\n"), format!("command: [{name}, --host=0.0.0.0")];
            let port = format!("127.0.0.1:${{{}:-", port_variable(name));
            assert!(words.iter().chain([&port]).all(|word| yaml.contains(word)), "{name}");
        }
    }
}
