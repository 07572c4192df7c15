//! Writes a search for capacities as comma-separated values.

use super::{LATENCIES, known, latencies, table};
use crate::record::CapacityRecord;

/// Returns CSV with a row for each point of each target's curve of latency over throughput.
#[must_use]
pub(crate) fn capacity(record: &CapacityRecord) -> String {
    let before = [
        "scenario",
        "target",
        "capacity_per_s",
        "capacity_95_low_per_s",
        "capacity_95_high_per_s",
        "rate_per_s",
        "answered_per_s",
        "error_rate",
        "passed",
        "trials",
    ];
    table(|rows| {
        rows.write(before.iter().chain(&LATENCIES))?;
        for target in &record.targets {
            let interval = target.capacity.confidence_95_per_s;
            for point in &target.curve {
                let mut row = vec![
                    record.scenario.clone(),
                    target.name.clone(),
                    known(target.capacity.rate_per_s),
                    known(interval.map(|[low, _]| low)),
                    known(interval.map(|[_, high]| high)),
                    point.rate_per_s.to_string(),
                    point.answered_per_s.to_string(),
                    point.error_rate.to_string(),
                    point.passed.to_string(),
                    point.trials.to_string(),
                ];
                row.extend(latencies(&point.latency_us));
                rows.write(row)?;
            }
        }
        Ok(())
    })
}
