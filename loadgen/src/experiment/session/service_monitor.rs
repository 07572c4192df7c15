//! Watches the services under load: the resources they use, and whether all still run.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::generator::Generator;
use super::pods::{Hold, PodsWatch};
use super::probe::Probe;
use super::settled::settled;
use super::standing::ContenderIndex;
use crate::engine::Plan;
use crate::lab::{
    Lab, LabError, Observed, Profiler, Sampling, Surroundings, Target, UsageTeller, Watched,
    Window, memory_now,
};
use crate::measure::{IDLE_TARGETS, PARTNER};

/// Interval between two checks whether all services still run.
const TICK: Duration = Duration::from_millis(250);

/// The services that loadgen runs for a round; empty for a server that runs already.
pub(super) struct Services<'a> {
    /// Target under load, and its partner in a duet.
    pub targets: Vec<&'a mut Target>,
    /// Targets that are up without load.
    pub idle: Vec<&'a mut Target>,
    /// Lab that runs the backends.
    pub lab: Option<&'a mut Lab>,
}

impl<'a> Services<'a> {
    /// Returns the services of a round over one target.
    pub(super) fn of(
        running: Option<&'a mut Target>,
        idle: &'a mut BTreeMap<ContenderIndex, Target>,
        lab: Option<&'a mut Lab>,
    ) -> Self {
        let targets = running.into_iter().collect();
        Self { targets, idle: idle.values_mut().collect(), lab }
    }

    /// Returns the processes to watch: all services, those of the generator on this machine, and the probe.
    pub(super) fn watched(&self, generator: &Generator, probe: Option<&Probe>) -> Vec<Watched> {
        let pids = generator.pids().into_iter();
        let mut watched: Vec<_> = pids.map(|pid| Watched::process("generator", pid)).collect();
        for (target, name) in self.targets.iter().zip(["target", PARTNER]) {
            let has_balancer = target.balancer().is_some();
            for (number, service) in target.services().iter().enumerate() {
                let service = Watched::from(service).named(name);
                watched.push(if has_balancer { service.as_replica(number) } else { service });
            }
            let upstreams = target.upstreams().iter().flat_map(Target::services);
            watched.extend(target.balancer().into_iter().chain(upstreams).map(Watched::from));
        }
        for target in &self.idle {
            let upstreams = target.upstreams().iter().flat_map(Target::services);
            let services = target.services().iter().chain(target.balancer()).chain(upstreams);
            watched.extend(services.map(|service| Watched::from(service).named(IDLE_TARGETS)));
        }
        let backends = self.lab.iter().flat_map(|lab| lab.backend_services());
        watched.extend(backends.map(Watched::from));
        watched.extend(probe.into_iter().flat_map(Probe::watched));
        watched
    }

    /// Returns the error of a service that has ended by itself,
    /// if any. A backend that has ended is reported only once.
    pub(super) fn ended(&mut self) -> Option<LabError> {
        let mut targets = self.targets.iter_mut().chain(&mut self.idle);
        let target = targets.find_map(|target| target.lost());
        target.or_else(|| self.lab.as_mut()?.lost_backends().into_iter().next())
    }

    /// Waits for the end of `round`. If a service ends by itself, cancels `stop` to end the round
    /// early, and returns the error of the service with the result.
    pub(super) async fn during<T>(
        &mut self,
        round: impl Future<Output = T>,
        stop: &CancellationToken,
    ) -> (T, Option<LabError>) {
        let mut round = pin!(round);
        loop {
            match tokio::time::timeout(TICK, &mut round).await {
                Ok(result) => return (result, self.ended()),
                Err(_) => {
                    if let Some(ended) = self.ended() {
                        stop.cancel();
                        return (round.await, Some(ended));
                    }
                }
            }
        }
    }
}

/// Returns the memory of each service before the load, in bytes, by name. Waits until the memory no
/// longer grows: when one worker process of a target answers, others may still start.
pub(super) async fn idle_memory(watched: &[Watched]) -> BTreeMap<String, u64> {
    let read = async || Ok::<_, Infallible>(memory_now(watched.to_vec()));
    let Ok(memory) = settled(read, |memory| memory.values().sum()).await;
    memory
}

