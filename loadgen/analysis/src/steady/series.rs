//! Extracts from a round the figures of its seconds.

use crate::record::RoundRecord;
use crate::whole_seconds::whole_seconds;

/// A figure that should not change during the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Expected responses per second.
    Rate,
    /// CPU time of the target per expected response, in µs.
    CpuPerRequest,
}

impl Figure {
    /// Returns the logarithms of the figure in the seconds of the hold, from its beginning; `None` if
    /// they are unknown, or if a second had no expected response or no CPU time. The hold begins
    /// `ramp_up_s` seconds after the warm-up.
    pub(super) fn of(self, round: &RoundRecord, ramp_up_s: f64) -> Option<Vec<f64>> {
        let figures = match self {
            Self::Rate => rates(round, ramp_up_s),
            Self::CpuPerRequest => cpu_us_per_request(round, ramp_up_s),
        };
        let logarithms = figures?.into_iter().map(f64::ln);
        logarithms.map(|value| value.is_finite().then_some(value)).collect()
    }
}

/// Returns the expected responses in each whole second of the hold.
fn rates(round: &RoundRecord, ramp_up_s: f64) -> Option<Vec<f64>> {
    let answered = |number: usize| {
        let second = round.seconds.iter().find(|second| second.second as usize == number)?;
        Some(second.answered as f64)
    };
    whole_seconds(ramp_up_s, round.held_s).map(answered).collect()
}

/// Returns the CPU time of the target per expected response, in µs, between each two samples of the
/// CPU time.
fn cpu_us_per_request(round: &RoundRecord, ramp_up_s: f64) -> Option<Vec<f64>> {
    /// Shortest time between two samples, in s: in a shorter one, a single disturbance is much of it.
    const SHORTEST_S: f64 = 0.5;
    let samples = &round.resources.get("target")?.samples;
    let mut before = 0.0;
    let mut figures = Vec::new();
    for (at, percent) in samples.at_s.iter().zip(&samples.cpu_percent) {
        let length = at - before;
        if length >= SHORTEST_S && *at <= round.held_s + SHORTEST_S {
            let answered = answered_between(round, ramp_up_s + before, ramp_up_s + at);
            figures.push(percent / 100.0 * length * 1e6 / answered);
        }
        before = *at;
    }
    (!figures.is_empty()).then_some(figures)
}

/// Returns the number of expected responses between two moments, in s from the end of the warm-up. The
/// responses of a second count as evenly spread over it.
fn answered_between(round: &RoundRecord, from: f64, to: f64) -> f64 {
    let within = |second: f64| (to.min(second + 1.0) - from.max(second)).max(0.0);
    let seconds = round.seconds.iter();
    seconds.map(|it| it.answered as f64 * within(f64::from(it.second))).sum()
}
