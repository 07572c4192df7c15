//! Measures rounds over targets, with only one target running at a time unless a job asks for another
//! order: see `duet.rs`, `slices.rs` and `standing.rs`.

mod account;
mod backend_alone;
mod calibration;
mod duet;
mod generator;
mod load;
mod pods;
mod preparation;
mod probe;
mod profiling;
mod refusals;
mod relay;
mod round_steps;
mod service_monitor;
mod settled;
mod slices;
mod standing;
mod stopped;
mod worker_losses;
mod workers;

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use self::calibration::{calibration, can_be_told};
use self::generator::Generator;
use self::pods::ReadyPods;
use self::probe::Probe;
pub use self::profiling::ToProfile;
use self::standing::{ContenderIndex, Standing};
pub use self::stopped::Stopped;
use self::stopped::unless;
use crate::analysis::statistics::order;
use crate::engine::{Host, Plan, Results, TrialAnswer};
use crate::experiment::control::Control;
use crate::experiment::job::{Job, Method};
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::{Begun, Event, Observers, SoFar};
use crate::failure::Failure;
use crate::lab::{Lab, Layout, Turn};
use crate::measure::PostgresActivity;
use crate::record::Calibration;
use crate::scenario::Backend;
use crate::text::with_code;

/// Estimated duration of a round besides warm-up and load: the
/// target's start, verification and stop.
pub const OVERHEAD: Duration = Duration::from_secs(2);

/// Estimated duration of a slice that is not the first of its start, besides warm-up and load: the
/// verification, the connections of the users, and the requests that are still in flight at the end.
pub const SLICE_OVERHEAD: Duration = Duration::from_millis(150);

/// An experiment in progress.
pub struct Session<'a> {
    /// Jobs whose rounds are interleaved. Not empty.
    jobs: &'a [Job],
    /// Index of the job in progress.
    current: usize,
    lab: Option<Lab>,
    /// Targets that are up without load.
    standing: Standing,
    /// Pods of the servers that loadgen has deployed in a cluster, by the name of the server.
    pods: BTreeMap<String, ReadyPods>,
    /// Pods of the backends that loadgen has deployed there.
    backend_pods: BTreeMap<Backend, ReadyPods>,
    generator: Generator,
    /// Process that measures beside the load, if the jobs have one, from the start of the services on.
    probe: Option<Probe>,
    observers: Observers<'a>,
    layout: &'a Layout,
    /// Folder for workers' logs.
    logs: PathBuf,
    interrupt: CancellationToken,
    /// Control through which a user may change the load of a round, if any.
    control: Option<Control>,
    /// This process's part in a measurement, by which it sees other measurements on this machine.
    turn: Option<Arc<Turn>>,
    /// Number of the first round of this process, in which answers must be those that the scenario expects.
    first_round: u32,
    /// Moment up to which the time of the rounds is known.
    timed_until: Instant,
    /// Whether targets are started under a profiler.
    is_profiling: bool,
    /// Maximum rate of the generator for each job. The outer option is `None` before the
    /// calibration; the inner option is `None` if the calibration gave no rate.
    calibrations: Vec<Option<Option<Calibration>>>,
}

impl<'a> Session<'a> {
    /// Creates a session over jobs that differ in scenario, contenders, rounds and warm-up; `jobs` is not
    /// empty. Services are started when needed. `lab` is `None` for a server that runs already.
    pub fn new(
        jobs: &'a [Job],
        lab: Option<Lab>,
        observers: Observers<'a>,
        layout: &'a Layout,
        logs: &Path,
        interrupt: CancellationToken,
    ) -> Self {
        Self {
            jobs,
            current: 0,
            lab,
            standing: Standing::default(),
            pods: BTreeMap::new(),
            backend_pods: BTreeMap::new(),
            generator: Generator::Process,
            probe: None,
            observers,
            layout,
            logs: logs.to_owned(),
            interrupt,
            control: None,
            turn: None,
            first_round: 1,
            timed_until: Instant::now(),
            is_profiling: false,
            calibrations: vec![None; jobs.len()],
        }
    }

    /// Returns the session with a control through which a user may change the load of rounds.
    #[must_use]
    pub fn with_control(self, control: Control) -> Self {
        Self { control: Some(control), ..self }
    }

    /// Returns the session with this process's part in a measurement.
    #[must_use]
    pub fn in_turn(self, turn: Option<Turn>) -> Self {
        Self { turn: turn.map(Arc::new), ..self }
    }

    /// Measures all rounds of the jobs of these indices, or as many as an interrupt or an error
    /// allows. `measured` receives the results of each of these jobs, in their order.
    pub async fn measure(&mut self, jobs: Range<usize>, measured: &mut [Measured]) {
        let rounds = 1..=self.jobs[jobs.start].rounds;
        self.measure_rounds(jobs, rounds, measured).await;
    }

