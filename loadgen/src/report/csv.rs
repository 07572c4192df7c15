//! A record as comma-separated values: one table, for spreadsheets.

use std::io;

use csv::{Writer, WriterBuilder};

use super::ranked::ranked;
use crate::measure::{CapacityRecord, LatencySummary, RunRecord, Summary, TargetRecord};

const LATENCIES: [&str; 9] = [
    "min_us",
    "mean_us",
    "p50_us",
    "p90_us",
    "p95_us",
    "p99_us",
    "p99_9_us",
    "p99_99_us",
    "max_us",
];

/// A row for each target and step, and one, whose step is `all`, for all steps of a target. Targets come
/// in the order of the ranking; what is not known is empty, and what is of a target as a whole is in its
/// row for all steps.
#[must_use]
pub fn csv(record: &RunRecord) -> String {
    let before = [
        "scenario",
        "target",
        "server_workers",
        "users",
        "step",
        "requests",
        "errors",
        "cancelled",
        "unsent",
        "rate_per_s",
        "bytes_per_s",
    ];
    let after = [
        "rank",
        "ranked_rate_per_s",
        "rate_95_low_per_s",
        "rate_95_high_per_s",
        "cpu_percent",
        "cpu_us_per_request",
        "memory_max_bytes",
    ];
    table(|writer| {
        writer.write_record(before.iter().chain(&LATENCIES).chain(&after))?;
        for (target, _) in ranked(record) {
            writer.write_record(row(record, target, &target.total, of_target(record, target)))?;
            for step in &target.steps {
                writer.write_record(row(record, target, step, vec![String::new(); after.len()]))?;
            }
        }
        Ok(())
    })
}

fn row(
    record: &RunRecord,
    target: &TargetRecord,
    summary: &Summary,
    of_target: Vec<String>,
) -> Vec<String> {
    let mut row = vec![
        record.scenario.clone(),
        target.target.clone(),
        target.server.workers.to_string(),
        target.users.to_string(),
        summary.name.clone(),
        summary.requests.to_string(),
        summary.errors.to_string(),
        summary.cancelled.to_string(),
        summary.unsent.to_string(),
        summary.rate_per_s.to_string(),
        summary.bytes_per_s.to_string(),
    ];
    row.extend(latencies(&summary.latency_us));
    row.extend(of_target);
    row
}

/// Its place, its rate with its interval, and what the server used.
fn of_target(record: &RunRecord, target: &TargetRecord) -> Vec<String> {
    let mut ranking = record.comparison.iter().flat_map(|c| &c.ranking).zip(1..);
    let placing = ranking.find(|(placing, _)| placing.target == target.name);
    let interval = placing.and_then(|(placing, _)| placing.confidence_95_per_s);
    let used = target.resources.get("target");
    vec![
        known(placing.map(|(_, rank)| rank)),
        known(placing.map(|(placing, _)| placing.rate_per_s)),
        known(interval.map(|[low, _]| low)),
        known(interval.map(|[_, high]| high)),
        known(used.map(|used| used.cpu_percent)),
        known(used.and_then(|used| used.cpu_us_per_request)),
        known(used.map(|used| used.memory_max_bytes)),
    ]
}

fn latencies(of: &LatencySummary) -> [String; 9] {
    let [min, p50, p90, p95, p99, p99_9, p99_99, max] =
        [of.min, of.p50, of.p90, of.p95, of.p99, of.p99_9, of.p99_99, of.max].map(known);
    [min, known(of.mean), p50, p90, p95, p99, p99_9, p99_99, max]
}

pub fn known(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A row for each point of each target's curve.
#[must_use]
pub fn capacity_csv(record: &CapacityRecord) -> String {
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
    table(|writer| {
        writer.write_record(before.iter().chain(&LATENCIES))?;
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
                writer.write_record(row)?;
            }
        }
        Ok(())
    })
}

/// What `write` writes. Rows of one length that go into memory can't fail.
pub fn table(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    let written = write(&mut writer).map_err(io::Error::other);
    let bytes = written.and_then(|()| writer.into_inner().map_err(io::Error::other));
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
