//! Where the load of a round comes from: this process, or workers. Both give the same.

use crate::cluster::{Cluster, ClusterError};
use crate::engine::{Plan, Results, RoundControl, Seen, run_alone};
use crate::failure::{Exit, Failure};
use crate::measure::GrowingSeries;

/// Where the load comes from.
pub enum Generator {
    /// This process.
    Process,
    /// Worker processes.
    Workers(Box<Cluster>),
}

impl Generator {
    /// Puts the load of `plan` on its target, and shows what comes of it as it comes, with all that came
    /// so far.
    pub async fn round(
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

    /// Whether there can be another round.
    pub fn can_go_on(&self) -> bool {
        match self {
            Self::Process => true,
            Self::Workers(cluster) => cluster.can_go_on(),
        }
    }

    /// How many workers share the load; 0 where it comes from this process.
    pub fn workers(&self) -> u32 {
        match self {
            Self::Process => 0,
            Self::Workers(cluster) => cluster.workers(),
        }
    }

    /// The processes that make the load besides this one.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Self::Process => Vec::new(),
            Self::Workers(cluster) => cluster.pids(),
        }
    }

    /// Ends the workers.
    pub async fn close(self) {
        if let Self::Workers(cluster) = self {
            cluster.quit().await;
        }
    }
}
