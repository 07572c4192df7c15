//! Starts a target of the lab in a container that compose.yaml defines.

use std::sync::Arc;

use super::Spec;
use super::instance::Instance;
use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::podman::{Project, variable};
use crate::scenario::Backend;

impl Lab {
    /// Builds a function that returns the specification of a server in a container, for a port. The
    /// image contains the target's command and environment variables. Containers reach backends by
    /// name.
    pub(super) fn compose_spec(
        &self,
        project: Arc<Project>,
        server: &Instance<'_>,
    ) -> Result<Spec, LabError> {
        let Instance { target, size, log, .. } = server;
        let limits = self.target_limits(target, size.limits);
        let of = |backend| size.backends.contains(&backend);
        let redis = self.redis_url("redis:6379").filter(|_| of(Backend::Redis));
        let postgres = self.postgres_url("postgres:5432").filter(|_| of(Backend::Postgres));
        let variables = [
            ("POOL_SIZE", size.pool_size().to_string()),
            ("SERVER_WORKERS", size.workers.to_string()),
            ("REDIS_URL", redis.unwrap_or_default()),
            ("DATABASE_URL", postgres.unwrap_or_default()),
            ("TARGET_CPUS", limits.cpus.map(|cpus| cpus.to_string()).unwrap_or_default()),
            ("TARGET_MEMORY", limits.memory.map(|memory| memory.to_string()).unwrap_or_default()),
        ];
        let (name, log) = (server.name(), log.clone());
        let more = match server.replica {
            Some(_) => Some(project.copy_of(&target.name, &name, &log.with_extension("yaml"))?),
            None => None,
        };
        let port_variable = variable(&target.name, "PORT");
        let (upstreams, env) = (&target.entry.upstreams, &target.entry.env);
        let urls = env.iter().filter(|(name, _)| upstreams.contains_key(*name));
        let urls: Vec<(String, String)> =
            urls.map(|(name, url)| (name.clone(), url.clone())).collect();
        Ok(Box::new(move |port| {
            let port = [(port_variable.as_str(), port.to_string())];
            let urls: Vec<_> =
                urls.iter().map(|(name, url)| (name.as_str(), url.clone())).collect();
            let variables = [&variables[..], &port, &urls].concat();
            project.spec_with(more.as_deref(), &name, &variables, log.clone())
        }))
    }
}
