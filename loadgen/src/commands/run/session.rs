//! The measuring: rounds over targets, one target up at a time.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::generator::{Generator, Yield};
use super::job::{Job, Subject};
use crate::cluster::{Cluster, LocalWorkers};
use crate::commands::{Exit, Failure};
use crate::engine::{self, Plan, VerifyError};
use crate::lab::{Lab, LabError, RowCount, Target, Usage, Watched, Window};
use crate::measure::{Counts, Phase, Series};
use crate::report::Progress;

/// A run under way.
pub struct Session<'a> {
    job: &'a Job,
    lab: Option<Lab>,
    generator: Generator,
    progress: &'a mut Progress,
    /// The folder for workers' logs.
    logs: PathBuf,
    interrupt: CancellationToken,
}

/// One round over one target, as it was measured.
pub struct Round {
    /// The target's place in the job.
    pub target: usize,
    /// Its number, from 1.
    pub number: u32,
    /// Where the target answered.
    pub url: String,
    /// What the generator gave.
    pub yielded: Yield,
    /// What each service used.
    pub usage: BTreeMap<String, Usage>,
    /// What the verification read from the answers, by step and counter.
    pub verified: Vec<Vec<u64>>,
    /// What PostgreSQL held afterwards.
    pub rows: Option<RowCount>,
}

/// What came of a run.
#[derive(Default)]
pub struct Measured {
    /// The rounds, in the order in which they ran.
    pub rounds: Vec<Round>,
    /// What ended the run early, if it was an error.
    pub failure: Option<Failure>,
}

/// Why a run goes no further.
enum Stopped {
    Interrupted,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<'a> Session<'a> {
    /// A session whose services are started as they are needed. `lab` is `None` for a server that
    /// runs already.
    pub fn new(
        job: &'a Job,
        lab: Option<Lab>,
        progress: &'a mut Progress,
        logs: &Path,
        interrupt: CancellationToken,
    ) -> Self {
        Self { job, lab, generator: Generator::Process, progress, logs: logs.to_owned(), interrupt }
    }

    /// Measures all rounds, or as many as an interrupt or an error allow.
    pub async fn measure(&mut self) -> Measured {
        let mut measured = Measured::default();
        if let Err(Stopped::Failed(failure)) = self.rounds(&mut measured.rounds).await {
            measured.failure = Some(failure);
        }
        measured
    }

    /// The lab, for what there is to tell about it.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// Stops everything that was started.
    pub async fn close(self) {
        self.progress.step("stopping");
        self.generator.close().await;
        if let Some(lab) = self.lab
            && let Err(error) = lab.stop().await
        {
            self.progress.note(&error.to_string());
        }
        self.progress.finish();
    }

    async fn rounds(&mut self, rounds: &mut Vec<Round>) -> Result<(), Stopped> {
        self.start().await?;
        let targets = self.job.names().len();
        for number in 1..=self.job.rounds {
            for turn in 0..targets {
                // Each round begins with another target, so that none is always first.
                let target = (turn + number as usize - 1) % targets;
                let round = self.round(target, number).await?;
                let degraded = round.yielded.missing.is_some();
                rounds.push(round);
                if degraded {
                    return Ok(());
                }
                if self.interrupt.is_cancelled() {
                    return Err(Stopped::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Starts what runs through all rounds: backends and workers.
    async fn start(&mut self) -> Result<(), Stopped> {
        let interrupt = self.interrupt.clone();
        if let Some(lab) = &mut self.lab {
            unless(&interrupt, lab.start_backends(&self.job.scenario.backends))
                .await?
                .map_err(Failure::from)?;
        }
        if let Some(workers) = self.job.workers {
            self.progress.phase(&format!("starting {workers} workers"));
            let workers = LocalWorkers {
                logs: Some(self.logs.clone()),
                ..LocalWorkers::new(workers).map_err(Failure::with(Exit::Failed))?
            };
            let cluster = unless(&interrupt, Cluster::start(&workers, |_| {}))
                .await?
                .map_err(Failure::with(Exit::Failed))?;
            self.generator = Generator::Workers(cluster);
        }
        Ok(())
    }

    /// One round: fill the backends, start the target, verify it, load it, stop it.
    async fn round(&mut self, target: usize, number: u32) -> Result<Round, Stopped> {
        let (name, url, running) = match (&self.job.subject, &self.lab) {
            (Subject::Lab { targets, .. }, Some(lab)) => {
                let name = targets[target].name.as_str();
                self.progress.step(&format!("starting {name}"));
                let started = async {
                    lab.fill().await?;
                    lab.start_target(name, number).await
                };
                let running = unless(&self.interrupt, started).await?.map_err(Failure::from)?;
                (name, running.url.clone(), Some(running))
            }
            (Subject::Url(url), _) => ("url", url.clone(), None),
            (Subject::Lab { .. }, None) => return Err(Stopped::Interrupted),
        };
        let plan = self.job.plan(url.clone(), number);
        let result = self.load(name, plan, running.as_ref()).await;
        if let Some(running) = running {
            running.stop().await.map_err(Failure::from)?;
        }
        let (verified, yielded, usage) = result?;
        let rows = match &self.lab {
            Some(lab) => lab.count_rows().await.map_err(Failure::from)?,
            None => None,
        };
        Ok(Round { target, number, url, yielded, usage, verified, rows })
    }

    /// Verifies the target and puts the load on it.
    async fn load(
        &mut self,
        name: &str,
        plan: Plan,
        running: Option<&Target>,
    ) -> Result<(Vec<Vec<u64>>, Yield, BTreeMap<String, Usage>), Stopped> {
        self.progress.round_started(name);
        let verified =
            unless(&self.interrupt, engine::verify(&plan, name)).await?.map_err(unverified)?;
        let window = self.watch(running, plan.warmup + plan.scenario.load.ramp_up);
        let progress = &mut *self.progress;
        let yielded = self
            .generator
            .round(plan, self.interrupt.clone(), |snapshot| progress.snapshot(snapshot))
            .await?;
        let usage = match window.is_finished() {
            true => window.await.ok().and_then(Result::ok).map(Window::close).unwrap_or_default(),
            false => BTreeMap::new(),
        };
        let answered: u64 = held(&yielded.series).iter().map(|step| step.answered.len()).sum();
        self.progress.round_finished(answered as f64 / yielded.held.as_secs_f64().max(1e-9));
        Ok((verified, yielded, usage))
    }

    /// Watches what everybody uses, from the time on at which the load is held.
    fn watch(
        &self,
        running: Option<&Target>,
        delay: Duration,
    ) -> JoinHandle<Result<Window, LabError>> {
        let watched = self.watched(running);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            Window::open(watched)
        })
    }

    fn watched(&self, running: Option<&Target>) -> Vec<Watched> {
        let mut watched = vec![Watched::process("generator", std::process::id())];
        watched.extend(self.generator.pids().iter().map(|pid| Watched::process("generator", *pid)));
        watched.extend(running.map(|t| Watched::below("target", t.service().guard_pid())));
        watched.extend(self.lab.iter().flat_map(Lab::backend_services).map(Watched::from));
        watched
    }
}

/// What happened while the load was held, by step.
pub fn held(series: &Series) -> Vec<Counts> {
    series.phase(Phase::Hold)
}

fn unverified(error: VerifyError) -> Failure {
    Failure::new(Exit::Target, error)
}

/// `work`, unless it is interrupted first.
async fn unless<T>(
    interrupt: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, Stopped> {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => Err(Stopped::Interrupted),
        result = work => Ok(result),
    }
}
