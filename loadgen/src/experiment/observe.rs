//! Tells observers what happens in an experiment: they show progress, save results, or end it early.

use std::ops::ControlFlow;
use std::time::Instant;

use super::measured::Measured;
use crate::engine::{LostWorker, Plan};
use crate::experiment::search::searched::Searched;
use crate::lab::{CpuTeller, Lab};
use crate::measure::{GrowingSeries, Snapshot};
use crate::record::StoppedEarly;

/// What happens in an experiment: the variants stand in the order in which they come.
pub enum Event<'a> {
    /// Something has begun that takes a while, such as `starting 4 workers`.
    Phase(&'a str),
    /// A part of a round has begun, such as the start of a target.
    Step(&'a str),
    /// Something that people should know.
    Note(&'a str),
    /// All workers that were waited for are there. Each has its number, and its host where that is another one.
    Joined(Vec<(u32, Option<String>)>),
    /// About so many rounds are still to come, where their number is not known from the start.
    Expected(u32),
    /// A round begins, with its verification.
    RoundBegan(Begun<'a>),
    /// All users start at this moment.
    LoadStarted(Instant),
    /// A worker's results, with all that came so far.
    Snapshot(u32, &'a Snapshot, &'a mut GrowingSeries),
    /// Time has passed, some times a second; with all results that came so far, and in a run what was
    /// measured before the round.
    Tick(&'a mut GrowingSeries, Option<&'a Measured>),
    /// A worker was lost.
    Lost(&'a LostWorker),
    /// The load is over, with so many expected answers per second.
    LoadEnded(f64),
    /// A round is over, and this is what was measured so far.
    RoundOver(SoFar<'a>, Option<&'a Lab>),
}

/// A round that begins.
#[derive(Clone, Copy)]
pub struct Begun<'a> {
    /// The place of what it is over among the job's contenders.
    pub contender: usize,
    /// Its number, from 1.
    pub number: u32,
    /// What it is called.
    pub name: &'a str,
    /// Its load.
    pub plan: &'a Plan,
}

/// The results so far.
#[derive(Clone, Copy)]
pub enum SoFar<'a> {
    /// In a run.
    Run(&'a Measured),
    /// In a search.
    Search(&'a Searched),
}

/// An observer of an experiment.
pub trait Observe {
    /// Takes in what happens. `Break` ends the experiment: the round that is under way is cut short.
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly>;

    /// Takes what everybody uses of the CPU at the moment, where that is shown.
    fn cpu_teller(&self) -> Option<CpuTeller> {
        None
    }
}

/// All of them, and why one has ended the experiment, if one has.
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
    /// The same with one more.
    #[must_use]
    pub fn with(mut self, observer: impl Observe + 'a) -> Self {
        self.all.push(Box::new(observer));
        self
    }

    /// Tells all of them.
    pub fn tell(&mut self, mut event: Event<'_>) {
        for observer in &mut self.all {
            if let ControlFlow::Break(stopped) = observer.observe(&mut event) {
                self.stopped.get_or_insert(stopped);
            }
        }
    }

    /// Why the experiment is to end early, if it is.
    #[must_use]
    pub fn stopped(&self) -> Option<&StoppedEarly> {
        self.stopped.as_ref()
    }

    /// Takes what everybody uses of the CPU at the moment; none where nobody wants to know.
    #[must_use]
    pub fn cpu_teller(&self) -> Option<CpuTeller> {
        self.all.iter().find_map(|observer| observer.cpu_teller())
    }
}
