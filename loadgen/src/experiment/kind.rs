//! What all kinds of experiment have in common.

use std::time::Duration;

use super::folder::RunFolder;
use super::job::Job;
use super::observe::Observe;
use super::session::Session;
use super::site::Site;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;

/// An experiment: what it measures over a session, and the record of that.
pub trait Experiment {
    /// What measuring gives.
    type Measured;
    /// The document that is saved of it.
    type Record;

    /// Whether those who watch it may change its load.
    const CAN_CHANGE: bool;

    /// Tells what is to be done.
    fn job(&self) -> &Job;

    /// Tells how many rounds there are, and how long one takes, if that is known.
    fn forecast(&self) -> (u32, Option<Duration>);

    /// Makes those who are told what happens, besides the terminal.
    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>>;

    /// Measures all of it, or as much as an interrupt or an error allow.
    fn measure(
        &self,
        session: &mut Session<'_>,
        site: &Site<'_>,
    ) -> impl Future<Output = Self::Measured>;

    /// Tells whether nothing was measured.
    fn is_empty(measured: &Self::Measured) -> bool;

    /// Gives the error that ended it early, if one did.
    fn failure(measured: Self::Measured) -> Option<Failure>;

    /// Sums up what was measured.
    fn record(
        &self,
        measured: &Self::Measured,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> Self::Record;

    /// Gives the exit code, the most urgent reason first; `failed` is that of the error that ended it.
    fn exit(record: &Self::Record, failed: Option<Exit>) -> Exit;
}
