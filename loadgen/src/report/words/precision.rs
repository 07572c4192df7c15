//! Says whether a run reached the precision that was asked for, and what it cost.

use std::time::Duration;

use crate::record::RunRecord;
use crate::text::{counted, duration, precise};

/// Returns a sentence on the precision; `None` if none was asked for.
pub(super) fn precision(record: &RunRecord) -> Option<String> {
    let precision = record.precision.as_ref()?;
    let asked = precise(precision.percent);
    let measured = precision.rounds_measured.unwrap_or(record.load.rounds);
    let rounds = counted(measured.into(), "round");
    let took = duration(Duration::try_from_secs_f64(precision.took_s.round()).unwrap_or_default());
    Some(match (precision.reached_percent, precision.rounds_needed) {
        (Some(reached), _) if precision.is_reached() => {
            let what = match record.load.targets.len() {
                1 => "the rate is",
                2 => "the compared ratio is",
                _ => "all compared ratios are",
            };
            format!("{what} known within ±{asked} % (±{reached:.1} %) after {rounds} in {took}")
        }
        (Some(reached), Some(needed)) => format!(
            "the widest interval is ±{reached:.1} %, not ±{asked} %, after {rounds} in {took}: {} would \
             be needed",
            counted(needed.into(), "round")
        ),
        _ => format!("±{asked} % was not reached: an interval is unknown"),
    })
}
