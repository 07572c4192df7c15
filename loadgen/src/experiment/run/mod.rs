//! Implements the run: several rounds of the same load on each contender.

mod autosave;
mod fail_fast;
pub mod noise_floor;
pub mod precision;
pub mod resume;

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use self::autosave::Autosave;
use self::fail_fast::FailFast;
use self::precision::Precision;
use self::resume::{Checkpoint, Kept, Resumable};
use super::folder::RunFolder;
use super::job::Job;
use super::kind::Experiment;
use super::measured::Measured;
use super::observe::{Event, Observe};
use super::profiles::Profiles;
use super::session::{OVERHEAD, SLICE_OVERHEAD, Session, Stopped, ToProfile};
use super::site::Site;
use super::subject::Subject;
use super::to_record::{self, Context};
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::record::{GateRecord, Judgement, RunRecord, VerdictKind};
use crate::text::{counted, duration};

/// Most contenders whose names are announced.
const MOST_NAMED: usize = 8;

/// A run, with its options: the same load on each contender, in several rounds.
pub struct Run {
    /// Targets, load and settings of the run.
    pub job: Job,
    /// Whether the first threshold that fails ends the run.
    pub fail_fast: bool,
    /// Greatest accepted loss of each target compared with the first, in %; `None` to accept any.
    pub fail_on_regression: Option<f64>,
    /// Precision that decides on the number of rounds; `None` for a fixed number.
    pub precision: Option<Precision>,
    /// Number of profiling rounds over each contender, after the measured rounds; 0 for none.
    pub profiling_rounds: u32,
    /// State by which another manager can resume the run, or by which this one resumes it; `None` if the run cannot be
    /// resumed.
    pub resumable: Option<Resumable>,
}

impl Run {
    /// Measures all rounds that are not kept from an earlier manager.
    async fn measure_rounds(&self, session: &mut Session<'_>, site: &Site<'_>) -> Measured {
        let mut measured = self.kept().map(Kept::take).unwrap_or_default();
        let before = measured.rounds.len();
        match &self.precision {
            Some(precision) => precision.measure(self, session, site, &mut measured).await,
            None => {
                let rounds = self.next_round()..=self.job.rounds;
                self.measure_these(rounds, session, &mut measured).await;
            }
        }
        if measured.rounds.len() == before {
            if measured.failure.is_some() || session.is_interrupted() {
                // The folder stays as it is, and the run can be resumed again.
                measured.rounds.clear();
            } else if self.kept().is_some() {
                session.tell(Event::Note(
                    "all rounds of the run are kept: its result needs no workers",
                ));
            }
        }
        measured
    }

    /// Measures the rounds of these numbers. Waits for the workers of a resumed run before its first round, so that a run
    /// whose rounds are all kept does without.
    async fn measure_these(
        &self,
        rounds: RangeInclusive<u32>,
        session: &mut Session<'_>,
        measured: &mut Measured,
    ) {
        if rounds.is_empty() {
            return;
        }
        if let Some(resumable) = &self.resumable {
            match resumable.take_up(*rounds.start(), session, &self.job, measured).await {
                Ok(()) => {}
                Err(Stopped::Interrupted) => return,
                Err(Stopped::Failed(failure)) => return measured.failure = Some(failure),
            }
        }
        session.measure_rounds(0..1, rounds, std::slice::from_mut(measured)).await;
    }

    /// Returns the number of the first round that is not kept from an earlier manager.
    fn next_round(&self) -> u32 {
        self.kept().map_or(1, |kept| kept.next)
    }

    /// Returns the run that this one resumes, if any.
    fn kept(&self) -> Option<&Kept> {
        self.resumable.as_ref().and_then(Resumable::kept)
    }

    /// Loads each contender in profiling rounds, under the load of the measured ones.
    async fn profile(&self, session: &mut Session<'_>, measured: &mut Measured) {
        let of = ToProfile {
            contenders: &(0..self.job.contenders.len()).collect::<Vec<_>>(),
            rounds: self.profiling_rounds,
            last: measured.rounds.iter().map(|round| round.number).max().unwrap_or(0),
            plan: &|contender, url, number| self.job.plan(contender, url, number),
        };
        session.profile(of, &mut measured.profiles).await;
    }
}

impl Experiment for Run {
    type Measured = Measured;
    type Record = RunRecord;

    const CAN_CHANGE: bool = true;

    fn resumes(&self) -> Option<&Path> {
        self.kept().map(|kept| kept.folder.as_path())
    }

