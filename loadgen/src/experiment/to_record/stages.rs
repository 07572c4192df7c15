//! Sums up each stage of a load that changes in stages.

use std::time::Duration;

use super::phases::of_phase;
use crate::analysis::steps::{by_step, together};
use crate::experiment::measured::MeasuredRound;
use crate::measure::{Phase, Series, Summary};
use crate::record::StageResult;
use crate::scenario::{Load, Stage, Step, Until};

/// Returns the results of each stage, over these rounds together. Stages without a duration have no
/// results, and neither have stages that no round reached. Empty for a load without stages.
pub(super) fn stages(steps: &[Step], load: &Load, rounds: &[&MeasuredRound]) -> Vec<StageResult> {
    let planned = planned(load);
    let series: Vec<&Series> = rounds.iter().map(|round| &round.results.series).collect();
    let held =
        |stage: &Planned| rounds.iter().map(|round| stage.held(round.held)).sum::<Duration>();
    // Requests were in flight in the last stage that a round reached.
    let last = planned.iter().rposition(|stage| !held(stage).is_zero());
    let result = |(index, stage): (usize, &Planned)| {
        let held = held(stage);
        if held.is_zero() {
            return None;
        }
        let counts = Series::stage_of(series.iter().copied(), stage.number);
        let cut =
            if Some(index) == last { of_phase(steps, &series, Phase::Tail) } else { Vec::new() };
        let (counts, cut) = (together(&by_step(counts, steps.len())), together(&cut));
        Some(StageResult {
            stage: stage.number + 1,
            from: stage.from,
            to: stage.to,
            begin_s: stage.begin.as_secs_f64(),
            end_s: stage.end.as_secs_f64(),
            held_s: held.as_secs_f64(),
            total: Summary::new("all", &counts, &cut, held),
        })
    };
    planned.iter().enumerate().filter_map(result).collect()
}

/// A stage with a duration, as planned. Times are counted from the end of the warm-up.
struct Planned {
    /// Number of the stage, from 0.
    number: u32,
    from: f64,
    to: f64,
    begin: Duration,
    end: Duration,
}

impl Planned {
    /// Returns how much of the stage lies in a round whose load lasted for `held`.
    fn held(&self, held: Duration) -> Duration {
        self.end.min(held).saturating_sub(self.begin)
    }
}

/// Returns the stages of the load that have a duration.
fn planned(load: &Load) -> Vec<Planned> {
    let Until::Stages(stages) = &load.until else { return Vec::new() };
    let (mut from, mut begin) = (0.0, Duration::ZERO);
    let place = |(number, stage): (u32, &Stage)| {
        let end = begin + stage.over;
        let planned = Planned { number, from, to: stage.to, begin, end };
        (from, begin) = (stage.to, end);
        planned
    };
    let all: Vec<Planned> = (0..).zip(stages).map(place).collect();
    all.into_iter().filter(|stage| stage.end > stage.begin).collect()
}
