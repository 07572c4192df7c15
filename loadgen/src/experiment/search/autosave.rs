//! Saves the results of a search. If loadgen is killed, only the round in progress is lost.

use std::ops::ControlFlow;

use super::CapacitySearch;
use crate::experiment::folder::RunFolder;
use crate::experiment::kind::Experiment;
use crate::experiment::observe::{Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::record::StoppedEarly;

/// Observer that saves the results of a search after each round, marked as interrupted.
pub(super) struct Autosave<'a> {
    /// The search, with its options.
    pub quest: CapacitySearch<'a>,
    /// Machine and start time of the search.
    pub site: &'a Site<'a>,
    /// Folder to save the record in.
    pub folder: &'a RunFolder,
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        if let Event::RoundOver(SoFar::Search(_, searched), lab) = event {
            // If saving fails, the save at the end of the search reports the reason.
            let _ = self.folder.save(&self.quest.record(searched, self.site, *lab, true));
        }
        ControlFlow::Continue(())
    }
}
