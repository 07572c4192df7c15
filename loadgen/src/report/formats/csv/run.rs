//! Writes a run as comma-separated values.

use super::{LATENCIES, known, latencies, table};
use crate::measure::Summary;
use crate::record::{FlowRecord, RunRecord, StageResult, TargetRecord};
use crate::report::words::ranked::ranked;

/// Returns CSV with a row for each target and step. Targets come in the order of the ranking. Each
/// target also has a row for all steps together, whose step is `all`. Only this row has the figures
/// of the target as a whole, such as the rank. Rows for groups of steps, for flows and for the stages
/// of a staged load follow, and `kind` tells them apart: in rows of a `flow`, requests are iterations.
/// Unknown values are empty.
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
    let last = ["kind", "stage", "stage_from", "stage_to"];
    table(|rows| {
        let all = before.iter().chain(&LATENCIES).chain(&after).chain(&last).chain(&TIMES);
        rows.write(all)?;
        for (target, _) in ranked(record) {
            let none = || vec![String::new(); after.len()];
            let mut write = |own: Own, of_target, kind, stage| {
                let first = [record.scenario.clone(), target.target.clone()];
                let numbers = [target.server.workers, target.users].map(|n| n.to_string());
                let parts = [first.to_vec(), numbers.to_vec(), own.figures, of_target];
                let cells = parts.into_iter().flatten().chain(last_cells(kind, stage));
                rows.write(cells.chain(own.times))
            };
            write(Own::of(&target.total), of_target(record, target), "all", None)?;
            for step in &target.steps {
                write(Own::of(step), none(), "step", None)?;
            }
            for group in &target.groups {
                write(Own::of(group), none(), "group", None)?;
            }
            for flow in &target.flows {
                write(Own::of_flow(flow), none(), "flow", None)?;
            }
            for stage in &target.stages {
                write(Own::of(&stage.total), none(), "stage", Some(stage))?;
            }
        }
        Ok(())
    })
}

/// Columns of times other than the latency, and of streams.
const TIMES: [&str; 13] = [
    "ttfb_p50_us",
    "ttfb_p95_us",
    "ttfb_p99_us",
    "ttfb_max_us",
    "events",
    "events_per_s",
    "first_event_p50_us",
    "first_event_p99_us",
    "first_event_max_us",
    "gap_p50_us",
    "gap_p95_us",
    "gap_p99_us",
    "gap_max_us",
];

/// Cells of a row's own figures.
struct Own {
    figures: Vec<String>,
    /// Cells of [`TIMES`].
    times: Vec<String>,
}

impl Own {
    fn of(summary: &Summary) -> Self {
        let figures = [
            summary.name.clone(),
            summary.requests.to_string(),
            summary.errors.to_string(),
            summary.cancelled.to_string(),
            summary.unsent.to_string(),
            summary.rate_per_s.to_string(),
            summary.bytes_per_s.to_string(),
        ];
        let ttfb = &summary.ttfb_us;
        let ttfb = [ttfb.p50, ttfb.p95, ttfb.p99, ttfb.max].map(known);
        Self {
            figures: figures.into_iter().chain(latencies(&summary.latency_us)).collect(),
            times: ttfb.into_iter().chain(of_stream(summary)).collect(),
        }
    }

    fn of_flow(flow: &FlowRecord) -> Self {
        let figures = [
            flow.name.clone(),
            flow.iterations.to_string(),
            flow.errors.to_string(),
            flow.cancelled.to_string(),
            String::new(),
            flow.rate_per_s.to_string(),
            String::new(),
        ];
        Self {
            figures: figures.into_iter().chain(latencies(&flow.latency_us)).collect(),
            times: vec![String::new(); TIMES.len()],
        }
    }
}

/// Returns the cells of the streams; empty without streams.
fn of_stream(summary: &Summary) -> [String; 9] {
    let Some(stream) = &summary.stream else { return Default::default() };
    let (first, gap) = (&stream.first_event_us, &stream.gap_us);
    let [first_p50, first_p99, first_max, p50, p95, p99, max] =
        [first.p50, first.p99, first.max, gap.p50, gap.p95, gap.p99, gap.max].map(known);
    let events = stream.events.to_string();
    let per_s = stream.events_per_s.to_string();
    [events, per_s, first_p50, first_p99, first_max, p50, p95, p99, max]
}

fn last_cells(kind: &str, stage: Option<&StageResult>) -> [String; 4] {
    let [from, to] = [stage.map(|stage| stage.from), stage.map(|stage| stage.to)].map(known);
    [kind.to_owned(), known(stage.map(|stage| stage.stage)), from, to]
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
