//! Saves a run to its folder during the measurement. If loadgen is killed, only the
//! round in progress is lost; with load from other hosts, only the last second, or the
//! last few seconds of a very long run; with slices, the start in progress.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::engine::Results;
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Job;
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::{Begun, Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::experiment::to_record::{self, Context};
use crate::lab::Lab;
use crate::measure::GrowingSeries;
use crate::record::StoppedEarly;

/// Time between the arrival of the first worker's results of a second and the save, so that the
/// other workers' results of this second arrive before the save.
const SETTLE: Duration = Duration::from_millis(200);

/// Minimum pause between two saves, as a multiple of the duration of the last save. With 50, saving
/// uses at most 2 % of a core, even if a long run makes each save slow.
const REST: u32 = 50;

/// Observer that saves a run's results after each round and, if other
/// hosts generate the load, also during rounds. If this machine generates
/// the load, saving during a round would disturb the measurement.
pub struct Autosave<'a> {
    job: &'a Job,
    site: &'a Site<'a>,
    folder: &'a RunFolder,
    under_way: Option<UnderWay>,
}

/// The round in progress.
struct UnderWay {
    contender: usize,
    number: u32,
    url: String,
    users: u32,
    /// Duration of warm-up and ramp-up, which precede the hold (the phase with the full load).
    before: Duration,
    /// Time from the start of the load to the first snapshot (a worker's results of one second).
    first_snapshot: Duration,
    /// Maximum time for which the full load is held;
    /// `None` if a number of iterations ends the round.
    most: Option<Duration>,
    /// Time for which the full load has been held so far, as known from the results.
    held: Duration,
    /// Earliest time to save the results that are not yet saved; `None` if all results are saved.
    due: Option<Instant>,
    /// End of the pause after the last save.
    rested: Instant,
}

impl<'a> Autosave<'a> {
    /// Creates an observer that saves into `folder`.
    pub fn new(job: &'a Job, site: &'a Site<'a>, folder: &'a RunFolder) -> Self {
        Self { job, site, folder, under_way: None }
    }

    /// Saves the results so far in a record that is marked as interrupted.
    fn save(&self, measured: &Measured, under_way: Option<&MeasuredRound>, lab: Option<&Lab>) {
        let context = Context::of(self.job, self.site, &measured.backends, lab, true);
        let record = to_record::build(self.job, measured, under_way, context);
        // If saving fails, the save at the end of the run reports the reason.
        let _ = self.folder.save(&record);
    }

    /// Saves all results so far, once the other workers' results of the newest second can have
    /// arrived and the pause after the last save is over.
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
            first_snapshot: plan.first_snapshot(),
            most: plan.scenario.load.held(),
            held: Duration::ZERO,
            due: None,
            rested: Instant::now(),
        }
    }

    /// Records the arrival of a worker's snapshot (results of one second); `number` counts from 0.
    fn reached(&mut self, number: u32) {
        let reaches = self.first_snapshot + Duration::from_secs(number.into());
        let held = reaches.saturating_sub(self.before);
        self.held = self.held.max(self.most.map_or(held, |most| held.min(most)));
        self.due.get_or_insert_with(|| Instant::now() + SETTLE);
    }
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        match event {
            Event::RoundBegan(begun) => {
                let others_load = self.job.remote.is_some();
                self.under_way = others_load.then(|| UnderWay::new(*begun));
            }
            Event::Snapshot(_, snapshot, _) => {
                if let Some(round) = &mut self.under_way {
                    round.reached(snapshot.number);
                }
            }
            Event::Tick(results, Some(measured)) => self.save_when_due(results, measured),
            // Saving after each slice would take longer than many a slice.
            Event::RoundOver(SoFar::Run(_, measured), lab)
                if measured.rounds.last().is_none_or(MeasuredRound::ends_start) =>
            {
                self.save(measured, None, *lab);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_a_second_in_the_ramp_up_does_not_lengthen_the_hold() {
        let mut round = UnderWay {
            contender: 0,
            number: 1,
            url: String::new(),
            users: 1,
            before: Duration::from_millis(1_000 + 2_500),
            first_snapshot: Duration::from_secs(1),
            most: Some(Duration::from_secs(1)),
            held: Duration::ZERO,
            due: None,
            rested: Instant::now(),
        };
        round.reached(2);
        assert_eq!(round.held, Duration::ZERO);
        round.reached(3);
        assert_eq!(round.held, Duration::from_millis(500));
        round.reached(4);
        assert_eq!(round.held, Duration::from_secs(1), "the hold is over");
    }
}
