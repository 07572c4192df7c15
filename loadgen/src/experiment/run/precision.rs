//! Measures as many rounds as intervals of a given width need.

use std::time::Duration;

use super::Run;
use crate::analysis::Needed;
use crate::experiment::kind::Experiment;
use crate::experiment::measured::Measured;
use crate::experiment::observe::Event;
use crate::experiment::session::Session;
use crate::experiment::site::Site;
use crate::record::{PrecisionRecord, RunRecord};
use crate::text::{counted, duration};

/// Precision that a run is to reach, and its limits. The first stage has the rounds of the job; each
/// further stage has as many as the noise of all rounds so far asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Greatest half width of the 95 % intervals that matter, in %.
    pub percent: f64,
    /// Greatest number of rounds.
    pub rounds_max: u32,
    /// Greatest time for all rounds; `None` for any. The first stage is measured in any case.
    pub time_max: Option<Duration>,
}

impl Precision {
    /// Measures the rounds of `run` in stages, until the intervals are narrow enough, a limit is
    /// reached, or the run ends early. `measured` has the rounds of an earlier manager, if any.
    pub(super) async fn measure(
        &self,
        run: &Run,
        session: &mut Session<'_>,
        site: &Site<'_>,
        measured: &mut Measured,
    ) {
        // A resumed run goes on within its last stage.
        let mut to = measured.stages.pop().unwrap_or(run.job.rounds);
        let mut from = run.next_round();
        loop {
            measured.stages.push(to);
            run.measure_these(from..=to, session, measured).await;
            let ended = measured.failure.is_some() || measured.stopped_early.is_some();
            if ended || session.is_interrupted() || session.is_degraded() {
                return;
            }
            let record = run.record(measured, site, session.lab(), false);
            let Some(needed) = Needed::of(&record, self.percent) else { return };
            let allowed = self.allowed(to, measured.took);
            // Some rounds may not count.
            let more = needed.rounds.saturating_sub(needed.measured);
            let next = self.next(to + more, run).min(allowed);
            if more == 0 || next <= to {
                return;
            }
            let each = measured.took / to;
            session.tell(Event::Note(&self.plan(&needed, to, next, each)));
            let passes = run.job.passes();
            session.tell(Event::Expected((next - to) * passes, each / passes.max(1)));
            (from, to) = (to + 1, next);
        }
    }

    /// Returns the needed rounds, completed to whole blocks of the orders of two contenders.
    fn next(&self, needed: u32, run: &Run) -> u32 {
        if run.job.contenders.len() == 2 { needed.next_multiple_of(2) } else { needed }
    }

    /// Returns the number of rounds that the limits allow, after `rounds` rounds that took this time.
    fn allowed(&self, rounds: u32, took: Duration) -> u32 {
        let in_time = |most: Duration| {
            let each = took.as_secs_f64() / f64::from(rounds.max(1));
            // A number that is too large becomes the greatest one.
            (most.as_secs_f64() / each.max(1e-3)) as u32
        };
        self.rounds_max.min(self.time_max.map_or(u32::MAX, in_time))
    }

    /// Says how many rounds follow, and why.
    fn plan(&self, needed: &Needed, rounds: u32, next: u32, each: Duration) -> String {
        let widest = needed.widest_percent;
        let length = duration(each * (next - rounds));
        let limited = match next - rounds < needed.rounds.saturating_sub(needed.measured) {
            true => format!(" ({} would be needed)", counted(needed.rounds.into(), "round")),
            false => String::new(),
        };
        let more = counted((next - rounds).into(), "more round");
        format!(
            "the widest interval is ±{widest:.1} % after {}: {more} for ±{} %{limited}, about {length}",
            counted(needed.measured.into(), "round"),
            self.percent
        )
    }

    /// Returns the record of what was reached. `record` is that of the run.
    pub(super) fn record(&self, record: &RunRecord, measured: &Measured) -> PrecisionRecord {
        let needed = Needed::of(record, self.percent);
        PrecisionRecord {
            percent: self.percent,
            rounds_measured: needed.map(|needed| needed.measured),
            reached_percent: needed.map(|needed| needed.widest_percent),
            rounds_needed: needed.map(|needed| needed.rounds),
            rounds_max: self.rounds_max,
            time_max_s: self.time_max.map(|most| most.as_secs_f64()),
            took_s: measured.took.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_rounds_and_of_time_hold_together() {
        let precision = Precision { percent: 3.0, rounds_max: 100, time_max: None };
        assert_eq!(precision.allowed(10, Duration::from_secs(30)), 100);
        let short = Precision { time_max: Some(Duration::from_secs(61)), ..precision };
        assert_eq!(short.allowed(10, Duration::from_secs(30)), 20);
        assert_eq!(short.allowed(10, Duration::from_secs(90)), 6, "fewer than were measured");
    }

    #[test]
    fn the_plan_says_what_is_needed_and_what_is_allowed() {
        let precision = Precision { percent: 3.0, rounds_max: 100, time_max: None };
        let needed = Needed { rounds: 34, measured: 10, widest_percent: 5.62 };
        let each = Duration::from_secs(5);
        assert_eq!(
            precision.plan(&needed, 10, 34, each),
            "the widest interval is ±5.6 % after 10 rounds: 24 more rounds for ±3 %, about 2m"
        );
        assert_eq!(
            precision.plan(&needed, 10, 11, each),
            "the widest interval is ±5.6 % after 10 rounds: 1 more round for ±3 % (34 rounds would be \
             needed), about 5s"
        );
    }
}
