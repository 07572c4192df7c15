//! What the progress is told of a round as time passes.

use std::time::{Duration, Instant};

use super::control::Control;
use crate::engine::Plan;
use crate::engine::load::Planned;
use crate::measure::{GrowingSeries, Timeline};
use crate::report::{self, Progress};
use crate::scenario::Amount;

/// A round as its progress shows it.
pub struct Shown<'a> {
    planned: Planned,
    /// Who may have changed it.
    control: Option<&'a Control>,
    warmup: Duration,
    ramp_up: Duration,
    length: Option<Duration>,
    start: Option<Instant>,
}

impl<'a> Shown<'a> {
    /// A round of `plan`.
    pub fn new(plan: &Plan, control: Option<&'a Control>) -> Self {
        let (warmup, ramp_up, length) = (plan.warmup, plan.ramp_up(), plan.length());
        Self { planned: Planned::of(plan), control, warmup, ramp_up, length, start: None }
    }

    /// All start then.
    pub fn start(&mut self, start: Instant, progress: &Progress) {
        self.start = Some(start);
        let measured = start + self.warmup;
        let end = self.length.map(|length| start + length);
        progress.load_started(Timeline { measured, full: measured + self.ramp_up, end });
    }

    /// Time has passed.
    pub fn tick(&self, progress: &mut Progress, results: &GrowingSeries) {
        let Some(start) = self.start else { return };
        let elapsed = Instant::now().saturating_duration_since(start);
        let changed = self.control.and_then(|control| control.reached(elapsed));
        let load = changed.unwrap_or_else(|| self.planned.at(elapsed));
        progress.tick(&in_words(load), results);
    }
}

fn in_words(load: Amount) -> String {
    match load {
        Amount::Users(1) => "1 user".to_owned(),
        Amount::Users(users) => format!("{} users", report::count(users.into())),
        Amount::Rate(rate) => format!("{} requests/s planned", report::rate(rate)),
    }
}
