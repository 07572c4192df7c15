//! Defines what all kinds of experiment have in common.

use std::path::Path;
use std::time::Duration;

use super::folder::RunFolder;
use super::job::Job;
use super::observe::Observe;
use super::session::Session;
use super::site::Site;
use crate::failure::{Exit, Failure};
use crate::lab::{Lab, Lacks};

/// A kind of experiment, such as a run or a search: how to measure, and what to record.
pub trait Experiment {
    /// Results of the measurement.
    type Measured;
    /// Document in which the results are saved.
    type Record;

    /// Whether a user may change the load during the experiment.
    const CAN_CHANGE: bool;

    /// Whether the experiment is measured in part if the lab cannot run all of it: see [`Experiment::without`].
    const IS_DIVISIBLE: bool = false;

    /// Returns the folder of the experiment that this one resumes; `None` for a new one.
    fn resumes(&self) -> Option<&Path> {
        None
    }

    /// Returns the name of the experiment: that of its scenario or of its file.
    fn name(&self) -> &str;

    /// Returns the jobs of the experiment, which differ in scenario, contenders, rounds and warm-up. Not empty.
    fn jobs(&self) -> &[Job];

    /// Returns the most connections that all targets that are up at the same time may open to a backend.
    fn connections(&self) -> u32 {
        self.jobs().iter().map(Job::connections).max().unwrap_or(0)
    }

    /// Returns the number of rounds, and the duration of one round if known.
    fn forecast(&self) -> (u32, Option<Duration>);

    /// Returns what will be started and measured, and about how long that takes, if that is known
    /// before anything starts.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// Returns the experiment without what the lab cannot run; `None` if it must not be measured in part. The
    /// arms of an experiment file may be left out, but not what a command line names.
    ///
    /// # Errors
    /// If nothing is left to measure.
    fn without(&self, _: &Lacks) -> Result<Option<Self>, Failure>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// Creates the observers that receive the experiment's events,
    /// except the observer that shows progress on the terminal.
    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>>;

    /// Measures all rounds, or as many as an interrupt or an error allows.
    fn measure(
        &self,
        session: &mut Session<'_>,
        site: &Site<'_>,
    ) -> impl Future<Output = Self::Measured>;

    /// Returns whether nothing was measured.
    fn is_empty(measured: &Self::Measured) -> bool;

    /// Returns the error that ended the experiment early, if any.
    fn failure(measured: Self::Measured) -> Option<Failure>;

    /// Builds the document in which the results are saved.
    fn record(
        &self,
        measured: &Self::Measured,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> Self::Record;

    /// Returns the exit code of the command. If several reasons
    /// determine an exit code, the most urgent reason decides. `failed`
    /// is the exit code of the error that ended the experiment, if any.
    fn exit(record: &Self::Record, failed: Option<Exit>) -> Exit;
}
