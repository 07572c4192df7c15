//! Says which load is planned for now.

use std::time::Instant;

use crate::engine::Plan;
use crate::engine::load::Planned;
use crate::experiment::control::Control;
use crate::report::PlannedLoad;
use crate::scenario::LoadLevel;

/// The load of the round in progress, as it is planned or, if a user has changed it, as it is now.
#[derive(Default)]
pub(super) struct LoadOfRound {
    planned: Option<Planned>,
    start: Option<Instant>,
}

impl LoadOfRound {
    /// Notes that a round with this plan begins.
    pub(super) fn begin(&mut self, plan: &Plan) {
        *self = Self { planned: Some(Planned::of(plan)), start: None };
    }

    /// Notes that the load starts.
    pub(super) fn start(&mut self, at: Instant) {
        self.start = Some(at);
    }

    /// Returns the load that is planned for now; `None` before the load starts.
    pub(super) fn now(&self, control: &Control) -> Option<PlannedLoad> {
        let elapsed = Instant::now().saturating_duration_since(self.start?);
        let planned = self.planned.as_ref()?;
        Some(match control.reached(elapsed).unwrap_or_else(|| planned.at(elapsed)) {
            LoadLevel::Users(users) => PlannedLoad::Users(users),
            LoadLevel::Rate(per_s) => PlannedLoad::Rate(per_s),
        })
    }
}
