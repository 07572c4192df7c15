//! Generates the load of a round, in this process or in workers. Both give the same results.

use std::collections::BTreeMap;

use crate::cluster::{Cluster, ClusterError};
use crate::engine::{Host, Plan, Results, RoundControl, Seen, run_alone};
use crate::failure::{Exit, Failure};
use crate::measure::GrowingSeries;

/// Source of the load.
pub(super) enum Generator {
    /// This process generates the load.
    Process,
    /// Worker processes generate the load.
    Workers(Box<Cluster>),
}

impl Generator {
    /// Generates the load of one round as `plan` says, and returns the results. Calls `show` for
    /// each event, with all results of the round so far.
    pub(super) async fn round(
        &mut self,
        plan: Plan,
        control: impl Into<RoundControl>,
        show: impl FnMut(Seen<'_>, &mut GrowingSeries),
    ) -> Result<Results, Failure> {
        match self {
            Self::Process => {
                let results = run_alone(plan, control.into(), show).await;
                results.map_err(Failure::with(Exit::Failed))
            }
            Self::Workers(cluster) => {
                let results = cluster.round(plan, control, show).await;
                results.map_err(|error| match error {
                    ClusterError::Lost(_) => Failure::new(Exit::Degraded, error),
                    _ => Failure::new(Exit::Failed, error),
                })
            }
        }
    }

    /// Returns whether another round is possible; false if too many workers are lost.
    pub(super) fn can_go_on(&self) -> bool {
        match self {
            Self::Process => true,
            Self::Workers(cluster) => cluster.can_go_on(),
        }
    }

    /// Returns the number of workers that share the load; 0 if the load comes from this process.
    pub(super) fn workers(&self) -> u32 {
        match self {
            Self::Process => 0,
            Self::Workers(cluster) => cluster.workers(),
        }
    }

    /// Returns the host of each worker that is present and runs on another host, or may do so.
    pub(super) fn hosts(&self) -> BTreeMap<u32, Host> {
        let Self::Workers(cluster) = self else { return BTreeMap::new() };
        let host = |(worker, _)| Some((worker, cluster.host(worker)?));
        cluster.roster().into_iter().filter_map(host).collect()
    }

    /// Returns the process ids of the generator on this machine: of this process, and of its workers. Empty if workers
    /// on other hosts generate the load, because what this process then does is none of it.
    pub(super) fn pids(&self) -> Vec<u32> {
        let workers = match self {
            Self::Process => Vec::new(),
            Self::Workers(cluster) if cluster.is_elsewhere() => return Vec::new(),
            Self::Workers(cluster) => cluster.pids(),
        };
        [std::process::id()].into_iter().chain(workers).collect()
    }

    /// Ends the workers, if any.
    pub(super) async fn close(self) {
        if let Self::Workers(cluster) = self {
            cluster.quit().await;
        }
    }
}
