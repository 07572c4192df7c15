//! Tells observers about the events of an experiment. Observers show progress, save
//! results, or end the experiment early.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::measured::{Measured, MeasuredRound};
use crate::engine::{LostWorker, Plan};
use crate::experiment::search::searched::Searched;
use crate::lab::{Lab, UsageTeller};
use crate::measure::{GrowingSeries, Snapshot, Stacks};
use crate::record::{RunRecord, StoppedEarly};

/// An event of an experiment. The variants are in the order in which the events occur.
pub enum Event<'a> {
    /// An operation that takes a while has begun, such as `starting 4 workers`.
    Phase(&'a str),
    /// A part of a round has begun, such as the start of a target.
    Step(&'a str),
    /// A message for the user.
    Note(&'a str),
    /// The wait for workers is over. Holds the number of each worker that joined, with the name of
    /// the worker's host, or `None` for this host.
    Joined(Vec<(u32, Option<String>)>),
    /// Approximate number of rounds (in a search, trials) still to come, and the approximate duration
    /// of each; sent if the total is not known from the start.
    Expected(u32, Duration),
    /// A round begins: the verification of the target comes first, and the load follows.
    RoundBegan(Begun<'a>),
    /// The load starts at this time.
    LoadStarted(Instant),
    /// A process has reported new results. Holds the worker's
    /// number, the new results, and all results of the round so far.
    Snapshot(u32, &'a Snapshot, &'a mut GrowingSeries),
    /// Time has passed; sent several times a second. Holds all results of the round so far and, in
    /// a run, the results of earlier rounds.
    Tick(&'a mut GrowingSeries, Option<&'a Measured>),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// All results of the round have arrived.
    Complete(&'a mut GrowingSeries),
    /// The load is over. Holds the rate while the full
    /// load was held, in successful answers per second.
    LoadEnded(f64),
    /// A profiling round is over. Holds the name of the contender, and what was seen of its threads.
    Profiled(&'a str, &'a Stacks),
    /// All profiling rounds are over. Holds the record of the run.
    ProfilesOver(&'a RunRecord),
    /// A round is over. Holds all results of the experiment so far, and the lab, if any.
    RoundOver(SoFar<'a>, Option<&'a Lab>),
}

/// Description of a round that begins.
#[derive(Clone, Copy)]
pub struct Begun<'a> {
    /// Index of the measured contender in the job's list of contenders.
    pub contender: usize,
    /// Number of the round, counted from 1.
    pub number: u32,
    /// Name of the contender; in a search, followed by the rate of the trial.
    pub name: &'a str,
    /// Name of the group in an experiment file, within which the name of the contender is unique; `None` without one.
    pub group: Option<&'a str>,
    /// Load of the round.
    pub plan: &'a Plan,
}

impl Begun<'_> {
    /// Returns the round before it has results.
    #[must_use]
    pub fn round(&self) -> MeasuredRound {
        MeasuredRound {
            contender: self.contender,
            number: self.number,
            url: self.plan.base_url.clone(),
            users: self.plan.scenario.load.users,
            ..MeasuredRound::default()
        }
    }
}

/// Results so far of an experiment.
#[derive(Clone, Copy)]
pub enum SoFar<'a> {
    /// Index of the job in progress, and the results of this job.
    Run(usize, &'a Measured),
    /// Index of the search's job, and the results of the search.
    Search(usize, &'a Searched),
}

/// Receives the events of an experiment, for example to show progress or to save results.
pub trait Observe {
    /// Handles an event. If an observer returns `Break`, the
    /// experiment ends, and the round in progress is cut short.
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly>;

    /// Returns a message for the user that the observer has had since the last event, if any.
    fn note(&mut self) -> Option<String> {
        None
    }

    /// Returns a callback that receives what the services use now;
    /// `None` if the observer does not show it.
    fn usage_teller(&self) -> Option<UsageTeller> {
        None
    }
}

/// All observers of an experiment, and the reason why an observer ended the experiment, if any.
#[derive(Default)]
pub struct Observers<'a> {
    all: Vec<Box<dyn Observe + 'a>>,
    stopped: Option<StoppedEarly>,
}

impl<'a> From<Vec<Box<dyn Observe + 'a>>> for Observers<'a> {
    fn from(all: Vec<Box<dyn Observe + 'a>>) -> Self {
        Self { all, stopped: None }
    }
}

impl<'a> Observers<'a> {
    /// Adds an observer.
    #[must_use]
    pub fn with(mut self, observer: impl Observe + 'a) -> Self {
        self.all.push(Box::new(observer));
        self
    }

    /// Passes an event to all observers, and then the messages that they have for the user.
    pub fn tell(&mut self, mut event: Event<'_>) {
        self.pass(&mut event);
        let notes: Vec<String> =
            self.all.iter_mut().filter_map(|observer| observer.note()).collect();
        notes.iter().for_each(|note| self.pass(&mut Event::Note(note)));
    }

    fn pass(&mut self, event: &mut Event<'_>) {
        for observer in &mut self.all {
            if let ControlFlow::Break(stopped) = observer.observe(event) {
                self.stopped.get_or_insert(stopped);
            }
        }
    }

    /// Returns the reason to end the experiment early, if any.
    #[must_use]
    pub fn stopped(&self) -> Option<&StoppedEarly> {
        self.stopped.as_ref()
    }

    /// Returns a callback that receives what the services use now; `None` if no observer shows it.
    #[must_use]
    pub fn usage_teller(&self) -> Option<UsageTeller> {
        let tellers = self.all.iter().filter_map(|observer| observer.usage_teller());
        tellers.reduce(|one, other| {
            Arc::new(move |usage| {
                one(usage.clone());
                other(usage);
            })
        })
    }
}
