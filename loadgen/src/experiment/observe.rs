//! Tells observers about the events of an experiment. Observers show progress, save
//! results, or end the experiment early.

use std::ops::ControlFlow;
use std::time::Instant;

use super::measured::Measured;
use crate::engine::{LostWorker, Plan};
use crate::experiment::search::searched::Searched;
use crate::lab::{CpuTeller, Lab};
use crate::measure::{GrowingSeries, Snapshot};
use crate::record::StoppedEarly;

/// An event of an experiment. The variants are in the order in which the events occur.
pub enum Event<'a> {
    /// An operation that takes a while has begun, such as `starting 4 workers`.
    Phase(&'a str),
    /// A part of a round has begun, such as the start of a target.
    Step(&'a str),
    /// A message for the user.
    Note(&'a str),
    /// The wait for workers is over. Holds the number of each worker that joined, and the name of
    /// the worker's host if it is another host.
    Joined(Vec<(u32, Option<String>)>),
    /// Approximate number of rounds still to come, if their number is not known from the start.
    Expected(u32),
    /// A round begins, with its verification.
    RoundBegan(Begun<'a>),
    /// All users start at this moment.
    LoadStarted(Instant),
    /// A worker's number and new results, with all results of the round so far.
    Snapshot(u32, &'a Snapshot, &'a mut GrowingSeries),
    /// Time has passed; sent several times a second. Holds all results of the round so far and, in
    /// a run, the results of earlier rounds.
    Tick(&'a mut GrowingSeries, Option<&'a Measured>),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// The load is over. Holds the expected answers per second during the hold.
    LoadEnded(f64),
    /// A round is over. Holds all results so far.
    RoundOver(SoFar<'a>, Option<&'a Lab>),
}

/// A round that begins.
#[derive(Clone, Copy)]
pub struct Begun<'a> {
    /// Index of the contender in the job.
    pub contender: usize,
    /// Number of the round, counted from 1.
    pub number: u32,
    /// Name of the contender; in a search, with the rate of the trial.
    pub name: &'a str,
    /// Load of the round.
    pub plan: &'a Plan,
}

/// Results so far.
#[derive(Clone, Copy)]
pub enum SoFar<'a> {
    /// Results of a run.
    Run(&'a Measured),
    /// Results of a search.
    Search(&'a Searched),
}

/// An observer of an experiment.
pub trait Observe {
    /// Handles an event. `Break` ends the experiment: the round in progress is cut short.
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly>;

    /// Returns a function that takes the services' present CPU use, if the observer shows CPU use.
    fn cpu_teller(&self) -> Option<CpuTeller> {
        None
    }
}

/// All observers, and the reason why one has ended the experiment, if any.
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

    /// Passes an event to all observers.
    pub fn tell(&mut self, mut event: Event<'_>) {
        for observer in &mut self.all {
            if let ControlFlow::Break(stopped) = observer.observe(&mut event) {
                self.stopped.get_or_insert(stopped);
            }
        }
    }

    /// Returns the reason to end the experiment early, if any.
    #[must_use]
    pub fn stopped(&self) -> Option<&StoppedEarly> {
        self.stopped.as_ref()
    }

    /// Returns a function that takes the services' present CPU use;
    /// `None` if no observer shows CPU use.
    #[must_use]
    pub fn cpu_teller(&self) -> Option<CpuTeller> {
        self.all.iter().find_map(|observer| observer.cpu_teller())
    }
}