    /// Measures the rounds of these numbers, as [`Self::measure`] does. The first round has the number
    /// 1, and comes first.
    pub async fn measure_rounds(
        &mut self,
        jobs: Range<usize>,
        rounds: RangeInclusive<u32>,
        measured: &mut [Measured],
    ) {
        self.turn_to(jobs.start);
        if let Err(Stopped::Failed(failure)) = self.rounds(jobs.clone(), rounds, measured).await {
            measured[self.current - jobs.start].failure = Some(failure);
        }
        // A round that was interrupted before the hold has no results.
        measured.iter_mut().for_each(|job| job.rounds.retain(|round| !round.held.is_zero()));
    }

    /// Ends the one start that the rounds of a job with [`Method::OneStart`] share. `measured` receives
    /// the error of a target that did not stop in good order, if any.
    pub async fn end_start(&mut self, measured: &mut Measured) {
        if let Err(Stopped::Failed(failure)) = self.stop_all().await {
            measured.failure.get_or_insert(failure);
        }
    }

    /// Makes the round of this number the first one, because an earlier process has measured those before it.
    pub fn begin_with(&mut self, round: u32) {
        self.first_round = round;
    }

    /// Makes the job of this index the job in progress.
    pub fn turn_to(&mut self, job: usize) {
        self.current = job;
    }

