//! Writes a run as Markdown.

use super::{escaped, list, sections, table, titled};
use crate::record::RunRecord;
use crate::report::words::bottlenecks::bottlenecks;
use crate::report::words::commits;
use crate::report::words::conclusion::conclusion;
use crate::report::words::connections;
use crate::report::words::duet::shared;
use crate::report::words::first_byte;
use crate::report::words::flows;
use crate::report::words::headline::headline;
use crate::report::words::interval::plus_minus;
use crate::report::words::occupancy::occupancies;
use crate::report::words::postgres;
use crate::report::words::probe::probes;
use crate::report::words::profile::{self, Profiles};
use crate::report::words::proofs::proofs;
use crate::report::words::ranked::{ranked, servers};
use crate::report::words::results::{ResultRow, results};
use crate::report::words::rows::rows as rows_used;
use crate::report::words::stages::{self, StagesOf};
use crate::report::words::streams;
use crate::report::words::thresholds::held;
use crate::report::words::traces::traces;
use crate::report::words::uploads;
use crate::report::words::warnings::warnings;

/// Returns a Markdown document: the measurement, a table in the order of the ranking, the
/// conclusions, the thresholds, and warnings to read before believing the figures.
#[must_use]
pub(crate) fn run(record: &RunRecord) -> String {
    let rows: Vec<Vec<String>> = results(record, plus_minus).into_iter().map(row).collect();
    let header = ["", "requests/s", "errors", "p50, ms", "p95, ms", "p99, ms", "max, ms", "CPU, %"];
    let warned = warnings(record).into_iter().map(|warning| match &warning.more {
        Some(more) => format!("{} ({more})", warning.coded()),
        None => warning.coded(),
    });
    sections(&[
        format!("**{}**", escaped(&headline(record))),
        table(&header, &rows),
        titled(&stages::legend(record), staged(record)),
        list(
            conclusion(record)
                .into_iter()
                .chain(shared(record).map(str::to_owned))
                .chain(commits::noise(&servers(record)))
                .chain(commits::commits(&servers(record)))
                .chain(probes(record))
                .chain(traces(record))
                .chain(profile::differences(record))
                .chain(occupancies(&profile::of_run(record)))
                .chain(profile::failures(&profile::of_run(record)))
                .chain(bottlenecks(record))
                .chain(rows_used(record))
                .chain(proofs(record)),
        ),
        titled(&escaped(flows::LEGEND), flows(record)),
        titled(&escaped(streams::LEGEND), streams(record)),
        titled(&escaped(uploads::LEGEND), uploads(record)),
        titled(&escaped(first_byte::LEGEND), first_bytes(record)),
        titled(&escaped(&connections::legend(record)), connections(record)),
        titled(&escaped(postgres::LEGEND), postgres(record)),
        titled(
            &escaped(&profile::legend(&profile::of_run(record))),
            profiled(&profile::of_run(record)),
        ),
        titled("Thresholds:", list(record.thresholds.iter().map(held))),
        titled("Warnings:", list(warned)),
    ])
}

/// Returns the table of whole iterations; empty if each iteration has one request.
fn flows(record: &RunRecord) -> String {
    let rows = flows::rows(ranked(record).into_iter().map(|(target, _)| target));
    if rows.is_empty() { String::new() } else { table(&flows::HEADER, &rows) }
}

/// Returns the table of the events of streams; empty without streams.
fn streams(record: &RunRecord) -> String {
    let rows = streams::rows(ranked(record).into_iter().map(|(target, _)| target));
    table(&streams::HEADER, &rows)
}

/// Returns the table of uploads; empty without files.
fn uploads(record: &RunRecord) -> String {
    let rows = uploads::rows(ranked(record).into_iter().map(|(target, _)| target));
    table(&uploads::HEADER, &rows)
}

/// Returns the table of the times to the first byte; empty if they tell no more than the latency.
fn first_bytes(record: &RunRecord) -> String {
    let rows = first_byte::rows(ranked(record).into_iter().map(|(target, _)| target));
    table(&first_byte::HEADER, &rows)
}

/// Returns the table of how long opening connections took; empty if it cost little.
fn connections(record: &RunRecord) -> String {
    table(&connections::HEADER, &connections::rows(record))
}

/// Returns the table of the functions to which the CPU time of a request goes; empty without profiling rounds.
pub(super) fn profiled(profiles: &Profiles<'_>) -> String {
    table(&profile::HEADER, &profile::rows(profiles, &profile::MARKDOWN))
}

/// Returns the table of what PostgreSQL did; empty if loadgen did not start PostgreSQL.
fn postgres(record: &RunRecord) -> String {
    let rows = postgres::rows(ranked(record).into_iter().map(|(target, _)| target));
    table(&postgres::HEADER, &rows)
}

/// Returns the cells of a row, with an arrow before a part of the results of the target above.
fn row(of: ResultRow) -> Vec<String> {
    let name = if of.is_part { format!("↳ {}", of.name) } else { of.name };
    let cpu = of.cpu.unwrap_or_else(|| "–".to_owned());
    std::iter::once(name).chain(of.cells).chain([cpu]).collect()
}

/// Returns the table of the stages of each target; empty for a load without stages.
fn staged(record: &RunRecord) -> String {
    let rows = stages::stages(record).into_iter().flat_map(|StagesOf { target, rows }| {
        rows.into_iter().map(move |(stage, cells)| {
            let name = target.map_or_else(|| stage.clone(), |target| format!("{target}: {stage}"));
            std::iter::once(name).chain(cells).collect()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header: Vec<&str> = std::iter::once("").chain(stages::HEADER).collect();
    table(&header, &rows)
}
