//! Observes servers and backends that loadgen has deployed in a cluster, from the pod of the manager.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{try_join, try_join_all};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::settled::settled;
use super::stopped::{Stopped, unless};
use crate::experiment::job::{Job, Remote};
use crate::experiment::observe::Event;
use crate::experiment::subject::DeployedBackend;
use crate::failure::Failure;
use crate::lab::{LabError, Observed, Observers, Pods, PodsWindow, UsageTeller};
use crate::measure::ResourceRecord;
use crate::scenario::Backend;

/// Name of the server under test among the services.
const TARGET: &str = "target";

/// Time for the pods of a server to become ready, if the manager waits for ever.
const LIMIT: Duration = Duration::from_secs(600);

/// Time for the nodes to learn where all ready pods of a Service are: kube-proxy takes a second, unless the cluster sets
/// another time. Connections that users open before would all go to the first pods.
const SETTLED: Duration = Duration::from_secs(2);

/// Greatest delay of a window after the beginning of the hold: CPU time of a later one would be divided by requests of which
/// it saw nothing.
const LATEST: Duration = Duration::from_millis(250);

/// Pods of a server or backend that are ready.
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
    /// Windows of the backends, by their names.
    backends: BTreeMap<String, PodsWindow>,
    /// Ends the round if a pod is lost.
    stop: CancellationToken,
}

impl Session<'_> {
    /// Waits until all pods of the servers and backends that loadgen has deployed are ready, and keeps the memory that each
    /// server then uses.
    pub(super) async fn await_pods(&mut self, jobs: &[Job]) -> Result<(), Stopped> {
        let limit = match &self.job().remote {
            Some(Remote::Awaited(workers)) => workers.limit.unwrap_or(LIMIT),
            _ => LIMIT,
        };
        let mut backends: BTreeMap<Backend, Pods> = BTreeMap::new();
        for (backend, of) in jobs.iter().flat_map(|job| job.subject.deployed_backends()) {
            if !self.backend_pods.contains_key(&backend) && !backends.contains_key(&backend) {
                let pods = self.all_ready(&backend.to_string(), &of.observers, limit).await?;
                backends.insert(backend, pods);
            }
        }
        let mut servers: BTreeMap<String, Pods> = BTreeMap::new();
        for server in jobs.iter().flat_map(|job| job.subject.running()) {
            // Contenders that differ only in their load share a server.
            let is_known =
                self.pods.contains_key(&server.name) || servers.contains_key(&server.name);
            let (Some(deployed), false) = (&server.deployed, is_known) else { continue };
            let pods = self.all_ready(&server.name, &deployed.observers, limit).await?;
            servers.insert(server.name.clone(), pods);
        }
        if servers.is_empty() && backends.is_empty() {
            return Ok(());
        }
        unless(&self.interrupt, sleep(SETTLED)).await?;
        for (name, pods) in servers {
            let ready = self.with_memory(&name, pods).await?;
            self.pods.insert(name, ready);
        }
        for (backend, pods) in backends {
            let ready = self.with_memory(&backend.to_string(), pods).await?;
            self.backend_pods.insert(backend, ready);
        }
        Ok(())
    }

    async fn all_ready(
        &mut self,
        name: &str,
        observers: &Observers,
        limit: Duration,
    ) -> Result<Pods, Stopped> {
        self.observers.tell(Event::Phase(&format!("waiting for the pods of {name}")));
        let ready = unless(&self.interrupt, observers.all_ready(limit)).await?;
        ready.map_err(|what| failure(name, what))
    }

    /// Reads the memory of pods when it no longer grows.
    async fn with_memory(&self, name: &str, pods: Pods) -> Result<ReadyPods, Stopped> {
        let read = settled(async || pods.memory().await, |bytes| *bytes);
        let read = unless(&self.interrupt, read).await?;
        let idle_bytes = read.map_err(|what| failure(name, what))?;
        Ok(ReadyPods { pods, idle_bytes })
    }

    /// Returns the memory of the target's pods and of the backends before any load, in bytes.
    pub(super) fn idle_pods(&self, target: &ReadyPods) -> BTreeMap<String, u64> {
        let backends = self.backend_pods.iter();
        let backends = backends.map(|(backend, ready)| (backend.to_string(), ready.idle_bytes));
        backends.chain([(TARGET.to_owned(), target.idle_bytes)]).collect()
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
        // Contenders may share a server.
        let name = &self.job().contenders[contender].name;
        let window = self.window(name, ready).await?;
        let used = server.deployed.iter().flat_map(|deployed| &deployed.backends);
        let mut backends = BTreeMap::new();
        for DeployedBackend { backend, .. } in used {
            if let Some(ready) = self.backend_pods.get(backend) {
                let name = backend.to_string();
                let window = self.window(&name, ready).await?;
                backends.insert(name, window);
            }
        }
        Ok(Some(PodsWatch { window, backends, stop: stop.clone() }))
    }

    async fn window(&self, name: &str, ready: &ReadyPods) -> Result<PodsWindow, Stopped> {
        let connected = unless(&self.interrupt, ready.pods.connect()).await?;
        connected.map_err(|what| failure(name, what))
    }
}

