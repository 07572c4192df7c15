//! Watching the services while there is load: what everybody uses, and whether all are still there.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::generator::Generator;
use crate::engine::Plan;
use crate::lab::{CpuTeller, Lab, LabError, Observed, Target, Watched, Window};

/// How often services are looked at.
const TICK: Duration = Duration::from_millis(250);

/// The services that a round needs; none where loadgen runs none.
pub struct Services<'a> {
    /// What the load is for.
    pub target: Option<&'a mut Target>,
    /// What has the backends.
    pub lab: Option<&'a mut Lab>,
}

impl Services<'_> {
    /// All of them, and the generator with its workers here.
    pub fn watched(&self, generator: &Generator) -> Vec<Watched> {
        let mut watched = vec![Watched::process("generator", std::process::id())];
        watched.extend(generator.pids().iter().map(|pid| Watched::process("generator", *pid)));
        let target = self.target.iter();
        watched.extend(target.map(|t| Watched::from(t.service()).named("target")));
        let backends = self.lab.iter().flat_map(|lab| lab.backend_services());
        watched.extend(backends.map(Watched::from));
        watched
    }

    /// One that has ended by itself, if one has; each is told of once.
    pub fn ended(&mut self) -> Option<LabError> {
        let target = self.target.as_mut().and_then(|target| target.lost());
        target.or_else(|| self.lab.as_mut()?.lost_backends().into_iter().next())
    }

    /// Waits for `round`, which is stopped when a service ends: there is nothing more to measure.
    pub async fn during<T>(
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

/// What everybody is to be watched for: as long as the load is held.
pub struct Watch {
    watched: Vec<Watched>,
    /// From the start of the load.
    begin: Duration,
    /// The same; where the users decide it, it is when `over` is cancelled.
    end: Option<Duration>,
    over: CancellationToken,
    /// Who wants to know from the start what is used now, if anybody does.
    tell: Option<CpuTeller>,
}

impl Watch {
    /// Of a round of `plan`, until it is `over` at the latest.
    pub fn new(watched: Vec<Watched>, plan: &Plan, over: CancellationToken) -> Self {
        let begin = plan.warmup + plan.ramp_up();
        Self { watched, begin, end: plan.length(), over, tell: None }
    }

    /// The same, that tells what is used now.
    #[must_use]
    pub fn telling(self, tell: Option<CpuTeller>) -> Self {
        Self { tell, ..self }
    }

    /// Watches a round that starts then.
    pub fn from(self, start: Instant) -> JoinHandle<Observed> {
        let Self { watched, begin, end, over, tell } = self;
        tokio::spawn(async move {
            let before = tell.clone().map(|tell| Window::telling(watched.clone(), Some(tell)));
            if tokio::time::timeout_at(start + begin, over.cancelled()).await.is_ok() {
                return Observed::default();
            }
            drop(before);
            let Ok(window) = Window::telling(watched, tell) else { return Observed::default() };
            match end {
                Some(end) => drop(tokio::time::timeout_at(start + end, over.cancelled()).await),
                None => over.cancelled().await,
            }
            window.close()
        })
    }
}
