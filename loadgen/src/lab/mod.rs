//! The lab: launches targets and backends, and watches what they use.
//!
//! Everything runs as plain processes on loopback, from one locked Python environment: the targets,
//! and real backends too, whose programs come in wheels. Each process tree has a [guard] above it,
//! so that nothing outlives loadgen, whatever ends loadgen.
//!
//! [`Lab`] is what the commands use; below it, from the ground up: [`home`] finds the project,
//! [`python`] makes the environment, [`service`] runs one program, [`ready`] waits until it answers,
//! [`redis`] and [`postgres`] are the backends, [`manifest`] knows the targets. [`cpus`] and
//! [`resources`] say where things run and what they use.

pub mod cpus;
pub mod error;
pub mod guard;
pub mod home;
pub mod lock;
pub mod machine;
pub mod manifest;
mod network;
mod null;
pub mod postgres;
mod postgres_programs;
pub mod python;
pub mod ready;
pub mod redis;
pub mod resources;
mod schedule;
pub mod service;
pub mod state;
mod uv;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::scenario::{Backend, Proof};

pub use cpus::Layout;
pub use error::LabError;
pub use home::Home;
pub use manifest::{Manifest, TargetSpec};
pub use null::NullServer;
pub use python::Python;
pub use resources::{Observed, Watched, Window};

use postgres::Postgres;
use ready::{Probe, Starting};
use redis::Redis;
use service::{MESSAGE_LINES, Service, ServiceSpec, tail_of};

/// Gets told what takes a while, as a phrase such as "starting redis".
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// From the start of a target to its first good answer.
const TARGET_LIMIT: Duration = Duration::from_secs(30);

/// How long a target may take to end. Each is told to give open requests one second; Sanic's
/// manager never ends when it is asked to in the moment in which it becomes ready.
const TARGET_GRACE: Duration = Duration::from_secs(2);

/// Connections to each backend, for each worker process of a target.
const POOL_SIZE: u32 = 10;

/// How the lab runs what it runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder for the services' logs; made where it is missing.
    pub logs: PathBuf,
    /// Who runs on which CPUs.
    pub cpus: Layout,
}

/// The launcher of targets and backends. What it started ends with it.
pub struct Lab {
    home: Home,
    options: Options,
    progress: Progress,
    python: Python,
    manifest: Manifest,
    health: Probe,
    redis: Option<Redis>,
    postgres: Option<Postgres>,
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

/// A target whose process has been started; [`StartingTarget::ready`] waits for its answer.
pub struct StartingTarget {
    name: String,
    starting: Starting<Box<dyn Fn(u16) -> ServiceSpec + Send + Sync>>,
}

impl StartingTarget {
    /// Waits until the target and its backends answer.
    pub async fn ready(self) -> Result<Target, LabError> {
        let (port, service) = self.starting.ready().await?;
        Ok(Target { name: self.name, url: format!("http://127.0.0.1:{port}"), service })
    }
}

impl Lab {
    /// Reads the manifest and brings the Python environment up to date. Starts nothing.
    pub async fn prepare(
        home: Home,
        options: Options,
        progress: Progress,
    ) -> Result<Self, LabError> {
        let manifest = Manifest::load(&home.manifest())?;
        let logs = &options.logs;
        fs::create_dir_all(logs).map_err(LabError::file("make the folder", logs))?;
        let python = Python::prepare(&home, &*progress).await?;
        let health = Probe::health()?;
        Ok(Self { home, options, progress, python, manifest, health, redis: None, postgres: None })
    }

    /// The targets there are.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The environment that targets run in, for the versions in a report.
    pub fn python(&self) -> &Python {
        &self.python
    }

    /// Starts these backends, those that do not run yet, side by side.
    pub async fn start_backends(&mut self, backends: &[Backend]) -> Result<(), LabError> {
        let (redis, postgres) = tokio::try_join!(
            self.redis_if(backends.contains(&Backend::Redis) && self.redis.is_none()),
            self.postgres_if(backends.contains(&Backend::Postgres) && self.postgres.is_none()),
        )?;
        self.redis = redis.or(self.redis.take());
        self.postgres = postgres.or(self.postgres.take());
        Ok(())
    }

    async fn redis_if(&self, wanted: bool) -> Result<Option<Redis>, LabError> {
        if !wanted {
            return Ok(None);
        }
        (self.progress)("starting redis");
        let Options { logs, cpus, .. } = &self.options;
        Redis::start(&self.python, logs, &cpus.backends).await.map(Some)
    }

    async fn postgres_if(&self, wanted: bool) -> Result<Option<Postgres>, LabError> {
        if !wanted {
            return Ok(None);
        }
        (self.progress)("starting postgres");
        let Options { logs, cpus, .. } = &self.options;
        let schema = self.home.schema();
        Postgres::start(self.python.site_packages(), &schema, logs, &cpus.backends).await.map(Some)
    }

