//! Sizes of targets.

use crate::lab::backends::postgres;
use crate::scenario::{Backend, Limits};

/// Returns the number of connections that each worker process of a target may open to each backend:
/// 10, or fewer if all worker processes together would open more than PostgreSQL accepts, but at
/// least 1. `server_workers` counts the worker processes of all replicas.
fn pool_size(server_workers: u32) -> u32 {
    const EACH: u32 = 10;
    const ALL: u32 = postgres::CONNECTIONS - postgres::OTHER_CONNECTIONS;
    (ALL / server_workers.max(1)).clamp(1, EACH)
}

/// Size of a target: how many processes it has, how much of the machine it may use, and which backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size<'a> {
    /// Number of worker processes, of each replica.
    pub workers: u32,
    /// Number of replicas behind a load balancer; `None` for the target itself, without a balancer.
    pub replicas: Option<u32>,
    /// Limits of the container of the target or of each replica, which take precedence over the
    /// manifest's limits.
    pub limits: Limits,
    /// Backends whose addresses the target gets if they run. Others may run for other scenarios: a
    /// target that can use either would choose itself.
    pub backends: &'a [Backend],
    /// Whether the stacks of its processes can be sampled. Only for processes.
    pub profiled: bool,
}

impl Size<'_> {
    /// Returns the size of a target with this number of worker processes, all backends, and no limits
    /// of its own.
    pub fn of_workers(workers: u32) -> Self {
        let limits = Limits::default();
        Self { workers, replicas: None, limits, backends: &Backend::ALL, profiled: false }
    }

    /// Returns the number of connections that all worker processes together may open to each backend.
    #[must_use]
    pub fn connections(&self) -> u32 {
        let workers = self.workers.saturating_mul(self.replicas.unwrap_or(1));
        pool_size(workers).saturating_mul(workers)
    }

    /// Returns the number of connections that each worker process may open to each backend.
    #[must_use]
    pub fn pool_size(&self) -> u32 {
        pool_size(self.workers.saturating_mul(self.replicas.unwrap_or(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Home;

    #[test]
    fn the_pools_of_all_workers_fit_the_connection_limit() {
        assert_eq!([1, 4, 28, 29, 256].map(pool_size), [10, 10, 10, 9, 1]);
        assert!((1..=256).all(|workers| Size::of_workers(workers).connections() <= 280));
        let yaml = std::fs::read_to_string(Home::find().unwrap().compose()).unwrap();
        let most =
            format!("max_connections=${{POSTGRES_CONNECTIONS:-{}}}\"]", postgres::CONNECTIONS);
        assert!(yaml.contains(&most));
    }
}
