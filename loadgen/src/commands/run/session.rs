//! The measuring: rounds over targets, one target up at a time.

use std::future::Future;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::calibration::{calibration, can_be_told};
use super::control::Control;
use super::fail_fast::FailFast;
use super::generator::Generator;
use super::job::Job;
use super::keeper::{Keeper, Keeping};
use super::measured::{Loaded, Measured, Round, held};
use super::order::order;
use super::shown::Shown;
use super::watch::{Services, Watch};
use super::{control, losses, proof, workers};
use crate::cluster::Seen;
use crate::commands::{Exit, Failure};
use crate::engine::{self, Came, Orders, Plan, Verified};
use crate::lab::{Lab, Layout, Observed, Target};
use crate::measure::{Calibration, ChangeRecord, GrowingSeries, StoppedEarly};
use crate::report::Progress;

/// What is said of proofs where there is no lab.
const NO_BACKENDS: &str =
    "proofs are left out: loadgen runs no backends beside the server at --url";

/// A run under way.
pub struct Session<'a> {
    job: &'a Job,
    lab: Option<Lab>,
    generator: Generator,
    progress: &'a mut Progress,
    layout: &'a Layout,
    /// The folder for workers' logs.
    logs: PathBuf,
    interrupt: CancellationToken,
    /// Who may change the load, while it is on.
    control: Option<Control>,
    /// What ends the run early, where that was asked for.
    fail_fast: Option<FailFast<'a>>,
    /// What saves the run while it goes on, if anything does.
    keeper: Option<&'a Keeper<'a>>,
    /// What the generator can send, once that was looked for.
    calibration: Option<Option<Calibration>>,
}

