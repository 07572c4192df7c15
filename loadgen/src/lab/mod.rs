//! Launches targets and backends, and measures the resources that they use.
//!
//! Services run as plain processes on loopback, from one locked Python environment: the targets,
//! and also real backends, whose programs come in wheels. Or each service runs in a container, with
//! limits: see [`podman`]. Every service runs under a [guard], so that no service outlives loadgen,
//! however loadgen ends.
//!
//! Commands use [`Lab`]. Below [`Lab`], from the bottom up: `embedded` unpacks the lab that the program
//! contains, [`home`] finds the project, [`python`] prepares the environment, [`service`] runs one
//! program, [`ready`] waits until a service answers, [`redis`] and [`postgres`] are the backends,
//! [`manifest`] knows the targets, `runner` is the interface of both runtimes, `refs` runs targets as
//! they are at refs of Git. [`cpus`] says where services run, and [`resources`] measures the resources
//! that services use.

mod alone;
mod balancer;
pub mod error;
mod git;
mod grpc_health;
pub mod home;
mod install;
pub mod machine;
pub mod manifest;
mod options;
pub mod podman;
pub mod postgres;
mod postgres_activity;
mod postgres_client;
mod postgres_programs;
mod postgres_rows;
mod preparation;
mod profiles;
pub mod ready;
pub mod redis;
pub mod redis_client;
mod refs;
pub mod resources;
mod runner;
pub mod service;
mod size;
pub mod storage;
mod target;
pub mod up;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

pub use alone::Alone;
pub use error::{GONE_AFTER, LabError};
pub use git::commit_of;
pub use git::git_ref::GitRef;
pub use home::Home;
pub use home::user_cache::user_cache;
use install::build::Built;
pub use install::python::Python;
pub use machine::cpus::{self, Layout};
pub use machine::turn::{Measurement, Other, Turn};
use manifest::Init;
pub use manifest::{Manifest, TargetSpec};
pub use options::{Options, Progress, Runtime};
pub use podman::Containers;
use postgres::Postgres;
use ready::HealthClients;
use redis::Redis;
use refs::Refs;
pub use refs::at_ref;
pub use resources::{CpuTeller, Observed, Surroundings, Watched, Window, local_port, memory_now};
use runner::Runner;
use service::Service;
pub use service::guard;
pub use service::logs::file_name;
use service::logs::{MESSAGE_LINES, tail_of};
pub use size::Size;
pub use storage::Filesystem;
pub use target::{StartingTarget, Target};

use crate::measure::PostgresActivity;
use crate::scenario::{Backend, Existing, Proof};

/// Launcher of targets and backends. Dropping the lab ends the backends; dropping a [`Target`] ends
/// the target.
pub struct Lab {
    home: Home,
    options: Options,
    progress: Progress,
    runner: Runner,
    manifest: Manifest,
    /// Clients for the targets' health checks.
    health: HealthClients,
    redis: Option<Redis>,
    postgres: Option<Postgres>,
    containers: Option<Containers>,
    /// Targets that were built, by name.
    built: BTreeMap<String, Built>,
    /// Files of the targets at refs.
    refs: Refs,
    /// Version of HAProxy; `None` if unknown, and in containers.
    balancer_version: Option<String>,
    /// Images of the containers of all targets, by name: see [`Containers`].
    images: BTreeMap<String, String>,
}

impl Lab {
    /// Reads the targets' manifest, and prepares the Python environment or the containers' project
    /// in which targets run. Starts no target and no backend.
    pub async fn prepare(
        home: Home,
        options: Options,
        progress: Progress,
    ) -> Result<Self, LabError> {
        let manifest = Manifest::of(&home)?;
        let logs = &options.logs;
        fs::create_dir_all(logs).map_err(LabError::file("create the folder", logs))?;
        if home.is_own() {
            refs::remove_left_over();
        }
        let runner = Runner::prepare(&home, &options, &progress).await?;
        let health = HealthClients::new()?;
        Ok(Self {
            home,
            options,
            progress,
            runner,
            manifest,
            health,
            redis: None,
            postgres: None,
            containers: None,
            built: BTreeMap::new(),
            refs: Refs::default(),
            balancer_version: None,
            images: BTreeMap::new(),
        })
    }

    /// Folders of the targets that were built, by name.
    pub fn builds(&self) -> BTreeMap<String, PathBuf> {
        self.built.iter().map(|(name, built)| (name.clone(), built.folder.clone())).collect()
    }

    /// Images of the targets' containers, by name: `target` for all Python targets, else the
    /// target's name.
    pub fn images(&self) -> &BTreeMap<String, String> {
        &self.images
    }

    /// Manifest that lists all targets.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Runtime of targets and backends, with the limits of containers.
    pub fn runtime(&self) -> Runtime {
        self.options.runtime
    }

    /// Description of podman and the images; `None` before the backends have been started, and
    /// without containers.
    pub fn containers(&self) -> Option<&Containers> {
        self.containers.as_ref()
    }

