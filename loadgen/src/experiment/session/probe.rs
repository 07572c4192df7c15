//! Measures the latency beside the load, with a few more users at a low rate: a probe.
//!
//! The probe sends the steps of the scenario from a process of its own, over connections of its own.
//! Its iterations arrive at random times, so that their first requests find the server as it is on
//! average (R. W. Wolff, "Poisson Arrivals See Time Averages", Operations Research 30, 1982), and wait
//! neither for the load's requests in loadgen nor for each other. If the load's latencies differ, they
//! are those of its own requests, and not those of any other client.

use std::cell::Cell;
use std::future::Future;
use std::path::Path;
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, ClusterError, LocalWorkers, PreparedRound};
use crate::engine::{Plan, Results, RoundControl};
use crate::experiment::job::Job;
use crate::experiment::observe::{Event, Observers};
use crate::experiment::probe_users::probe_users;
use crate::failure::{Exit, Failure};
use crate::lab::{Layout, Watched};
use crate::measure::PROBE;
use crate::scenario::{Arrivals, Model, Open, Sharing};

/// Bits in which the seed of the probe differs from that of the load, so that both send other data.
const OTHER_SEED: u64 = 1 << 52;

/// A process that measures beside the load.
pub(super) struct Probe {
    cluster: Cluster,
    rate_per_s: f64,
}

/// A round of the probe that is ready to start.
struct Ready<'a> {
    cluster: &'a mut Cluster,
    plan: Plan,
    prepared: PreparedRound,
}

impl Probe {
    /// Starts the process of the probe; returns `None` if the job has none.
    pub(super) async fn start(
        job: &Job,
        layout: &Layout,
        logs: &Path,
        observers: &mut Observers<'_>,
    ) -> Result<Option<Self>, Failure> {
        let Some(rate_per_s) = job.probe else { return Ok(None) };
        observers.tell(Event::Phase("starting the probe"));
        let started = async {
            let workers = LocalWorkers {
                logs: Some(logs.to_owned()),
                name: "probe",
                cpus: layout.probe.clone(),
                ..LocalWorkers::new(1)?
            };
            Cluster::start(&workers, |_| {}).await
        };
        let cluster = started.await.map_err(failed)?;
        Ok(Some(Self { cluster, rate_per_s }))
    }

    /// Returns the process to watch.
    pub(super) fn watched(&self) -> impl Iterator<Item = Watched> {
        self.cluster.pids().into_iter().map(|pid| Watched::process(PROBE, pid))
    }

    /// Returns whether another round is possible; false if the process is lost.
    pub(super) fn can_go_on(&self) -> bool {
        self.cluster.can_go_on()
    }

    /// Ends the process.
    pub(super) async fn close(self) {
        self.cluster.quit().await;
    }

    async fn ready(&mut self, load: &Plan) -> Result<Ready<'_>, Failure> {
        let plan = plan(load, self.rate_per_s);
        let prepared = self.cluster.prepare_round(&plan).await.map_err(failed)?;
        Ok(Ready { cluster: &mut self.cluster, plan, prepared })
    }
}

/// Returns the error that the process of the probe failed.
fn failed(error: ClusterError) -> Failure {
    let exit = match error {
        ClusterError::Lost(_) => Exit::Degraded,
        _ => Exit::Failed,
    };
    let message = format!("the probe failed: {error}");
    Failure::message(
        exit,
        "probe_failed",
        message,
        "see probe-0.log in --out, or leave out --probe",
    )
}

/// Returns the round of a probe at this rate, in requests/s, beside a round of `load`: it counts in the
/// same time.
fn plan(load: &Plan, rate_per_s: f64) -> Plan {
    let mut plan = load.clone();
    let all = &mut plan.scenario;
    // The user after the load's users sends the verification.
    plan.first_user = load.first_user + all.load.users + 1;
    plan.seed ^= OTHER_SEED;
    all.load.model = Model::Open(Open { rate: rate_per_s, arrivals: Arrivals::Poisson });
    all.load.users = probe_users(all, rate_per_s);
    all.http.sharing = Sharing::default();
    plan.trace_one_in = None;
    plan
}

/// Runs `load`, a round of `plan`, and beside it the probe. `start` tells when the load starts: the
/// probe starts at the same moment. Cancelling `stop` ends the probe early.
///
/// # Errors
/// If the probe could not be prepared. The load then does not run.
pub(super) async fn beside<T>(
    probe: Option<&mut Probe>,
    plan: &Plan,
    load: impl Future<Output = T>,
    start: oneshot::Receiver<Instant>,
    stop: &CancellationToken,
) -> Result<(T, Option<Results>), Failure> {
    let Some(probe) = probe else { return Ok((load.await, None)) };
    let ready = tokio::select! {
        ready = probe.ready(plan) => Some(ready?),
        // The load sees the stop, too, and does not begin.
        () = stop.cancelled() => None,
    };
    let Some(ready) = ready else { return Ok((load.await, None)) };
    let (over, end) = (stop.child_token(), Cell::new(None));
    let probing = async {
        let start = tokio::select! {
            start = start => start.ok()?,
            () = over.cancelled() => return None,
        };
        end.set(plan.length().map(|length| start + length));
        Some(ready.run(start, over.clone()).await)
    };
    let loading = async {
        let done = load.await;
        // The load has failed, or ended before its time.
        if end.get().is_none_or(|end| Instant::now() < end) {
            over.cancel();
        }
        done
    };
    Ok(tokio::join!(loading, probing))
}

impl Ready<'_> {
    async fn run(self, start: Instant, stop: CancellationToken) -> Results {
        let Self { cluster, plan, prepared } = self;
        let control = RoundControl::from(stop);
        cluster.run_prepared(&plan, prepared, Some(start), control, |_, _| {}).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Share;
    use crate::scenario::parse;

    fn load(text: &str) -> Plan {
        Plan {
            scenario: parse("test", "test.toml", &format!("{text}\n[[step]]\nget = \"/\""))
                .unwrap(),
            base_url: "http://127.0.0.1:1".to_owned(),
            warmup: Duration::from_millis(1_500),
            seed: 7,
            known: Vec::new(),
            first_user: 0,
            trace_one_in: None,
            share: Share::WHOLE,
        }
    }

    #[test]
    fn a_probe_counts_in_the_same_time_and_sends_other_data() {
        let load = load("[load]\nusers = 30\nramp_up = \"2s\"\nduration = \"10s\"");
        let plan = plan(&load, 20.0);
        let both = [&load, &plan].map(|plan| (plan.warmup, plan.ramp_up(), plan.length()));
        assert_eq!(both[0], both[1]);
        assert_eq!(plan.scenario.steps, load.scenario.steps);
        assert_eq!((plan.first_user, plan.scenario.load.users), (31, 40));
        assert_ne!(plan.seed, load.seed);
        let open = Open { rate: 20.0, arrivals: Arrivals::Poisson };
        assert_eq!(plan.scenario.load.model, Model::Open(open));
        assert_eq!(super::plan(&load, 0.1).scenario.load.users, 1);
    }

    #[test]
    fn a_probe_shares_no_connection() {
        let text = "http = { version = \"2\", connections = 1, streams = 50 }\n[load]\nusers = 50";
        let plan = plan(&load(text), 100.0);
        assert!(!plan.scenario.http.sharing.is_set());
        assert_eq!(plan.scenario.http.sharing.check(plan.scenario.load.users), Ok(()));
    }
}
