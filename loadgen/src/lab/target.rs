//! Starts a target, from its command line or in its container, and waits until it answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::LabError;
use super::manifest::TargetSpec;
use super::podman::Project;
use super::python::Python;
use super::ready::{Probe, Starting};
use super::runner::{Runner, Runtime, place};
use super::service::{Service, ServiceSpec};
use super::tools::on_path;
use super::{Lab, postgres};
use crate::scenario::{Backend, Limits};

/// Maximum time from the start of a target until the target answers a health check.
const LIMIT: Duration = Duration::from_secs(30);

/// Time from the request to end until a target is killed: one second for in-flight requests, as
/// configured for each target, and one second to spare. Killing is necessary because Sanic's
/// manager never ends if the signal to end arrives at the moment in which the manager becomes
/// ready.
const GRACE: Duration = Duration::from_secs(2);

/// Returns the number of connections that each worker process of a target may open to each backend:
/// 10, or fewer if all worker processes together would open more than PostgreSQL accepts, but at
/// least 1.
fn pool_size(server_workers: u32) -> u32 {
    const EACH: u32 = 10;
    // The remaining connections serve readiness probes, and the filling and counting of tables.
    const ALL: u32 = postgres::CONNECTIONS - 20;
    (ALL / server_workers.max(1)).clamp(1, EACH)
}

/// A server under test that is up.
#[derive(Debug)]
pub struct Target {
    /// Name of the target in the manifest.
    pub name: String,
    /// Base URL of the target, without a slash at the end.
    pub url: String,
    service: Service,
    /// Targets that this target sends requests to.
    upstreams: Vec<Target>,
}

impl Target {
    /// Service that runs the target; gives access to the target's log and resource usage.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Targets that this target sends requests to.
    pub fn upstreams(&self) -> &[Self] {
        &self.upstreams
    }

    /// Returns an error that shows the log, if the target or an upstream has ended by itself.
    pub fn lost(&mut self) -> Option<LabError> {
        let upstreams = || self.upstreams.iter_mut().find_map(Self::lost);
        self.service.lost().or_else(upstreams)
    }

    /// Ends the target and then its upstreams, and returns when no process of them is left.
    pub async fn stop(self) -> Result<(), LabError> {
        let mut stopped = self.service.stop().await;
        for upstream in self.upstreams {
            stopped = stopped.and(upstream.service.stop().await);
        }
        stopped
    }
}

type Spec = Box<dyn Fn(u16) -> ServiceSpec + Send + Sync>;

/// A target whose process has been started. [`StartingTarget::ready`]
/// waits until the target answers.
pub struct StartingTarget {
    name: String,
    project: Option<Arc<Project>>,
    starting: Starting<Spec>,
    upstreams: Vec<Target>,
}

impl StartingTarget {
    /// Waits until the target and its backends answer.
    pub async fn ready(self) -> Result<Target, LabError> {
        let (port, service) = self.starting.ready().await?;
        let service = place(self.project.as_ref(), service).await?;
        let url = format!("http://127.0.0.1:{port}");
        Ok(Target { name: self.name, url, service, upstreams: self.upstreams })
    }
}

impl Lab {
    /// Starts a target with this number of worker processes on a free port, and waits until the
    /// target and its backends answer. `log` names the file for the target's output.
    pub async fn start_target(
        &self,
        name: &str,
        log: &str,
        workers: u32,
    ) -> Result<Target, LabError> {
        (self.progress)(&format!("starting {name}"));
        self.launch_target(name, log, None, workers).await?.ready().await
    }

    /// Starts the upstreams of a target, and waits until they answer. Then starts the target's
    /// processes, on this port or a free one, without waiting until the target answers. Each
    /// upstream has as many worker processes as the target.
    pub async fn launch_target(
        &self,
        name: &str,
        log: &str,
        port: Option<u16>,
        workers: u32,
    ) -> Result<StartingTarget, LabError> {
        let mut target = self.manifest.target(name)?.clone();
        let mut upstreams = Vec::new();
        for (variable, upstream) in &target.entry.upstreams {
            let log = log.replace(".log", &format!("-{upstream}.log"));
            let started =
                self.launch_alone(self.manifest.target(upstream)?, &log, None, workers)?;
            upstreams.push((variable.clone(), started.ready().await?));
        }
        for (variable, upstream) in &upstreams {
            target.entry.env.insert(variable.clone(), upstream.url.clone());
        }
        let started = self.launch_alone(&target, log, port, workers)?;
        let upstreams = upstreams.into_iter().map(|(_, upstream)| upstream).collect();
        Ok(StartingTarget { upstreams, ..started })
    }

