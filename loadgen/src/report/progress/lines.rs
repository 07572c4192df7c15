//! Writes progress in plain lines, for files and CI logs.

use std::time::{Duration, Instant};

use crate::measure::Phase;
use crate::report::view::View;
use crate::text::{counted, duration};

/// Time between two progress lines about a round.
const EVERY: Duration = Duration::from_secs(5);

/// Decides when a line about the round is due: during the ramp-up and the hold, but not right
/// before the line about the end of the round.
#[derive(Debug, Default)]
pub(super) struct Pace(u32);

impl Pace {
    /// Returns whether a line is due, and then counts the line as written.
    pub(super) fn is_due(&mut self, view: &View, now: Instant) -> bool {
        let is_on = matches!(view.phase(now), Some(Phase::RampUp | Phase::Hold));
        let round = view.round.as_ref().filter(|_| is_on);
        let Some((round, timeline)) = round.and_then(|round| Some((round, round.timeline?))) else {
            return false;
        };
        let ends_soon = round.left(now).is_some_and(|left| left <= Duration::from_secs(1));
        let lines = now.saturating_duration_since(timeline.measured).as_secs() / EVERY.as_secs();
        let lines = u32::try_from(lines).unwrap_or(u32::MAX);
        let is_due = lines > self.0 && !ends_soon;
        self.0 = lines;
        is_due
    }
}

/// Describes the current round in a line.
pub(super) fn under_way(view: &View, now: Instant) -> String {
    let Some(round) = &view.round else { return String::new() };
    let (number, of) = view.forecast.place();
    let errors = match round.failed() {
        0 => "no errors".to_owned(),
        failed => counted(failed, "error"),
    };
    let [requests, p50, p99] = round.figures();
    let left = round.left(now).map(|left| format!(", {} left", duration(left)));
    let load = round.load.map(|load| format!(", {load}")).unwrap_or_default();
    let (target, left) = (&round.target, left.unwrap_or_default());
    format!("[{number}/{of}] {target}: {requests}, {p50}, {p99}, {errors}{load}{left}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Timeline;
    use crate::report::view::{Forecast, PlannedLoad};

    /// Returns a round with 1 s of warm-up, 2 s of ramp-up, and 11 s of hold.
    fn view(start: Instant) -> View {
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut view = View { forecast: Forecast::new(2, None), ..View::default() };
        view.begin("sanic", &[], start);
        let round = view.round.as_mut().unwrap();
        round.timeline = Some(Timeline { measured: at(1), full: at(3), end: Some(at(14)) });
        round.load = Some(PlannedLoad::Users(100));
        view
    }

    #[test]
    fn a_line_is_due_every_five_seconds_except_near_the_end() {
        let start = Instant::now();
        let (view, mut pace) = (view(start), Pace::default());
        let due: Vec<u64> = (0..20_000)
            .step_by(100)
            .filter(|ms| pace.is_due(&view, start + Duration::from_millis(*ms)))
            .collect();
        assert_eq!(due, [6_000, 11_000]);
        // Late ticks cause no second line, and none at the end.
        let mut pace = Pace::default();
        let due = [12_500, 12_600, 13_500].map(|ms| start + Duration::from_millis(ms));
        assert_eq!(due.map(|now| pace.is_due(&view, now)), [true, false, false]);
        let mut pace = Pace::default();
        assert!(!pace.is_due(&view, start + Duration::from_millis(13_100)));
    }

    #[test]
    fn a_line_shows_rate_latency_errors_and_time_left() {
        let start = Instant::now();
        let line = under_way(&view(start), start + Duration::from_millis(6_100));
        assert_eq!(
            line,
            "[1/2] sanic: – requests/s, p50 – ms, p99 – ms, no errors, 100 users, 8s left"
        );
    }
}
