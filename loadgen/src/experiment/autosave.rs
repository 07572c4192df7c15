//! Keeps what there is of a run in its folder while it goes on: whoever kills loadgen takes no more of it
//! along than the last second, or, of a very long run, the last few.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::folder::RunFolder;
use super::measured::{Measured, MeasuredRound};
use super::observe::{Begun, Event, Observe, SoFar};
use super::site::Site;
use super::to_record::{self, Context};
use crate::engine::Results;
use crate::lab::Lab;
use crate::measure::GrowingSeries;
use crate::record::StoppedEarly;

/// How long after the first worker's results of a second those of the others are waited for.
const SETTLE: Duration = Duration::from_millis(200);

/// How many times as long as it took to save a run it is left alone: the longer a run is, the longer that
/// takes, and it shall take a fiftieth of a core at the most.
const REST: u32 = 50;

/// Saves a run: after each round, and, where others make the load, within them. Where this machine makes it,
/// saving would cost what is being measured.
pub struct Autosave<'a> {
    site: &'a Site<'a>,
    folder: &'a RunFolder,
    under_way: Option<UnderWay>,
}

/// A round that goes on.
struct UnderWay {
    contender: usize,
    number: u32,
    url: String,
    users: u32,
    /// Before its load is held.
    before: Duration,
    /// How long its load is held, at the most.
    most: Option<Duration>,
    /// How long it was held so far.
    held: Duration,
    /// When there will be something to save, if there is.
    due: Option<Instant>,
    /// When it may be saved again.
    rested: Instant,
}

impl<'a> Autosave<'a> {
    /// Saves into this folder.
    pub fn new(site: &'a Site<'a>, folder: &'a RunFolder) -> Self {
        Self { site, folder, under_way: None }
    }

    /// Saves what was measured so far, as a run that was interrupted.
    fn save(&self, measured: &Measured, under_way: Option<&MeasuredRound>, lab: Option<&Lab>) {
        let context = Context::of(self.site, &measured.backends, lab, true);
        let record = to_record::build(self.site.job, measured, under_way, context);
        // Why it can't be saved is told at the end.
        let _ = self.folder.save(&record);
    }

    /// Saves all `results`, once all that belongs to the same second can be here.
    fn save_when_due(&mut self, results: &mut GrowingSeries, measured: &Measured) {
        let now = Instant::now();
        let due =
            self.under_way.as_mut().filter(|round| now >= round.rested && !round.held.is_zero());
        let Some(round) =
            due.and_then(|round| round.due.take_if(|due| now >= *due).map(|_| &*round))
        else {
            return;
        };
        let series = results.packed().clone();
        let UnderWay { contender, number, users, held, .. } = *round;
        let round = MeasuredRound {
            results: Results { series, ..Results::default() },
            url: round.url.clone(),
            contender,
            number,
            users,
            held,
            ..MeasuredRound::default()
        };
        self.save(measured, Some(&round), None);
        if let Some(round) = &mut self.under_way {
            round.rested = Instant::now() + now.elapsed() * REST;
        }
    }
}

impl UnderWay {
    fn new(begun: Begun<'_>) -> Self {
        let Begun { contender, number, plan, .. } = begun;
        Self {
            contender,
            number,
            url: plan.base_url.clone(),
            users: plan.scenario.load.users,
            before: plan.warmup + plan.ramp_up(),
            most: plan.scenario.load.held(),
            held: Duration::ZERO,
            due: None,
            rested: Instant::now(),
        }
    }

    /// The snapshot of this number has come from a worker.
    fn reached(&mut self, number: u32) {
        // Drained at the turn of each second, counted from the end of the warm-up.
        let part = Duration::from_nanos(self.before.subsec_nanos().into());
        let reaches = Duration::from_secs(u64::from(number) + 1) + part;
        let held = reaches.saturating_sub(self.before);
        self.held = self.held.max(self.most.map_or(held, |most| held.min(most)));
        self.due.get_or_insert_with(|| Instant::now() + SETTLE);
    }
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        match event {
            Event::RoundBegan(begun) => {
                let others_load = self.site.job.remote.is_some();
                self.under_way = others_load.then(|| UnderWay::new(*begun));
            }
            Event::Snapshot(_, snapshot, _) => {
                if let Some(round) = &mut self.under_way {
                    round.reached(snapshot.number);
                }
            }
            Event::Tick(results, Some(measured)) => self.save_when_due(results, measured),
            Event::RoundOver(SoFar::Run(measured), lab) => self.save(measured, None, *lab),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
