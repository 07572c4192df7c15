//! Keeps what a search has found so far: whoever kills loadgen takes no more of it along than a round.

use std::ops::ControlFlow;

use super::Quest;
use super::to_record::record;
use crate::experiment::folder::RunFolder;
use crate::experiment::observe::{Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::experiment::to_record::Context;
use crate::record::StoppedEarly;

/// Saves a search after each round, as one that was interrupted.
pub struct Autosave<'a> {
    /// What is searched.
    pub quest: &'a Quest,
    /// Where.
    pub site: &'a Site<'a>,
    /// What it is saved in.
    pub folder: &'a RunFolder,
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        if let Event::RoundOver(SoFar::Search(searched), lab) = event {
            let context = Context::of(self.site, &searched.backends, *lab, true);
            // Why it can't be saved is told at the end.
            let _ = self.folder.save_capacity(&record(self.quest, searched, context));
        }
        ControlFlow::Continue(())
    }
}