    /// Starts the requested backends that do not run yet, in parallel.
    pub async fn start_backends(&mut self, backends: &[Backend]) -> Result<(), LabError> {
        let (redis, postgres) = tokio::try_join!(
            self.redis_if(backends.contains(&Backend::Redis) && self.redis.is_none()),
            self.postgres_if(backends.contains(&Backend::Postgres) && self.postgres.is_none()),
        )?;
        self.redis = redis.or(self.redis.take());
        self.postgres = postgres.or(self.postgres.take());
        if let Some(project) = self.runner.project() {
            let up: Vec<Backend> =
                self.backends().into_iter().map(|(backend, _)| backend).collect();
            self.containers = Some(project.describe(&up, &self.images).await);
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
        let init = match self.home.is_own() {
            false => Some(self.home.schema()),
            true => self.init_file(&self.manifest.inits.postgres),
        };
        let postgres = Postgres::start(&self.runner, init.as_deref(), logs, &cpus.backends).await?;
        if let Some(fill) = &self.manifest.inits.postgres.fill {
            self.fill_by(Backend::Postgres, fill, &postgres.url()).await?;
        }
        Ok(Some(postgres))
    }

    /// Returns the path of the file that fills a backend for the user's own targets.
    fn init_file(&self, init: &Init) -> Option<PathBuf> {
        init.file.as_ref().map(|file| self.home.root().join(file))
    }

    async fn image(&self, backend: Backend) -> Result<(), LabError> {
        match &self.runner {
            Runner::Process(_) => Ok(()),
            Runner::Podman { podman, .. } => {
                podman.image(&self.home, backend, &*self.progress).await
            }
        }
    }

    /// Resets the data of the running backends, so that every round starts with the same data.
    /// They then hold the `existing` items and profiles.
    pub async fn fill(&self, existing: Existing) -> Result<(), LabError> {
        if self.home.is_own() {
            return self.fill_for_own(existing).await;
        }
        if let Some(redis) = &self.redis {
            redis.fill(existing.profiles, &*self.progress).await?;
        }
        if let Some(postgres) = &self.postgres {
            postgres.fill(existing, &*self.progress).await?;
        }
        Ok(())
    }

    /// Like [`Lab::fill`], but with what the user's files put into the backends.
    async fn fill_for_own(&self, existing: Existing) -> Result<(), LabError> {
        if existing != Existing::default() {
            return Err(LabError::Missing {
                service: "backends".to_owned(),
                what: "`existing_items` and `existing_profiles` are data of the lab's own targets"
                    .to_owned(),
                help: "fill the backend in loadgen.toml: [backend.postgres] init = \"FILE\""
                    .to_owned(),
            });
        }
        if let Some(redis) = &self.redis {
            let init = &self.manifest.inits.redis;
            redis.restore(self.init_file(init).as_deref()).await?;
            if let Some(fill) = &init.fill {
                self.fill_by(Backend::Redis, fill, &redis.url()).await?;
            }
        }
        if let Some(postgres) = &self.postgres {
            postgres.restore().await?;
        }
        Ok(())
    }

    /// Asks a backend the question of a proof, and returns the answer, a whole number. The question
    /// may read data but not write data.
    pub async fn ask(&self, proof: &Proof) -> Result<i64, LabError> {
        let Proof { backend, question, .. } = proof;
        let answer = match (backend, &self.redis, &self.postgres) {
            (Backend::Redis, Some(redis), _) => redis.ask(question).await,
            (Backend::Postgres, _, Some(postgres)) => postgres.ask(question).await,
            _ => Err("the backend does not run".to_owned()),
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

    /// Running backends, each with the URL that targets outside containers use.
    pub fn backends(&self) -> Vec<(Backend, String)> {
        let redis = self.redis.iter().map(|redis| (Backend::Redis, redis.url()));
        redis
            .chain(self.postgres.iter().map(|postgres| (Backend::Postgres, postgres.url())))
            .collect()
    }

    /// Returns Redis's URL with `address` as host and port; `None` if Redis does not run.
    fn redis_url(&self, address: &str) -> Option<String> {
        self.redis.as_ref().map(|redis| redis.url_at(address))
    }

    /// Returns PostgreSQL's URL with `address` as host and port; `None` if PostgreSQL does not run.
    fn postgres_url(&self, address: &str) -> Option<String> {
        self.postgres.as_ref().map(|postgres| postgres.url_at(address))
    }

    /// Reads PostgreSQL's statistics; `None` if PostgreSQL does not run or does not answer.
    pub async fn postgres_activity(&self) -> Option<PostgresActivity> {
        self.postgres.as_ref()?.activity().await.ok()
    }

    /// File system of PostgreSQL's data; `None` if PostgreSQL does not run
    /// or the file system is unknown.
    pub fn postgres_data(&self) -> Option<&Filesystem> {
        self.postgres.as_ref()?.storage.as_ref()
    }

    /// Services of the running backends, for measuring their resources.
    pub fn backend_services(&self) -> Vec<&Service> {
        let redis = self.redis.iter().map(|redis| &redis.service);
        redis.chain(self.postgres.iter().map(|postgres| &postgres.service)).collect()
    }

    /// Returns an error for each backend that has ended by itself, with the end of the backend's
    /// log. Reports each backend once.
    pub fn lost_backends(&mut self) -> Vec<LabError> {
        let redis = self.redis.as_mut().and_then(|redis| redis.service.lost());
        let postgres = self.postgres.as_mut().and_then(|postgres| postgres.service.lost());
        self.redis.take_if(|_| redis.is_some());
        self.postgres.take_if(|_| postgres.is_some());
        redis.into_iter().chain(postgres).collect()
    }

    /// Ends the backends, and returns when no process of them is left.
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
        // Waits for services that were dropped when the run was interrupted during their start.
        service::dropped_have_ended().await;
        let refs = self.refs.remove().await;
        redis.and(postgres).and(containers).and(refs)
    }
}