/// Why a run goes no further.
pub enum Stopped {
    /// By a signal.
    Interrupted,
    /// By an error.
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
        layout: &'a Layout,
        logs: &Path,
        interrupt: CancellationToken,
    ) -> Self {
        let fail_fast = job.fail_fast.then(|| FailFast::new(&job.scenario));
        Self {
            job,
            lab,
            generator: Generator::Process,
            progress,
            layout,
            logs: logs.to_owned(),
            interrupt,
            control: None,
            fail_fast,
            keeper: None,
            calibration: None,
        }
    }

    /// The same, saved while it goes on.
    pub fn kept_by(self, keeper: &'a Keeper<'a>) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    /// The same, whose rounds are `control`'s to change.
    #[must_use]
    pub fn with_control(self, control: Control) -> Self {
        Self { control: Some(control), ..self }
    }

    /// Measures all rounds, or as many as an interrupt or an error allow.
    pub async fn measure(&mut self) -> Measured {
        let mut measured = Measured::default();
        if let Err(Stopped::Failed(failure)) = self.rounds(&mut measured).await {
            measured.failure = Some(failure);
        }
        // An interrupt before the load was held leaves nothing to tell.
        measured.rounds.retain(|round| !round.yielded.held.is_zero());
        measured
    }

    /// The lab, for what there is to tell about it.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// What shows how far it is.
    pub fn progress(&mut self) -> &mut Progress {
        self.progress
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

    async fn rounds(&mut self, measured: &mut Measured) -> Result<(), Stopped> {
        self.start().await?;
        measured.workers = self.generator.workers();
        if let Some(lab) = &self.lab {
            measured.backends = lab.backend_versions().await;
        }
        self.try_proofs().await?;
        let targets = self.job.contenders.len();
        for number in 1..=self.job.rounds {
            for target in order(targets, self.job.seed, number) {
                let result = self.round(target, number, measured).await;
                measured.calibration = self.calibration();
                result?;
                if let Some(keeper) = self.keeper {
                    keeper.keep(measured, self.lab.as_ref());
                }
                if self.interrupt.is_cancelled() {
                    return Err(Stopped::Interrupted);
                }
                if let Some(round) = measured.rounds.last()
                    && losses::are_too_many(&round.yielded, self.job.on_loss, &self.generator)
                {
                    return Ok(losses::end(&round.yielded)?);
                }
                measured.stopped_early = self.stopped_early(measured.rounds.last());
                if measured.stopped_early.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The threshold that failed in this round, which is over, or before its end.
    fn stopped_early(&mut self, round: Option<&Round>) -> Option<StoppedEarly> {
        let (watch, round) = (self.fail_fast.as_mut()?, round?);
        watch.round_over(round.target, round.yielded.held);
        watch.failed().map(|threshold| StoppedEarly {
            target: self.job.contenders[round.target].name.clone(),
            round: round.number,
            threshold: threshold.to_string(),
        })
    }

    /// Starts what runs through all rounds: backends and workers.
    pub async fn start(&mut self) -> Result<(), Stopped> {
        let interrupt = self.interrupt.clone();
        if let Some(lab) = &mut self.lab {
            unless(&interrupt, lab.start_backends(&self.job.scenario.backends))
                .await?
                .map_err(Failure::from)?;
        }
        let gathered = workers::gather(self.job, &self.logs, self.progress);
        if let Some(cluster) =
            unless(&interrupt, gathered).await?.map_err(Failure::with(Exit::Failed))?
        {
            self.progress.joined(cluster.roster());
            let cluster = cluster.on_loss(self.job.on_loss);
            self.generator = Generator::Workers(Box::new(cluster));
        }
        Ok(())
    }

    /// Asks the scenario's questions once, so that one that has no answer takes nobody's time.
    async fn try_proofs(&self) -> Result<(), Stopped> {
        let scenario = &self.job.scenario;
        match &self.lab {
            _ if scenario.proofs.is_empty() => {}
            None => self.progress.note(NO_BACKENDS),
            Some(lab) => {
                unless(&self.interrupt, lab.fill()).await?.map_err(Failure::from)?;
                self.ask(lab).await?;
            }
        }
        Ok(())
    }

    /// What the backends answer to the scenario's questions.
    async fn ask(&self, lab: &Lab) -> Result<Vec<i64>, Stopped> {
        let asked = unless(&self.interrupt, proof::ask(lab, &self.job.scenario)).await?;
        Ok(asked.map_err(Failure::from)?)
    }

    /// What the generator can send at most, as far as it is known by now.
    pub fn calibration(&self) -> Option<Calibration> {
        self.calibration.flatten()
    }

    /// Finds that out, after the first verification: a target's answers are needed for it.
    async fn calibrate(&mut self, answers: &[Came]) -> Result<(), Stopped> {
        if self.calibration.is_some() || !can_be_told(self.job, self.layout, answers) {
            return Ok(());
        }
        self.progress.phase("finding out what the generator can send");
        let (job, layout, interrupt) = (self.job, self.layout, &self.interrupt);
        let found = calibration(job, layout, &mut self.generator, answers, interrupt).await?;
        self.calibration = Some(found);
        if self.interrupt.is_cancelled() { Err(Stopped::Interrupted) } else { Ok(()) }
    }

    /// One round: fill the backends, start the target, verify it, load it, stop it. What was
    /// measured is in `measured` even where something fails afterwards.
    async fn round(
        &mut self,
        target: usize,
        number: u32,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let contender = &self.job.contenders[target];
        let log = contender.log(number, self.job.is_matrix());
        let (url, mut running) = self.up(target, &log).await?;
        let plan = self.job.plan(target, url.clone(), number);
        let planned = self.job.scenario.load.held();
        // Where this machine makes the load, saving would cost what is being measured.
        let keeper = self.keeper.filter(|_| self.job.remote.is_some());
        let keeping = keeper.map(|keeper| {
            let round = Round::begun(target, number, &url, self.job.scenario.load.users);
            Keeping::new(keeper, measured, round, &plan)
        });
        let result = self.load(target, &contender.name, plan, running.as_mut(), keeping).await;
        let stopped = match running {
            Some(running) => running.stop().await.map_err(Failure::from),
            None => Ok(()),
        };
        let Loaded { verified, yielded, observed, ended } = result?;
        let failed = self.fail_fast.as_ref().is_some_and(|watch| watch.failed().is_some());
        let cut = self.interrupt.is_cancelled() || (failed && planned != Some(yielded.held));
        let all_of_it = yielded.is_whole() && yielded.ran_out.is_empty();
        let changes: Vec<ChangeRecord> =
            yielded.changes.iter().map(|c| control::recorded(c, self.job.warmup)).collect();
        let whole = all_of_it && changes.is_empty() && ended.is_none() && !cut;
        let how = ended.as_ref().map(ToString::to_string);
        let users = yielded.users;
        let mut round = Round {
            yielded,
            observed,
            verified,
            changes,
            whole,
            ended: how,
            ..Round::begun(target, number, &url, users)
        };
        let asked = match &self.lab {
            Some(lab) if whole => self.ask(lab).await,
            _ => Ok(Vec::new()),
        };
        let asked = asked.map(|answers| round.answers = answers);
        measured.rounds.push(round);
        if let Some(error) = ended {
            return Err(Failure::from(error).into());
        }
        stopped?;
        asked
    }

    /// Fills the backends and starts the target: where it answers, and what runs there unless
    /// that is a server that ran already.
    pub async fn up(&self, target: usize, log: &str) -> Result<(String, Option<Target>), Stopped> {
        if let Some(server) = self.job.running(target) {
            return Ok((server.url.clone(), None));
        }
        match (&self.lab, self.job.target(target)) {
            (Some(lab), Some(spec)) => {
                let contender = &self.job.contenders[target];
                self.progress.step(&format!("starting {}", contender.name));
                let started = async {
                    lab.fill().await?;
                    lab.start_target(&spec.name, log, contender.server_workers).await
                };
                let running = unless(&self.interrupt, started).await?.map_err(Failure::from)?;
                Ok((running.url.clone(), Some(running)))
            }
            _ => Err(Stopped::Interrupted),
        }
    }

    /// Sends each step once. Where that goes wrong as a service has ended, that is why.
    async fn verify(
        &mut self,
        plan: &Plan,
        name: &str,
        running: Option<&mut Target>,
    ) -> Result<Verified, Stopped> {
        let verified = unless(&self.interrupt, engine::verify(plan, name)).await?;
        let mut services = Services { target: running, lab: self.lab.as_mut() };
        Ok(verified.map_err(|error| match services.ended() {
            // It tells more than what was seen of it.
            Some(ended) => Failure::from(ended),
            None => Failure::with(Exit::Target)(error),
        })?)
    }

    /// Verifies the target and puts the load on it, until its planned end or that of a service.
    pub async fn load(
        &mut self,
        target: usize,
        name: &str,
        plan: Plan,
        mut running: Option<&mut Target>,
        mut keeping: Option<Keeping<'_>>,
    ) -> Result<Loaded, Stopped> {
        self.progress.round_started(name);
        let Verified { counters: verified, answers } =
            self.verify(&plan, name, running.as_deref_mut()).await?;
        self.calibrate(&answers).await?;
        let mut services = Services { target: running, lab: self.lab.as_mut() };
        let over = CancellationToken::new();
        let watched = services.watched(&self.generator);
        let watch = Watch::new(watched, &plan, over.clone());
        let mut watch = Some(watch.telling(self.progress.cpu_teller()));
        let mut observed = None;
        let (progress, fail_fast) = (&mut *self.progress, &mut self.fail_fast);
        let stop = self.interrupt.child_token();
        let on_loss = self.job.on_loss;
        let mut shown = Shown::new(&plan, self.control.as_ref());
        let show = |seen: Seen<'_>, results: &mut GrowingSeries| match seen {
            Seen::Started(start) => {
                observed = watch.take().map(|watch| watch.from(start.into()));
                shown.start(start, progress);
            }
            Seen::Snapshot(worker, snapshot) => {
                progress.snapshot(worker, snapshot, results);
                if let Some(keeping) = &mut keeping {
                    keeping.reached(snapshot.number);
                }
                if let Some(watch) = fail_fast {
                    watch.snapshot(target, snapshot);
                    if watch.failed().is_some() {
                        stop.cancel();
                    }
                }
            }
            Seen::Lost(lost) => {
                progress.lost(lost.worker);
                progress.note(&losses::note(lost, on_loss));
            }
            Seen::Tick => {
                shown.tick(progress, results);
                if let Some(keeping) = &mut keeping {
                    keeping.save_when_due(results);
                }
            }
        };
        let mut orders = Orders::from(stop.clone());
        if let Some(control) = &self.control {
            orders.changes = control.open(name, &plan);
        }
        let round = self.generator.round(plan, orders, show);
        let (yielded, ended) = services.during(round, &stop).await;
        over.cancel();
        let observed = match observed {
            Some(observed) => observed.await.unwrap_or_default(),
            None => Observed::default(),
        };
        let yielded = yielded?;
        let answered: u64 = held(&yielded.series).iter().map(|step| step.answered.len()).sum();
        self.progress.round_finished(answered as f64 / yielded.held.as_secs_f64().max(1e-9));
        Ok(Loaded { verified, yielded, observed, ended })
    }
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
