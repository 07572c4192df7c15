//! Writes a run as comma-separated values.

use super::{LATENCIES, known, latencies, table};
use crate::measure::Summary;
use crate::record::{RunRecord, StageResult, TargetRecord};
use crate::report::words::ranked::ranked;

/// Returns CSV with a row for each target and step. Targets come in the order of the ranking. Each
/// target also has a row for all steps together, whose step is `all`. Only this row has the figures
/// of the target as a whole, such as the rank. Under a staged load, each stage has another row for
/// all steps together. Unknown values are empty.
#[must_use]
pub(crate) fn run(record: &RunRecord) -> String {
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
    let of_stage = ["stage", "stage_from", "stage_to"];
    let none = || vec![String::new(); after.len()];
    table(|writer| {
        writer.write_record(before.iter().chain(&LATENCIES).chain(&after).chain(&of_stage))?;
        for (target, _) in ranked(record) {
            let whole = of_target(record, target);
            writer.write_record(row(record, target, &target.total, whole, None))?;
            for step in &target.steps {
                writer.write_record(row(record, target, step, none(), None))?;
            }
            for stage in &target.stages {
                writer.write_record(row(record, target, &stage.total, none(), Some(stage)))?;
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
    stage: Option<&StageResult>,
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
    row.push(known(stage.map(|stage| stage.stage)));
    row.extend([stage.map(|stage| stage.from), stage.map(|stage| stage.to)].map(known));
    row
}

/// Returns the cells that describe a target as a whole: the rank, the rate with the confidence
/// interval, and the CPU and memory that the target's server used.
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
