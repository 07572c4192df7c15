//! Implements [`Experiment`] for the search for capacities.

use std::time::Duration;

use super::autosave::Autosave;
use super::searched::Searched;
use super::to_record::record;
use super::{CapacitySearch, search};
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Job;
use crate::experiment::kind::Experiment;
use crate::experiment::observe::Observe;
use crate::experiment::profiles::Profiles;
use crate::experiment::session::Session;
use crate::experiment::site::Site;
use crate::experiment::to_record::Context;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::record::{Bound, CapacityRecord};

impl Experiment for CapacitySearch<'_> {
    type Measured = Searched;
    type Record = CapacityRecord;

    const CAN_CHANGE: bool = false;

    fn name(&self) -> &str {
        &self.job.scenario.name
    }

    fn jobs(&self) -> &[Job] {
        std::slice::from_ref(self.job)
    }

    fn forecast(&self) -> (u32, Option<Duration>) {
        (1, Some(self.trial_length()))
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        let mut observers: Vec<Box<dyn Observe>> =
            vec![Box::new(Autosave { quest: *self, site, folder })];
        if self.profiling_rounds > 0 {
            observers.push(Box::new(Profiles::new(folder)));
        }
        observers
    }

    async fn measure(&self, session: &mut Session<'_>, site: &Site<'_>) -> Searched {
        let mut searched = search(*self, 0, 0, session, site).await;
        if self.profiling_rounds > 0 && searched.failure.is_none() && !session.is_interrupted() {
            self.profile(session, &mut searched).await;
        }
        searched
    }

    fn is_empty(searched: &Searched) -> bool {
        searched.is_empty()
    }

    fn failure(searched: Searched) -> Option<Failure> {
        searched.failure
    }

    fn record(
        &self,
        searched: &Searched,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> CapacityRecord {
        record(*self, searched, Context::of(self.job, site, &searched.backends, lab, interrupted))
    }

    fn exit(record: &CapacityRecord, failed: Option<Exit>) -> Exit {
        if record.interrupted {
            Exit::Interrupted
        } else if let Some(exit) = failed {
            exit
        } else if record.targets.iter().any(|target| target.capacity.bound == Bound::Below) {
            Exit::Threshold
        } else {
            Exit::Done
        }
    }
}