    /// Returns the job in progress.
    pub(super) fn job(&self) -> &'a Job {
        &self.jobs[self.current]
    }

    /// Returns whether a signal or a user's request has interrupted the experiment.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_cancelled()
    }

    /// Returns whether too many workers are lost for another round, or the probe is.
    pub fn is_degraded(&self) -> bool {
        !self.generator.can_go_on() || self.probe.as_ref().is_some_and(|probe| !probe.can_go_on())
    }

    /// Returns the number of workers that share the load, and the host of each that has joined from elsewhere.
    pub fn workers(&self) -> (u32, BTreeMap<u32, Host>) {
        (self.generator.workers(), self.generator.hosts())
    }

    /// Waits until this moment, or until the experiment is interrupted.
    pub async fn wait_until(&self, moment: Instant) -> Result<(), Stopped> {
        unless(&self.interrupt, tokio::time::sleep_until(moment.into())).await
    }

    /// Returns the lab, which runs targets and backends; `None` for a server that runs already.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// Passes an event to all observers.
    pub fn tell(&mut self, event: Event<'_>) {
        self.observers.tell(event);
    }

    /// Tells observers that a round is over, with the results so far.
    pub fn round_over(&mut self, so_far: SoFar<'_>) {
        self.observers.tell(Event::RoundOver(so_far, self.lab.as_ref()));
    }

    /// Like [`Self::round_over`] for a run, to whose time the round adds.
    pub(super) fn round_of_run_over(&mut self, job: usize, measured: &mut Measured) {
        let now = Instant::now();
        measured.took += now - std::mem::replace(&mut self.timed_until, now);
        self.round_over(SoFar::Run(job, measured));
    }

    /// Stops the workers, the probe and the lab.
    pub async fn close(mut self) {
        self.tell(Event::Step("stopping"));
        self.generator.close().await;
        if let Some(probe) = self.probe {
            Box::pin(probe.close()).await;
        }
        if let Some(lab) = self.lab
            && let Err(error) = lab.stop().await
        {
            self.observers.tell(Event::Note(&with_code(&error)));
        }
    }

    async fn rounds(
        &mut self,
        jobs: Range<usize>,
        rounds: RangeInclusive<u32>,
        measured: &mut [Measured],
    ) -> Result<(), Stopped> {
        self.start(&self.jobs[jobs.clone()]).await?;
        let workers = self.generator.workers();
        let backends = match &self.lab {
            Some(lab) => lab.backend_versions().await,
            None => BTreeMap::new(),
        };
        for of in measured.iter_mut() {
            (of.workers, of.backends) = (workers, backends.clone());
        }
        let turns: Vec<ContenderIndex> = jobs
            .clone()
            .flat_map(|job| (0..self.jobs[job].contenders.len()).map(move |of| (job, of)))
            .collect();
        let Job { seed, method, .. } = *self.job();
        if *rounds.start() == 1 {
            self.try_proofs(&self.jobs[jobs.clone()]).await?;
            match method {
                Method::OneStart(_) => self.start_all(&turns, 1).await?,
                _ if self.lab.is_some() && turns.len() > 1 => self.preflight(&turns).await?,
                _ => {}
            }
        }
        // The wait for workers is not the time of a round.
        self.timed_until = Instant::now();
        match method {
            Method::Rounds | Method::OneStart(_) => {}
            Method::Duets => return self.duets(rounds, &mut measured[0]).await,
            Method::Slices(slicing) => {
                return self.slices(rounds, slicing, &mut measured[0]).await;
            }
        }
        for number in rounds {
            for turn in order(turns.len(), seed, number) {
                let (job, contender) = turns[turn];
                self.current = job;
                let measured = &mut measured[job - jobs.start];
                let result = match method {
                    Method::OneStart(_) => self.load_standing(contender, number, measured).await,
                    _ => self.round(contender, number, measured).await,
                };
                measured.calibration = self.calibration();
                result?;
                if self.is_over(job, measured)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Tells observers that a round of this job is over, and returns whether the run ends with it.
    pub(super) fn is_over(&mut self, job: usize, measured: &mut Measured) -> Result<bool, Stopped> {
        self.round_of_run_over(job, measured);
        if self.interrupt.is_cancelled() {
            return Err(Stopped::Interrupted);
        }
        let on_loss = self.job().on_loss;
        if let Some(round) = measured.rounds.last()
            && (worker_losses::are_too_many(&round.results, on_loss, &self.generator)
                || self.is_degraded())
        {
            worker_losses::end(round)?;
            return Ok(true);
        }
        measured.stopped_early = self.observers.stopped().cloned();
        Ok(measured.stopped_early.is_some())
    }

    /// Returns the maximum rate of the generator, if known by now.
    pub fn calibration(&self) -> Option<Calibration> {
        self.calibrations[self.current].flatten()
    }

    /// Measures the generator's maximum rate, once for all rounds. `answers` are the target's
    /// answers to the verification, and `known` the values that all users have: the calibration needs both.
    pub(super) async fn calibrate(
        &mut self,
        answers: &[TrialAnswer],
        known: &[(String, String)],
    ) -> Result<(), Stopped> {
        let is_known = self.calibrations[self.current].is_some();
        if is_known || !can_be_told(self.job(), self.layout, answers) {
            return Ok(());
        }
        self.tell(Event::Phase("measuring the maximum rate of the generator"));
        let (job, layout, interrupt) = (self.job(), self.layout, &self.interrupt);
        let found =
            calibration(job, layout, &mut self.generator, answers, known, interrupt).await?;
        self.calibrations[self.current] = Some(found);
        if self.interrupt.is_cancelled() { Err(Stopped::Interrupted) } else { Ok(()) }
    }

    /// Runs one round: fills the backends with data, then starts, verifies, loads and stops the
    /// target. The results are in `measured` even if something fails after the load.
    async fn round(
        &mut self,
        contender: usize,
        number: u32,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let job = self.job();
        let of = &job.contenders[contender];
        let log = of.log(number, job.is_matrix());
        let (url, mut running) = self.up(contender, &log).await?;
        let plan = job.plan(contender, url, number);
        let group = job.group.as_deref();
        let begun = Begun { contender, number, name: &of.name, group, plan: &plan };
        let before = self.postgres_activity().await;
        let result = self.load(begun, Some(measured), running.as_mut()).await;
        let stopped = match running {
            Some(running) => running.stop().await.map_err(Failure::from),
            None => Ok(()),
        };
        let (round, ended) = result?;
        let whole = self.is_whole(&plan, &round);
        // The target has ended, so that PostgreSQL has counted all that its connections did.
        let after = self.postgres_activity().await;
        let postgres = after.zip(before).map(|(after, before)| after.since(&before));
        let cut = self.interrupt.is_cancelled() || self.observers.stopped().is_some();
        let account = self.account(&plan, &round, cut || ended.is_some()).await;
        let mut round = MeasuredRound { postgres, whole, cut, account, ..round };
        let asked = match &self.lab {
            Some(lab) if round.whole => self.ask(lab, job).await,
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

    /// Returns whether a round reached its planned end with exactly the planned load.
    pub(super) fn is_whole(&self, plan: &Plan, round: &MeasuredRound) -> bool {
        let MeasuredRound { results, probe, held, ended, .. } = round;
        let was_stopped = self.observers.stopped().is_some();
        let planned = plan.scenario.load.held();
        let cut = self.interrupt.is_cancelled() || (was_stopped && planned != Some(*held));
        let is_spoiled = results.held_up().any(|(_, held_up)| held_up.spoils(*held));
        let all_of_it = results.is_whole()
            && !is_spoiled
            && probe.as_ref().is_none_or(Results::is_whole)
            && results.ran_out().is_empty();
        all_of_it && results.changes.is_empty() && ended.is_none() && !cut
    }

    /// Reads PostgreSQL's statistics; `None` if the lab does not run PostgreSQL.
    async fn postgres_activity(&self) -> Option<PostgresActivity> {
        self.lab.as_ref()?.postgres_activity().await
    }
}
