//! Where the load of a round comes from: this process, or workers. Both give the same.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, ClusterError};
use crate::commands::{Exit, Failure};
use crate::engine::{Attack, Plan, Share};
use crate::measure::{Counts, Phase, Series, Snapshot, WorkerRecord};

/// How far ahead of its start a round in this process is planned, so that its users are there.
const LEAD: Duration = Duration::from_millis(50);

/// Where the load comes from.
pub enum Generator {
    /// This process.
    Process,
    /// Worker processes.
    Workers(Cluster),
}

/// What a round gave.
pub struct Yield {
    /// All snapshots, merged.
    pub series: Series,
    /// How long the load was held.
    pub held: Duration,
    /// What each worker did; empty for load from this process.
    pub workers: Vec<WorkerRecord>,
    /// What is missing, because a worker was lost or something of it did not arrive.
    pub missing: Option<String>,
    /// The files of rows that ran out on some process.
    pub ran_out: BTreeSet<String>,
}

impl Generator {
    /// Puts the load of `plan` on its target, and shows each snapshot as it comes.
    pub async fn round(
        &mut self,
        plan: Plan,
        stop: CancellationToken,
        show: impl FnMut(&Snapshot),
    ) -> Result<Yield, Failure> {
        match self {
            Self::Process => in_process(plan, stop, show).await,
            Self::Workers(cluster) => on_workers(cluster, plan, stop, show).await,
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

async fn in_process(
    plan: Plan,
    stop: CancellationToken,
    mut show: impl FnMut(&Snapshot),
) -> Result<Yield, Failure> {
    let attack = Attack::prepare(plan.part(Share::WHOLE)).map_err(Failure::with(Exit::Failed))?;
    let (sender, mut snapshots) = mpsc::channel(16);
    let mut series = Series::default();
    let running = async {
        let finished = attack.run(Instant::now() + LEAD, stop, &sender).await;
        drop(sender);
        finished
    };
    let merging = async {
        while let Some(snapshot) = snapshots.recv().await {
            show(&snapshot);
            series.add(snapshot);
        }
    };
    let (finished, ()) = tokio::join!(running, merging);
    let finished = finished.map_err(Failure::with(Exit::Failed))?;
    let ran_out = finished.ran_out.into_iter().collect();
    Ok(Yield { series, held: finished.held, workers: Vec::new(), missing: None, ran_out })
}

async fn on_workers(
    cluster: &mut Cluster,
    plan: Plan,
    stop: CancellationToken,
    mut show: impl FnMut(&Snapshot),
) -> Result<Yield, Failure> {
    let users = plan.scenario.load.users;
    let round = cluster.round(plan, stop, |_, snapshot| show(snapshot)).await;
    let round = round.map_err(|error| match error {
        ClusterError::Lost(_) => Failure::new(Exit::Degraded, error),
        _ => Failure::new(Exit::Failed, error),
    })?;
    let missing = round.missing();
    let mut all = Series::default();
    let mut workers = Vec::new();
    let mut held = Duration::ZERO;
    let mut ran_out = BTreeSet::new();
    for worker in round.workers {
        held = held.max(worker.held);
        workers.push(WorkerRecord {
            worker: worker.share.index,
            users: worker.share.users(users),
            requests: worker.series.phase(Phase::Hold).iter().map(Counts::requests).sum(),
            snapshots: worker.snapshots,
        });
        all.merge(worker.series);
        ran_out.extend(worker.ran_out);
    }
    Ok(Yield { series: all, held, workers, missing, ran_out })
}
