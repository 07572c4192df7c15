//! Observes servers that loadgen has deployed in a cluster, from the pod of the manager.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::stopped::{Stopped, unless};
use crate::experiment::job::{Job, Remote};
use crate::experiment::observe::Event;
use crate::experiment::subject::{Deployed, Server, Subject};
use crate::failure::Failure;
use crate::lab::{LabError, Observed, UsageTeller};
use crate::measure::{PodsRecord, ResourceRecord};

/// Time for the pods of a server to become ready, if the manager waits for ever.
const LIMIT: Duration = Duration::from_secs(600);

/// Time that the nodes take to know where all ready pods of a Service are. Connections of users that are opened before
/// would all go to the first ones.
const SETTLED: Duration = Duration::from_secs(2);

/// Time of a measurement.
pub(super) struct Hold {
    /// Start of the hold.
    pub begin: Instant,
    /// End of the hold; `None` if iterations end it.
    pub end: Option<Instant>,
    /// Cancelled to end it.
    pub over: CancellationToken,
}

impl Session<'_> {
    /// Waits until all pods of the servers that loadgen has deployed are ready, and keeps the memory that each server then
    /// uses.
    pub(super) async fn await_pods(&mut self, jobs: &[Job]) -> Result<(), Stopped> {
        let limit = match &self.job().remote {
            Some(Remote::Awaited(workers)) => workers.limit.unwrap_or(LIMIT),
            _ => LIMIT,
        };
        let mut has_waited = false;
        for server in jobs.iter().flat_map(|job| deployed(&job.subject)) {
            let (Some(deployed), false) =
                (&server.deployed, self.idle_pods.contains_key(&server.name))
            else {
                continue;
            };
            self.observers.tell(Event::Phase(&format!("waiting for the pods of {}", server.name)));
            let ready = async {
                deployed.observers.all_ready(limit).await?;
                deployed.observers.memory().await
            };
            let memory = unless(&self.interrupt, ready).await?;
            let memory = memory.map_err(|what| Failure::from(fault(server, what)))?;
            self.idle_pods.insert(server.name.clone(), memory);
            has_waited = true;
        }
        if has_waited {
            unless(&self.interrupt, tokio::time::sleep(SETTLED)).await?;
        }
        Ok(())
    }
}

fn deployed(subject: &Subject) -> &[Server] {
    match subject {
        Subject::Running(servers) => servers,
        Subject::Lab { .. } => &[],
    }
}

/// Returns the error of a server whose pods have this fault.
pub(super) fn fault(server: &Server, what: String) -> LabError {
    LabError::ServerPods { server: server.name.clone(), what }
}

/// Measures the resources that the pods of a server use in the hold of a round.
pub(super) async fn observe(
    deployed: &Deployed,
    hold: Hold,
    tell: Option<UsageTeller>,
) -> Observed {
    match window(deployed, hold, tell).await {
        Ok(observed) => observed.unwrap_or_default(),
        Err(why) => Observed { pods_fault: Some(why), ..Observed::default() },
    }
}

/// Returns `None` if the round ended before its hold.
async fn window(
    deployed: &Deployed,
    hold: Hold,
    tell: Option<UsageTeller>,
) -> Result<Option<Observed>, String> {
    let mut window = deployed.observers.connect().await?;
    if timeout_at(hold.begin, hold.over.cancelled()).await.is_ok() {
        return Ok(None);
    }
    window.begin().await?;
    let end = async {
        match hold.end {
            Some(end) => drop(timeout_at(end, hold.over.cancelled()).await),
            None => hold.over.cancelled().await,
        }
    };
    tokio::select! {
        biased;
        () = end => {}
        told = window.tell("target", tell.as_ref()) => told?,
    }
    let (replicas, pods) = window.end().await?;
    let services = [("target".to_owned(), ResourceRecord::together(&replicas))].into();
    let target_pods = Some(PodsRecord { cpus: deployed.cpus(pods.cpus), ..pods });
    Ok(Some(Observed { services, replicas, target_pods, ..Observed::default() }))
}
