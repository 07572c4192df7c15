//! The lab: launches targets and backends, and watches what they use.
//!
//! Everything runs as plain processes on loopback, from one locked Python environment: the targets,
//! and real backends too, whose programs come in wheels. Or each runs in a container, with limits, by
//! [`podman`]. Each has a [guard] above it, so that nothing outlives loadgen, whatever ends loadgen.
//!
//! [`Lab`] is what the commands use; below it, from the ground up: [`home`] finds the project,
//! [`python`] makes the environment, [`service`] runs one program, [`ready`] waits until it answers,
//! [`redis`] and [`postgres`] are the backends, [`manifest`] knows the targets, `runner` has what both
//! runtimes are asked for. [`cpus`] and [`resources`] say where things run and what they use.

pub mod cpus;
pub mod error;
pub mod guard;
pub mod home;
mod install;
mod listener;
pub mod lock;
mod logs;
pub mod machine;
pub mod manifest;
mod network;
mod packages;
mod password;
pub mod podman;
pub mod postgres;
mod postgres_client;
mod postgres_programs;
mod programs;
pub mod python;
pub mod ready;
pub mod redis;
pub mod redis_client;
pub mod resources;
mod runner;
mod schedstat;
pub mod service;
pub mod storage;
mod target;
pub mod up;
mod uv;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

pub use cpus::Layout;
pub use error::LabError;
pub use home::Home;
use logs::{MESSAGE_LINES, tail_of};
pub use manifest::{Manifest, TargetSpec};
pub use podman::Containers;
use postgres::Postgres;
pub use python::Python;
use redis::Redis;
pub use resources::{CpuTeller, Observed, Watched, Window};
use runner::Runner;
pub use runner::Runtime;
use service::Service;
pub use storage::Filesystem;
pub use target::{StartingTarget, Target};

use crate::scenario::{Backend, Proof};

/// Gets told what takes a while, as a phrase such as "starting redis".
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// How the lab runs what it runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder for the services' logs; made where it is missing.
    pub logs: PathBuf,
    /// Who runs on which CPUs.
    pub cpus: Layout,
    /// What they run in.
    pub runtime: Runtime,
}

/// The launcher of targets and backends. What it started ends with it.
pub struct Lab {
    home: Home,
    options: Options,
    progress: Progress,
    runner: Runner,
    manifest: Manifest,
    /// For the targets' health.
    health: reqwest::Client,
    redis: Option<Redis>,
    postgres: Option<Postgres>,
    containers: Option<Containers>,
}

impl Lab {
    /// Reads the manifest and brings what targets run in up to date. Starts none of them.
    pub async fn prepare(
        home: Home,
        options: Options,
        progress: Progress,
    ) -> Result<Self, LabError> {
        let manifest = Manifest::load(&home.manifest())?;
        let logs = &options.logs;
        fs::create_dir_all(logs).map_err(LabError::file("make the folder", logs))?;
        let runner = Runner::prepare(&home, &options, &progress).await?;
        let health = ready::health_client()?;
        let (redis, postgres, containers) = (None, None, None);
        Ok(Self { home, options, progress, runner, manifest, health, redis, postgres, containers })
    }

    /// The targets there are.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The versions of these distributions in the environment that targets run in, without those
    /// that are not installed.
    pub fn versions(&self, packages: &[String]) -> BTreeMap<String, String> {
        self.runner.versions(packages).1
    }

    /// The version of the targets' Python.
    pub fn python_version(&self) -> Option<String> {
        self.runner.versions(&[]).0
    }

    /// What targets and backends may have, in containers.
    pub fn runtime(&self) -> Runtime {
        self.options.runtime
    }

    /// What runs the containers, once the backends have been started; `None` where there are none.
    pub fn containers(&self) -> Option<&Containers> {
        self.containers.as_ref()
    }

    /// Starts these backends, those that do not run yet, side by side.
    pub async fn start_backends(&mut self, backends: &[Backend]) -> Result<(), LabError> {
        let (redis, postgres) = tokio::try_join!(
            self.redis_if(backends.contains(&Backend::Redis) && self.redis.is_none()),
            self.postgres_if(backends.contains(&Backend::Postgres) && self.postgres.is_none()),
        )?;
        self.redis = redis.or(self.redis.take());
        self.postgres = postgres.or(self.postgres.take());
        if let Some(project) = self.runner.project() {
            self.containers = Some(project.describe(backends).await);
        }
        Ok(())
    }

    async fn redis_if(&self, wanted: bool) -> Result<Option<Redis>, LabError> {
        if !wanted {
            return Ok(None);
        }
        self.image(Backend::Redis).await?;
        (self.progress)("starting redis");
        let Options { logs, cpus, .. } = &self.options;
        Redis::start(&self.runner, logs, &cpus.backends).await.map(Some)
    }

    async fn postgres_if(&self, wanted: bool) -> Result<Option<Postgres>, LabError> {
        if !wanted {
            return Ok(None);
        }
        self.image(Backend::Postgres).await?;
        (self.progress)("starting postgres");
        let Options { logs, cpus, .. } = &self.options;
        let schema = self.home.schema();
        Postgres::start(&self.runner, &schema, logs, &cpus.backends).await.map(Some)
    }

    async fn image(&self, backend: Backend) -> Result<(), LabError> {
        match &self.runner {
            Runner::Process(_) => Ok(()),
            Runner::Podman { podman, .. } => {
                podman.image(&self.home, backend, &*self.progress).await
            }
        }
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

    /// Redis's URL, for those who find it at this address.
    fn redis_url(&self, address: &str) -> Option<String> {
        self.redis.as_ref().map(|redis| redis.url_at(address))
    }

    /// PostgreSQL's URL, for those who find it at this address.
    fn postgres_url(&self, address: &str) -> Option<String> {
        self.postgres.as_ref().map(|postgres| postgres.url_at(address))
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

    /// What PostgreSQL's data lies on, where it runs and that is known.
    pub fn postgres_data(&self) -> Option<&Filesystem> {
        self.postgres.as_ref()?.storage.as_ref()
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

    /// Ends the backends, and returns when nothing of them is left.
    pub async fn stop(self) -> Result<(), LabError> {
        let redis = async {
            if let Some(redis) = self.redis { redis.service.stop().await } else { Ok(()) }
        };
        let postgres = async {
            if let Some(postgres) = self.postgres { postgres.service.stop().await } else { Ok(()) }
        };
        let (redis, postgres) = tokio::join!(redis, postgres);
        let containers = match self.runner {
            Runner::Process(_) => Ok(()),
            Runner::Podman { podman, .. } => podman.stop().await,
        };
        // Those that were started when the run was interrupted.
        service::dropped_have_ended().await;
        redis.and(postgres).and(containers)
    }
}
