//! Keeps what there is of a run in its folder while it goes on: whoever kills loadgen takes no more of it
//! along than the last second, or, of a very long run, the last few.

use std::cell::OnceCell;
use std::time::{Duration, Instant, SystemTime};

use super::environment::environment;
use super::folder::RunFolder;
use super::job::Job;
use super::measured::{Measured, Round};
use super::record::{self, Context};
use crate::engine::Plan;
use crate::lab::{Lab, Layout};
use crate::measure::{Environment, GrowingSeries};

/// How long after the first worker's results of a second those of the others are waited for.
const SETTLE: Duration = Duration::from_millis(200);

/// What saves a run.
pub struct Keeper<'a> {
    job: &'a Job,
    folder: &'a RunFolder,
    layout: &'a Layout,
    started: SystemTime,
    environment: OnceCell<Environment>,
}

impl<'a> Keeper<'a> {
    /// For a run that begins now.
    pub fn new(job: &'a Job, folder: &'a RunFolder, layout: &'a Layout) -> Self {
        let (started, environment) = (SystemTime::now(), OnceCell::new());
        Self { job, folder, layout, started, environment }
    }

    /// What the record of the run tells besides what was `measured`.
    pub fn context<'b>(
        &self,
        measured: &Measured,
        lab: Option<&'b Lab>,
        interrupted: bool,
    ) -> Context<'b> {
        let found = self
            .environment
            .get_or_init(|| environment(self.job, lab, self.layout, &measured.backends));
        Context {
            environment: found.clone(),
            lab,
            started: self.started,
            interrupted,
            noise_floor: None,
        }
    }

    /// Saves what was measured so far, as a run that was interrupted.
    pub fn keep(&self, measured: &Measured, lab: Option<&Lab>) {
        let record = record::build(self.job, measured, self.context(measured, lab, true));
        // Why it can't be saved is told at the end.
        let _ = self.folder.save(&record);
    }
}

/// How many times as long as it took to save a run it is left alone: the longer a run is, the longer that
/// takes, and it shall take a fiftieth of a core at the most.
const REST: u32 = 50;

/// Saves a round while it goes on.
pub struct Keeping<'a> {
    keeper: &'a Keeper<'a>,
    measured: &'a mut Measured,
    /// As far as it came.
    round: Option<Round>,
    /// Before its load is held.
    before: Duration,
    /// How long that is, at the most.
    held: Option<Duration>,
    /// When there will be something to save, if there is.
    due: Option<Instant>,
    /// When it may be saved again.
    rested: Instant,
}

impl<'a> Keeping<'a> {
    /// For a `round` of this plan, whose results are still to come.
    pub fn new(
        keeper: &'a Keeper<'a>,
        measured: &'a mut Measured,
        round: Round,
        plan: &Plan,
    ) -> Self {
        let (before, held) = (plan.warmup + plan.ramp_up(), plan.scenario.load.held());
        Self {
            keeper,
            measured,
            round: Some(round),
            before,
            held,
            due: None,
            rested: Instant::now(),
        }
    }

    /// The snapshot of this number has come from a worker.
    pub fn reached(&mut self, number: u32) {
        let Some(round) = &mut self.round else { return };
        // Drained at the turn of each second, counted from the end of the warm-up.
        let part = Duration::from_nanos(self.before.subsec_nanos().into());
        let reaches = Duration::from_secs(u64::from(number) + 1) + part;
        let held = reaches.saturating_sub(self.before);
        let yielded = &mut round.yielded;
        yielded.held = yielded.held.max(self.held.map_or(held, |most| held.min(most)));
        self.due.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// Saves all `results`, once all that belongs to the same second can be here.
    pub fn save_when_due(&mut self, results: &mut GrowingSeries) {
        let now = Instant::now();
        if now < self.rested || self.due.take_if(|due| now >= *due).is_none() {
            return;
        }
        if let Some(mut round) = self.round.take_if(|round| !round.yielded.held.is_zero()) {
            std::mem::swap(&mut round.yielded.series, results.packed());
            self.measured.rounds.push(round);
            self.keeper.keep(self.measured, None);
            self.round = self.measured.rounds.pop();
            if let Some(round) = &mut self.round {
                std::mem::swap(&mut round.yielded.series, results.packed());
            }
            self.rested = Instant::now() + now.elapsed() * REST;
        }
    }
}