    fn name(&self) -> &str {
        &self.job.scenario.name
    }

    fn jobs(&self) -> &[Job] {
        std::slice::from_ref(&self.job)
    }

    fn forecast(&self) -> (u32, Option<Duration>) {
        let length = |number| self.job.plan(0, String::new(), number).length();
        let each = match self.job.method.slicing() {
            None => length(1).map(|length| length + OVERHEAD),
            // The mean of the slices of a start: the first has the whole warm-up.
            Some(slicing) => length(1).zip(length(2)).map(|(first, later)| {
                let later = (later + SLICE_OVERHEAD) * (slicing.slices - 1);
                (OVERHEAD + first + later) / slicing.slices
            }),
        };
        let rounds = (self.job.rounds + 1).saturating_sub(self.next_round());
        (rounds * self.job.passes(), each)
    }

    fn announcement(&self) -> Option<String> {
        let Subject::Lab { .. } = self.job.subject else { return None };
        let (rounds, length) = self.forecast();
        let names = self.job.names();
        let all = match names.len() {
            1..=MOST_NAMED => names.join(", "),
            several => format!("{several} contenders"),
        };
        let what = match self.job.method.slicing() {
            None => counted(rounds.into(), "round"),
            Some(slicing) => {
                let starts = counted(self.job.rounds.into(), "start");
                format!("{starts} of {} slices each", slicing.slices)
            }
        };
        let time = length.map(|each| format!(", about {}", duration(each * rounds)));
        Some(format!("{what} over {all}{}", time.unwrap_or_default()))
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        let mut observers: Vec<Box<dyn Observe>> =
            vec![Box::new(Autosave::new(&self.job, site, folder))];
        if let Some(resumable) = &self.resumable {
            observers.push(Box::new(Checkpoint::new(resumable, &self.job, site, folder.path())));
        }
        if self.fail_fast {
            let watch = FailFast::new(&self.job.scenario);
            let kept = self.kept().map(Kept::rounds);
            observers.push(Box::new(
                kept.iter().flat_map(|all| all.iter()).fold(watch, FailFast::after),
            ));
        }
        if self.profiling_rounds > 0 {
            observers.push(Box::new(Profiles::new(folder)));
        }
        observers
    }

    async fn measure(&self, session: &mut Session<'_>, site: &Site<'_>) -> Measured {
        let mut measured = self.measure_rounds(session, site).await;
        let is_cut = measured.failure.is_some() || measured.stopped_early.is_some();
        if self.profiling_rounds > 0
            && !is_cut
            && !session.is_interrupted()
            && !session.is_degraded()
        {
            self.profile(session, &mut measured).await;
            let record = self.record(&measured, site, session.lab(), false);
            session.tell(Event::ProfilesOver(&record));
        }
        measured
    }

    fn is_empty(measured: &Measured) -> bool {
        measured.rounds.is_empty()
    }

    fn failure(measured: Measured) -> Option<Failure> {
        measured.failure
    }

    fn record(
        &self,
        measured: &Measured,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> RunRecord {
        let context = Context::of(&self.job, site, &measured.backends, lab, interrupted);
        let record = to_record::build(&self.job, measured, None, context);
        // A run that measures the noise floor has its own result.
        let noise_floor = noise_floor::known(&self.job).filter(|_| !self.job.aa);
        let gate = self.fail_on_regression.map(|percent| GateRecord::of(&record, percent));
        let precision = self.precision.as_ref().map(|it| it.record(&record, measured));
        RunRecord { noise_floor, gate, precision, ..record }
    }

    fn exit(record: &RunRecord, failed: Option<Exit>) -> Exit {
        let has = |is: fn(VerdictKind) -> bool| record.verdicts.iter().any(|it| is(it.kind));
        let gate = |judgement| record.gate.as_ref().is_some_and(|gate| gate.has(judgement));
        if record.interrupted {
            Exit::Interrupted
        } else if let Some(exit) = failed {
            exit
        } else if record.degraded.is_some() {
            Exit::Degraded
        } else if record.stopped_early.is_some() {
            Exit::Threshold
        } else if has(|kind| kind.is_failure() && kind != VerdictKind::ProofFailed) {
            Exit::Failed
        } else if record.thresholds.iter().any(|threshold| !threshold.passed)
            || has(|kind| kind == VerdictKind::ProofFailed)
            || gate(Judgement::Slower)
        {
            Exit::Threshold
        } else if gate(Judgement::Unjudged) {
            Exit::Failed
        } else {
            Exit::Done
        }
    }
}