    /// Starts a target's processes, on this port or a free one, without its upstreams.
    fn launch_alone(
        &self,
        target: &TargetSpec,
        log: &str,
        port: Option<u16>,
        workers: u32,
    ) -> Result<StartingTarget, LabError> {
        let spec = match &self.runner {
            Runner::Process(python) => self.process(python, target.clone(), log, workers)?,
            Runner::Podman { podman, .. } => {
                self.container(Arc::clone(podman.project()), target, log, workers)
            }
        };
        let project = self.runner.project().cloned();
        let starting = Starting::on(port, spec, Probe::Health(self.health.clone()), LIMIT)?;
        let starting = starting.within(project.clone());
        Ok(StartingTarget { name: target.name.clone(), project, starting, upstreams: Vec::new() })
    }

    fn process(
        &self,
        python: &Python,
        target: TargetSpec,
        log: &str,
        workers: u32,
    ) -> Result<Spec, LabError> {
        let target = match self.built.get(&target.name) {
            Some(built) => target.built_in(&built.folder.to_string_lossy()),
            None => target,
        };
        let program = program(python, &target)?;
        let folder = target.needs_folder().then(|| own_folder(&target.name)).transpose()?;
        let target = match &folder {
            Some(folder) => target.running_in(&folder.to_string_lossy()),
            None => target,
        };
        let (root, log) = (self.home.root().to_owned(), self.options.logs.join(log));
        let env = self.process_env(python, workers);
        let cpus = self.options.cpus.target.clone();
        Ok(Box::new(move |port| {
            let (mut argv, own) = target.filled("127.0.0.1", port, workers, pool_size(workers));
            argv[0] = program.to_string_lossy().into_owned();
            let mut spec = ServiceSpec::new(&target.name, argv, Path::new(&root), log.clone());
            spec.env = env.iter().cloned().chain(own).collect();
            spec.options.cpus.clone_from(&cpus);
            spec.options.grace = GRACE;
            spec.options.remove.clone_from(&folder);
            spec
        }))
    }

    /// Returns the variables that all targets have.
    fn process_env(&self, python: &Python, workers: u32) -> Vec<(String, String)> {
        let backends = self.backends().into_iter().map(|(backend, url)| match backend {
            Backend::Redis => ("REDIS_URL".to_owned(), url),
            Backend::Postgres => ("DATABASE_URL".to_owned(), url),
        });
        let always = [("PATH", python.path()), ("POOL_SIZE", pool_size(workers).to_string())];
        always.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(backends).collect()
    }

    /// Builds a function that returns the specification of a target in a container, for a port. The
    /// image contains the target's command and environment variables. Containers reach backends by
    /// name.
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

    /// CPU and memory limits of a target's container. A limit from the command line takes
    /// precedence over the manifest's limit.
    pub fn target_limits(&self, target: &TargetSpec) -> Limits {
        match self.options.runtime {
            Runtime::Process => Limits::default(),
            Runtime::Podman { targets, .. } => targets.or(target.entry.limits()),
        }
    }
}

/// Creates an empty folder for a target that runs. The service that gets the folder removes it.
fn own_folder(name: &str) -> Result<PathBuf, LabError> {
    let folder = tempfile::Builder::new().prefix(&format!("loadgen-{name}-")).tempdir();
    Ok(folder.map_err(LabError::io(format!("create a folder for {name}")))?.keep())
}

/// Returns the path of the program that starts the target: a path, a required program on the PATH,
/// or a program of the Python environment.
fn program(python: &Python, target: &TargetSpec) -> Result<PathBuf, LabError> {
    let word = &target.entry.command[0];
    let required = target.entry.requires.iter().any(|required| required.tool == *word);
    if let Some(program) = required.then(|| on_path(word)).flatten() {
        return Ok(program);
    }
    // Joining an absolute path gives that path.
    let program = python.bin().join(word);
    if program.is_file() {
        return Ok(program);
    }
    let (what, help) = match target.entry.build {
        None => ("is not in the Python environment", python.fix()),
        Some(_) => ("is missing after the build", "check `build` in targets/targets.toml"),
    };
    let what = format!("the command {word} {what}");
    Err(LabError::Missing { service: target.name.clone(), what, help: help.to_owned() })
}

/// Name of the variable in compose.yaml that sets the port of a target on this machine.
fn port_variable(name: &str) -> String {
    format!("{}_PORT", name.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Home, Manifest};

    #[test]
    fn the_pools_of_all_workers_fit_the_connection_limit() {
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
        let manifest = Manifest::load(&home.manifest()).unwrap();
        // Targets with a build or with upstreams run only as processes.
        let alone = |it: &&TargetSpec| it.entry.build.is_none() && it.entry.upstreams.is_empty();
        for TargetSpec { name, .. } in manifest.targets().iter().filter(alone) {
            let words = [format!("\n  {name}:\n"), format!("command: [{name}, --host=0.0.0.0")];
            let port = format!("127.0.0.1:${{{}:-", port_variable(name));
            assert!(words.iter().chain([&port]).all(|word| yaml.contains(word)), "{name}");
        }
    }
}