/// Returns the error of a server or backend of this name whose pods have this fault.
pub(super) fn fault(server: &str, what: String) -> LabError {
    LabError::ServerPods { server: server.to_owned(), what }
}

fn failure(server: &str, what: String) -> Stopped {
    Failure::from(fault(server, what)).into()
}

impl PodsWatch {
    /// Measures the resources that the pods use in the hold of the round. Ends the round if a pod is lost.
    pub(super) async fn observe(self, hold: Hold, tell: Option<UsageTeller>) -> Observed {
        let stop = self.stop.clone();
        match self.windows(hold, tell).await {
            Ok(observed) => observed.unwrap_or_default(),
            Err(why) => {
                stop.cancel();
                Observed { pods_fault: Some(why), ..Observed::default() }
            }
        }
    }

    /// Returns `None` if the round ended before its hold, or the windows began too late.
    async fn windows(
        self,
        hold: Hold,
        tell: Option<UsageTeller>,
    ) -> Result<Option<Observed>, String> {
        let Self { mut window, mut backends, .. } = self;
        if timeout_at(hold.begin, hold.over.cancelled()).await.is_ok() {
            return Ok(None);
        }
        let all_begin = async {
            let backends = backends.iter_mut().map(|(name, window)| named(name, window.begin()));
            try_join(window.begin(), try_join_all(backends)).await
        };
        tokio::select! {
            biased;
            () = hold.over.cancelled() => return Ok(None),
            begun = all_begin => drop(begun?),
        }
        let is_late = hold.begin.elapsed() > LATEST;
        let end = async {
            match hold.end {
                Some(end) => drop(timeout_at(end, hold.over.cancelled()).await),
                None => hold.over.cancelled().await,
            }
        };
        let tell = tell.map(together);
        let tell_all = async {
            let backends = backends
                .iter_mut()
                .map(|(name, window)| named(name, window.tell(name, tell.as_ref())));
            try_join(window.tell(TARGET, tell.as_ref()), try_join_all(backends)).await
        };
        tokio::select! {
            biased;
            () = end => {}
            told = tell_all => drop(told?),
        }
        let backends = backends.into_iter().map(async |(name, window)| {
            let ended = named(&name, window.end()).await?;
            Ok::<_, String>((name, ended))
        });
        let ((replicas, pods), backends) = try_join(window.end(), try_join_all(backends)).await?;
        let target = (TARGET.to_owned(), ResourceRecord::together(&replicas));
        let mut services = BTreeMap::from([target]);
        let mut backend_pods = BTreeMap::new();
        for (name, (used, pods)) in backends {
            services.insert(name.clone(), ResourceRecord::together(&used));
            backend_pods.insert(name, pods);
        }
        if is_late {
            return Ok(None);
        }
        let target_pods = Some(pods);
        Ok(Some(Observed { services, replicas, target_pods, backend_pods, ..Observed::default() }))
    }
}

/// Names the backend in its error: that of a target is named by the error of the round.
async fn named<T>(
    name: &str,
    result: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    result.await.map_err(|why| format!("{name}: {why}"))
}

/// Returns a teller for several servers, each of which tells of itself, that passes on what is known of all.
fn together(tell: UsageTeller) -> UsageTeller {
    let known = Mutex::new(BTreeMap::new());
    Arc::new(move |present| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(present);
        tell(known.clone());
    })
}
