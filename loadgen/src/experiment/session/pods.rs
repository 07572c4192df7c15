//! Observes servers that loadgen has deployed in a cluster, from the pod of the manager.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::settled::settled;
use super::stopped::{Stopped, unless};
use crate::experiment::job::{Job, Remote};
use crate::experiment::observe::Event;
use crate::experiment::subject::Server;
use crate::failure::Failure;
use crate::lab::{LabError, Observed, Pods, PodsWindow, UsageTeller};
use crate::measure::ResourceRecord;

/// Time for the pods of a server to become ready, if the manager waits for ever.
const LIMIT: Duration = Duration::from_secs(600);

/// Time for the nodes to learn where all ready pods of a Service are: kube-proxy takes a second, unless the cluster sets
/// another time. Connections that users open before would all go to the first pods.
const SETTLED: Duration = Duration::from_secs(2);

/// Greatest delay of a window after the beginning of the hold: CPU time of a later one would be divided by requests of which
/// it saw nothing.
const LATEST: Duration = Duration::from_millis(250);

/// Pods of a server that are ready.
#[derive(Debug, Clone)]
pub(super) struct ReadyPods {
    pods: Pods,
    /// Memory that they used together before any load, in bytes.
    pub idle_bytes: u64,
}

/// A measurement of pods.
pub(super) struct Hold {
    /// Start of the hold.
    pub begin: Instant,
    /// End of the hold; `None` if iterations end it.
    pub end: Option<Instant>,
    /// Cancelled to end it.
    pub over: CancellationToken,
}

/// A window that is connected ahead of its round.
pub(super) struct PodsWatch {
    window: PodsWindow,
    /// Ends the round if a pod is lost.
    stop: CancellationToken,
}

impl Session<'_> {
    /// Waits until all pods of the servers that loadgen has deployed are ready, and keeps the memory that each server then
    /// uses.
    pub(super) async fn await_pods(&mut self, jobs: &[Job]) -> Result<(), Stopped> {
        let limit = match &self.job().remote {
            Some(Remote::Awaited(workers)) => workers.limit.unwrap_or(LIMIT),
            _ => LIMIT,
        };
        let mut new = Vec::new();
        for server in jobs.iter().flat_map(|job| job.subject.running()) {
            let (Some(deployed), false) = (&server.deployed, self.pods.contains_key(&server.name))
            else {
                continue;
            };
            self.observers.tell(Event::Phase(&format!("waiting for the pods of {}", server.name)));
            let ready = unless(&self.interrupt, deployed.observers.all_ready(limit)).await?;
            new.push((server, ready.map_err(|what| failure(server, what))?));
        }
        if new.is_empty() {
            return Ok(());
        }
        unless(&self.interrupt, sleep(SETTLED)).await?;
        for (server, pods) in new {
            let read = settled(async || pods.memory().await, |bytes| *bytes);
            let idle_bytes = unless(&self.interrupt, read).await?;
            let idle_bytes = idle_bytes.map_err(|what| failure(server, what))?;
            self.pods.insert(server.name.clone(), ReadyPods { pods, idle_bytes });
        }
        Ok(())
    }

    /// Connects to the pods of a contender's server, ahead of a round that `stop` ends. `None` for a server that loadgen has
    /// not deployed.
    pub(super) async fn watch_pods(
        &self,
        contender: usize,
        stop: &CancellationToken,
    ) -> Result<Option<PodsWatch>, Stopped> {
        let Some(server) = self.job().running(contender) else { return Ok(None) };
        let Some(ready) = self.pods.get(&server.name) else { return Ok(None) };
        let connected = unless(&self.interrupt, ready.pods.connect()).await?;
        let window = connected.map_err(|what| failure(server, what))?;
        Ok(Some(PodsWatch { window, stop: stop.clone() }))
    }
}

/// Returns the error of a server whose pods have this fault.
pub(super) fn fault(server: &Server, what: String) -> LabError {
    LabError::ServerPods { server: server.name.clone(), what }
}

fn failure(server: &Server, what: String) -> Stopped {
    Failure::from(fault(server, what)).into()
}

impl PodsWatch {
    /// Measures the resources that the pods use in the hold of the round. Ends the round if a pod is lost.
    pub(super) async fn observe(self, hold: Hold, tell: Option<UsageTeller>) -> Observed {
        let Self { window, stop } = self;
        match observe(window, hold, tell).await {
            Ok(observed) => observed.unwrap_or_default(),
            Err(why) => {
                stop.cancel();
                Observed { pods_fault: Some(why), ..Observed::default() }
            }
        }
    }
}

/// Returns `None` if the round ended before its hold, or the window began too late.
async fn observe(
    mut window: PodsWindow,
    hold: Hold,
    tell: Option<UsageTeller>,
) -> Result<Option<Observed>, String> {
    if timeout_at(hold.begin, hold.over.cancelled()).await.is_ok() {
        return Ok(None);
    }
    tokio::select! {
        biased;
        () = hold.over.cancelled() => return Ok(None),
        begun = window.begin() => begun?,
    }
    let is_late = hold.begin.elapsed() > LATEST;
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
    if is_late {
        return Ok(None);
    }
    let services = [("target".to_owned(), ResourceRecord::together(&replicas))].into();
    Ok(Some(Observed { services, replicas, target_pods: Some(pods), ..Observed::default() }))
}
