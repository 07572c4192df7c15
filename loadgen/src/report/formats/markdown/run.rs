//! Writes a run as Markdown.

use super::{escaped, list, sections, table, titled};
use crate::record::{Placing, RunRecord, TargetRecord};
use crate::report::words::bottlenecks::bottlenecks;
use crate::report::words::conclusion::conclusion;
use crate::report::words::flows;
use crate::report::words::headline::headline;
use crate::report::words::interval::plus_minus;
use crate::report::words::postgres;
use crate::report::words::proofs::proofs;
use crate::report::words::ranked::{placed, ranked};
use crate::report::words::rows::rows as rows_used;
use crate::report::words::thresholds::held;
use crate::report::words::warnings::warnings;
use crate::text::{count, milliseconds, rate};

/// Returns a Markdown document: the measurement, a table in the order of the ranking, the
/// conclusions, the thresholds, and warnings to read before believing the figures.
#[must_use]
pub(crate) fn run(record: &RunRecord) -> String {
    let rows: Vec<Vec<String>> =
        ranked(record).into_iter().map(|(target, placing)| row(record, target, placing)).collect();
    let header = ["", "requests/s", "errors", "p50, ms", "p95, ms", "p99, ms", "max, ms", "CPU, %"];
    let warned = warnings(record).into_iter().map(|warning| match &warning.more {
        Some(more) => format!("{} ({more})", warning.coded()),
        None => warning.coded(),
    });
    sections(&[
        format!("**{}**", escaped(&headline(record))),
        table(&header, &rows),
        list(
            conclusion(record)
                .into_iter()
                .chain(bottlenecks(record))
                .chain(rows_used(record))
                .chain(proofs(record)),
        ),
        titled(&escaped(flows::LEGEND), flows(record)),
        titled(&escaped(postgres::LEGEND), postgres(record)),
        titled("Thresholds:", list(record.thresholds.iter().map(held))),
        titled("Warnings:", list(warned)),
    ])
}

/// Returns the table of whole iterations; empty if each iteration has one request.
fn flows(record: &RunRecord) -> String {
    let rows = flows::rows(ranked(record).into_iter().map(|(target, _)| target));
    if rows.is_empty() { String::new() } else { table(&flows::HEADER, &rows) }
}

/// Returns the table of what PostgreSQL did; empty if loadgen did not start PostgreSQL.
fn postgres(record: &RunRecord) -> String {
    let rows = postgres::rows(ranked(record).into_iter().map(|(target, _)| target));
    if rows.is_empty() { String::new() } else { table(&postgres::HEADER, &rows) }
}

fn row(record: &RunRecord, target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let mean = placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s);
    let interval = placing.and_then(|placing| placing.confidence_95_per_s);
    let answered = rate(mean) + &plus_minus(mean, interval);
    let latency = &target.total.latency_us;
    let used = target.resources.get("target");
    vec![
        placed(&target.name, record, target),
        answered,
        count(target.total.errors),
        milliseconds(latency.p50),
        milliseconds(latency.p95),
        milliseconds(latency.p99),
        milliseconds(latency.max),
        used.map_or("–".to_owned(), |used| count(used.cpu_percent.round() as u64)),
    ]
}
