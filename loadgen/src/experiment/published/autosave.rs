//! Saves an experiment after each round, so that a kill loses only the round in progress.

use std::ops::ControlFlow;

use super::Published;
use super::assemble::Recorded;
use crate::experiment::folder::RunFolder;
use crate::experiment::kind::Experiment;
use crate::experiment::observe::{Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::experiment::to_record::{self, Context};
use crate::record::StoppedEarly;

/// Observer that saves the experiment after each round, and after each round of a search.
pub(super) struct Autosave<'a> {
    experiment: &'a Published,
    site: &'a Site<'a>,
    folder: &'a RunFolder,
    recorded: Recorded,
}

impl<'a> Autosave<'a> {
    /// Creates an observer that saves in `folder`.
    pub fn new(experiment: &'a Published, site: &'a Site<'a>, folder: &'a RunFolder) -> Self {
        Self { experiment, site, folder, recorded: Recorded::default() }
    }
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        let Event::RoundOver(so_far, lab) = event else { return ControlFlow::Continue(()) };
        match *so_far {
            SoFar::Run(index, measured) => {
                let job = &self.experiment.jobs[index];
                let context = Context::of(job, self.site, &measured.backends, *lab, true);
                let record = to_record::build(job, measured, None, context);
                self.recorded.runs.insert(index, record);
            }
            SoFar::Search(index, searched) => {
                let mut quests = self.experiment.quests();
                if let Some((_, quest)) = quests.find(|(job, _)| *job == index) {
                    let record = quest.record(searched, self.site, *lab, true);
                    self.recorded.capacities.insert(index, record);
                }
            }
        }
        // If saving fails, the save at the end of the experiment reports the reason.
        let record = self.experiment.assemble(&self.recorded, self.site, true);
        let _ = self.folder.save(&record);
        ControlFlow::Continue(())
    }
}