    /// Brings the backends that run into the state that every round starts from.
    pub async fn fill(&self) -> Result<(), LabError> {
        if let Some(redis) = &self.redis {
            redis.fill().await?;
        }
        if let Some(postgres) = &self.postgres {
            postgres.fill().await?;
        }
        Ok(())
    }

    /// The whole number with which a backend answers a proof's question. It may read, not write.
    pub async fn ask(&self, proof: &Proof) -> Result<i64, LabError> {
        let Proof { backend, question, .. } = proof;
        let answer = match (backend, &self.redis, &self.postgres) {
            (Backend::Redis, Some(redis), _) => redis.ask(question).await,
            (Backend::Postgres, _, Some(postgres)) => postgres.ask(question).await,
            _ => Err("it does not run".to_owned()),
        };
        let number = answer.and_then(|answer| {
            answer.trim().parse().map_err(|_| match answer.trim() {
                "" => "nothing, or NULL".to_owned(),
                other => other.to_owned(),
            })
        });
        number.map_err(|said| LabError::Question {
            backend: *backend,
            question: question.trim().to_owned(),
            said: tail_of(&said, MESSAGE_LINES),
        })
    }

    /// The backends that run, and their URLs as targets get them.
    pub fn backends(&self) -> Vec<(Backend, String)> {
        let redis = self.redis.iter().map(|redis| (Backend::Redis, redis.url()));
        redis
            .chain(self.postgres.iter().map(|postgres| (Backend::Postgres, postgres.url())))
            .collect()
    }

    /// The versions of the backends that run, by name.
    pub async fn backend_versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        if let Some(redis) = &self.redis {
            versions.extend(redis.version().await.map(|version| ("redis".to_owned(), version)));
        }
        if let Some(postgres) = &self.postgres {
            let version = postgres.version().await;
            versions.extend(version.map(|version| ("postgres".to_owned(), version)));
        }
        versions
    }

    /// The services of the backends that run, for their resources.
    pub fn backend_services(&self) -> Vec<&Service> {
        let redis = self.redis.iter().map(|redis| &redis.service);
        redis.chain(self.postgres.iter().map(|postgres| &postgres.service)).collect()
    }

    /// The backends that have ended by themselves, as errors that show their logs; each once.
    pub fn lost_backends(&mut self) -> Vec<LabError> {
        let redis = self.redis.as_mut().and_then(|redis| redis.service.lost());
        let postgres = self.postgres.as_mut().and_then(|postgres| postgres.service.lost());
        self.redis.take_if(|_| redis.is_some());
        self.postgres.take_if(|_| postgres.is_some());
        redis.into_iter().chain(postgres).collect()
    }

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
        let target = self.manifest.target(name)?.clone();
        let program = self.python.bin().join(&target.entry.command[0]);
        if !program.is_file() {
            return Err(LabError::Missing {
                service: name.to_owned(),
                what: format!(
                    "its command, {}, is not in the Python environment",
                    target.entry.command[0]
                ),
                help: "name the package that brings it in pyproject.toml, then `uv lock`"
                    .to_owned(),
            });
        }
        let (root, log) = (self.home.root().to_owned(), self.options.logs.join(log));
        let env = self.target_env(&target);
        let cpus = self.options.cpus.target.clone();
        let spec = move |port: u16| {
            let mut argv = target.argv("127.0.0.1", port, workers);
            argv[0] = program.to_string_lossy().into_owned();
            let mut spec = ServiceSpec::new(&target.name, argv, &root, log.clone());
            spec.env.clone_from(&env);
            spec.orders.cpus.clone_from(&cpus);
            spec.orders.grace = TARGET_GRACE;
            spec
        };
        let starting = Starting::on(port, Box::new(spec) as _, self.health.clone(), TARGET_LIMIT)?;
        Ok(StartingTarget { name: name.to_owned(), starting })
    }

    fn target_env(&self, target: &TargetSpec) -> Vec<(String, String)> {
        let own = target.entry.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let backends = self.backends().into_iter().map(|(backend, url)| match backend {
            Backend::Redis => ("REDIS_URL".to_owned(), url),
            Backend::Postgres => ("DATABASE_URL".to_owned(), url),
        });
        let always = [("PATH", self.python.path()), ("POOL_SIZE", POOL_SIZE.to_string())];
        always
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(backends)
            .chain(own)
            .collect()
    }

    /// Ends the backends, and returns when nothing of them is left.
    pub async fn stop(self) -> Result<(), LabError> {
        let redis = async {
            if let Some(redis) = self.redis { redis.service.stop().await } else { Ok(()) }
        };
        // Its data goes with the rest of the value, after the service.
        let postgres = async {
            if let Some(postgres) = self.postgres { postgres.service.stop().await } else { Ok(()) }
        };
        let (redis, postgres) = tokio::join!(redis, postgres);
        redis.and(postgres)
    }
}