/// Measures the resources that all services and the generator use while the full load is held.
pub(super) struct Watch {
    watched: Vec<Watched>,
    /// Time from the start of the load to the start of the hold (the phase with the full load).
    begin: Duration,
    /// Time from the start of the load to the end of the hold (the phase with the full load).
    /// `None` if iterations end the hold: the watch then ends when `over` is cancelled.
    end: Option<Duration>,
    /// Cancelled to end the watch.
    over: CancellationToken,
    /// Callback that receives the present usage from the start
    /// of the load on; `None` if no observer shows it.
    tell: Option<UsageTeller>,
    surroundings: Surroundings,
    /// Profilers of the target's servers, which sample while the full load is held; empty without profiling.
    profilers: Vec<Profiler>,
    /// Watch over the pods of a server in a cluster; `None` for another server, and after the start of the load.
    pods: Option<PodsWatch>,
    /// Task that watches; `None` before the start of the load.
    task: Option<JoinHandle<Observed>>,
}

impl Watch {
    /// Creates a watch over `watched` for a round of `plan`.
    pub(super) fn new(watched: Vec<Watched>, plan: &Plan) -> Self {
        let (begin, end) = (plan.warmup + plan.ramp_up(), plan.length());
        let (over, surroundings) = (CancellationToken::new(), Surroundings::default());
        Self {
            watched,
            begin,
            end,
            over,
            tell: None,
            surroundings,
            profilers: Vec::new(),
            pods: None,
            task: None,
        }
    }

    /// Sets the watch over the pods of a server in a cluster.
    #[must_use]
    pub(super) fn over_pods(self, pods: Option<PodsWatch>) -> Self {
        Self { pods, ..self }
    }

    /// Sets what is observed besides the services.
    #[must_use]
    pub(super) fn within(self, surroundings: Surroundings) -> Self {
        Self { surroundings, ..self }
    }

    /// Sets the profilers of the target's servers.
    #[must_use]
    pub(super) fn profiling(self, profilers: &[Profiler]) -> Self {
        Self { profilers: profilers.to_vec(), ..self }
    }

    /// Sets the callback that receives the present usage.
    #[must_use]
    pub(super) fn telling(self, tell: Option<UsageTeller>) -> Self {
        Self { tell, ..self }
    }

    /// Starts to watch a round whose load starts at `start`.
    pub(super) fn begin(&mut self, start: Instant) {
        let (watched, surroundings) = (self.watched.clone(), self.surroundings.clone());
        let profilers = self.profilers.clone();
        let (tell, over, begin, end) = (self.tell.clone(), self.over.clone(), self.begin, self.end);
        let pods = self.pods.take();
        self.task = Some(tokio::spawn(async move {
            if let Some(pods) = pods {
                let end = end.map(|end| start + end);
                let hold = Hold { begin: start + begin, end, over };
                return pods.observe(hold, tell).await;
            }
            if watched.is_empty() {
                // Neither server nor load is on this machine, so that what happens here says nothing of the test.
                return Observed::default();
            }
            let before = tell
                .clone()
                .map(|tell| Window::telling(watched.clone(), Some(tell), Surroundings::default()));
            if tokio::time::timeout_at(start + begin, over.cancelled()).await.is_ok() {
                return Observed::default();
            }
            drop(before);
            let Ok(window) = Window::telling(watched, tell, surroundings) else {
                return Observed::default();
            };
            let sampling = match profilers.as_slice() {
                [] => None,
                profilers => Some(Sampling::begin(profilers).await),
            };
            match end {
                Some(end) => drop(tokio::time::timeout_at(start + end, over.cancelled()).await),
                None => over.cancelled().await,
            }
            let stacks = match sampling {
                Some(sampling) => Some(sampling.end().await),
                None => None,
            };
            // Closing looks at all processes, which must not delay the drain.
            let closed = tokio::task::spawn_blocking(|| window.close()).await;
            Observed { stacks, ..closed.unwrap_or_default() }
        }));
    }

    /// Ends the watch, if it still goes on, and returns the resources used.
    pub(super) async fn end(self) -> Observed {
        self.over.cancel();
        match self.task {
            Some(task) => task.await.unwrap_or_default(),
            None => Observed::default(),
        }
    }
}
