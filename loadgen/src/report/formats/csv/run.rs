//! Writes a run as comma-separated values.

use super::{LATENCIES, known, latencies, table};
use crate::measure::Summary;
use crate::record::{FlowRecord, RunRecord, TargetRecord};
use crate::report::words::ranked::ranked;

/// Returns CSV with a row for each target and step. Targets come in the order of the ranking. Each
/// target also has a row for all steps together, whose step is `all`. Only this row has the figures
/// of the target as a whole, such as the rank. Rows for groups of steps and for flows follow: in
/// rows whose `kind` is `flow`, requests are iterations. Unknown values are empty.
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
        "kind",
    ];
    table(|writer| {
        writer.write_record(before.iter().chain(&LATENCIES).chain(&after))?;
        for (target, _) in ranked(record) {
            let mut rows = vec![row(record, target, &target.total)];
            rows[0].extend(of_target(record, target));
            rows[0].push("all".to_owned());
            let steps = target.steps.iter().map(|step| (step, "step"));
            for (summary, kind) in steps.chain(target.groups.iter().map(|it| (it, "group"))) {
                rows.push(padded(row(record, target, summary), after.len(), kind));
            }
            for flow in &target.flows {
                rows.push(padded(flow_row(record, target, flow), after.len(), "flow"));
            }
            rows.into_iter().try_for_each(|row| writer.write_record(row))?;
        }
        Ok(())
    })
}

fn row(record: &RunRecord, target: &TargetRecord, summary: &Summary) -> Vec<String> {
    let mut row = first_cells(record, target);
    row.extend([
        summary.name.clone(),
        summary.requests.to_string(),
        summary.errors.to_string(),
        summary.cancelled.to_string(),
        summary.unsent.to_string(),
        summary.rate_per_s.to_string(),
        summary.bytes_per_s.to_string(),
    ]);
    row.extend(latencies(&summary.latency_us));
    row
}

fn flow_row(record: &RunRecord, target: &TargetRecord, flow: &FlowRecord) -> Vec<String> {
    let mut row = first_cells(record, target);
    row.extend([
        flow.name.clone(),
        flow.iterations.to_string(),
        flow.errors.to_string(),
        flow.cancelled.to_string(),
        String::new(),
        flow.rate_per_s.to_string(),
        String::new(),
    ]);
    row.extend(latencies(&flow.latency_us));
    row
}

fn first_cells(record: &RunRecord, target: &TargetRecord) -> Vec<String> {
    vec![
        record.scenario.clone(),
        target.target.clone(),
        target.server.workers.to_string(),
        target.users.to_string(),
    ]
}

/// Adds empty cells for the figures of a target as a whole, and then the kind of the row, so that the
/// row gets `count` more cells.
fn padded(mut row: Vec<String>, count: usize, kind: &str) -> Vec<String> {
    row.resize(row.len() + count - 1, String::new());
    row.push(kind.to_owned());
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
