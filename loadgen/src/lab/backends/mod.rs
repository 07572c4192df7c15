//! Runs the backends of targets: [`redis`] and [`postgres`].
//!
//! `fill` gives each round the same data, such as `profiles`, and `alone` measures a backend without a
//! target.

mod alone;
mod elsewhere;
mod fill;
pub mod postgres;
mod profiles;
pub mod redis;

use std::collections::BTreeMap;

pub use alone::Alone;
pub use elsewhere::{Image, fill_redis};
use postgres::{Filesystem, NAME, Postgres};
use redis::Redis;

use super::Lab;
use super::error::LabError;
use super::options::Options;
use super::runner::Runner;
use super::service::Service;
use super::service::logs::{MESSAGE_LINES, tail_of};
use crate::measure::PostgresActivity;
use crate::scenario::{Backend, Proof};

/// Returns the URL of a backend with this password, at `address`, which has its host and port.
pub fn url_at(backend: Backend, password: &str, address: &str) -> String {
    match backend {
        Backend::Redis => format!("redis://:{password}@{address}/0"),
        Backend::Postgres => format!("postgresql://{NAME}:{password}@{address}/{NAME}"),
    }
}

impl Lab {
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
        let Options { logs, cpus, connections, .. } = &self.options;
        let init = match self.home.is_own() {
            false => Some(self.home.schema()),
            true => self.init_file(&self.manifest.inits.postgres),
        };
        let postgres =
            Postgres::start(&self.runner, init.as_deref(), logs, &cpus.backends, *connections)
                .await?;
        if let Some(fill) = &self.manifest.inits.postgres.fill {
            self.fill_by(Backend::Postgres, fill, &postgres.url()).await?;
        }
        Ok(Some(postgres))
    }

    async fn image(&self, backend: Backend) -> Result<(), LabError> {
        match &self.runner {
            Runner::Process(_) => Ok(()),
            Runner::Podman { podman, .. } => {
                podman.image(&self.home, backend, &*self.progress).await
            }
        }
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
    pub(super) fn redis_url(&self, address: &str) -> Option<String> {
        self.redis.as_ref().map(|redis| redis.url_at(address))
    }

    /// Returns PostgreSQL's URL with `address` as host and port; `None` if PostgreSQL does not run.
    pub(super) fn postgres_url(&self, address: &str) -> Option<String> {
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

    /// Versions of the running backends, by name. Omits a backend that does not answer.
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
}
