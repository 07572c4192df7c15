//! Lays out a run for a terminal, within 80 columns where names allow.

use std::fmt::Write;
use std::path::Path;

use crate::analysis::differences;
use crate::record::{FEWEST_ROUNDS, RunRecord, ThresholdRecord};
use crate::report::words::bottlenecks::bottlenecks;
use crate::report::words::commits;
use crate::report::words::conclusion::{conclusion, rounds_to_ask_for};
use crate::report::words::connections;
use crate::report::words::containers::containers;
use crate::report::words::duet::shared;
use crate::report::words::efficiency::efficiency;
use crate::report::words::first_byte;
use crate::report::words::flows;
use crate::report::words::folded;
use crate::report::words::headline::headline;
use crate::report::words::interval::{LEGEND, aligned_plus_minus};
use crate::report::words::matrix;
use crate::report::words::occupancy::occupancies;
use crate::report::words::postgres;
use crate::report::words::probe::probes;
use crate::report::words::profile;
use crate::report::words::proofs::proofs;
use crate::report::words::ranked::{parentheses, ranked, servers};
use crate::report::words::results::{ResultRow, results};
use crate::report::words::rows::rows;
use crate::report::words::stages::{self, StagesOf};
use crate::report::words::streams;
use crate::report::words::thresholds::judged;
use crate::report::words::traces::traces;
use crate::report::words::uploads;
use crate::report::words::warnings::warnings;
use crate::report::words::workers::workers;
use crate::text::{lay_out, paragraphs, wrap};

/// Returns the text for a terminal of this many columns: the table of results, the conclusions, the warnings,
/// `folder`, which holds the saved run, and options to try next. `folder` is `None` if saving failed. If the text
/// is longer than a screen, each code has one line of warnings; if it still is, the table and the conclusions
/// come last: see [`folded`].
#[must_use]
pub(crate) fn run(record: &RunRecord, folder: Option<&Path>, columns: usize) -> String {
    let is_on_screen = |text: &String| text.lines().count() <= folded::SCREEN;
    let parts = Parts::new(record, folder);
    let full = parts.in_order(&verdicts(record));
    if is_on_screen(&full) {
        return full;
    }
    let lines = folded::lines(&folded::of_run(warnings(record)), "target", columns);
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let short = parts.in_order(&lines);
    if is_on_screen(&short) { short } else { parts.answer_last(&lines) }
}

/// Parts of the text, without the warnings.
struct Parts {
    headline: String,
    /// The table of results, or the matrix.
    results: String,
    /// Further tables, and the differences between the servers.
    tables: Vec<String>,
    /// Conclusions from the results.
    conclusions: Vec<String>,
    /// Bottlenecks, containers, rows, workers and proofs.
    details: Vec<String>,
    thresholds: String,
    next: String,
}

impl Parts {
    fn new(record: &RunRecord, folder: Option<&Path>) -> Self {
        let (results, mut tables) = match record.is_matrix() {
            true => (matrix::table(record), Vec::new()),
            false => (table(record), tables(record)),
        };
        tables.push(staged(record));
        tables.push(paragraphs(&differences(&servers(record), !record.is_matrix())));
        Self {
            headline: wrap("", &headline(record)),
            results,
            tables,
            conclusions: vec![
                paragraphs(&conclusion(record)),
                paragraphs(&commits::noise(&servers(record))),
                paragraphs(&probes(record)),
                paragraphs(&traces(record)),
                paragraphs(&profile::differences(record)),
                paragraphs(&occupancies(&profile::of_run(record))),
            ],
            details: vec![
                paragraphs(&profile::failures(&profile::of_run(record))),
                paragraphs(&bottlenecks(record)),
                paragraphs(&containers(&record.environment)),
                paragraphs(&rows(record)),
                workers(record),
                paragraphs(&proofs(record)),
            ],
            thresholds: thresholds(record),
            next: next(record, folder),
        }
    }

    /// Returns the parts with the table of results first.
    fn in_order(&self, warnings: &str) -> String {
        let Self { headline, results, tables, conclusions, details, thresholds, next } = self;
        let mut all = vec![headline.as_str(), results];
        all.extend(tables.iter().chain(conclusions).chain(details).map(String::as_str));
        joined(all.into_iter().chain([thresholds.as_str(), warnings, next]))
    }

    /// Returns the parts with the table of results, the conclusions and the thresholds last.
    fn answer_last(&self, warnings: &str) -> String {
        let Self { headline, results, tables, conclusions, details, thresholds, next } = self;
        let mut all = vec![headline.as_str()];
        all.extend(tables.iter().chain(details).map(String::as_str));
        all.extend([warnings, results]);
        all.extend(conclusions.iter().map(String::as_str));
        joined(all.into_iter().chain([thresholds.as_str(), next]))
    }
}

/// Joins all sections that are not empty, with an empty line between them.
fn joined<'a>(sections: impl Iterator<Item = &'a str>) -> String {
    sections.filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Lays out a table with its legend; empty without rows.
pub(super) fn explained(header: &[&str], rows: &[Vec<String>], legend: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    lay_out(header, rows) + "\n" + &wrap(" ", legend)
}

/// Returns the tables of what the scenario or the target has besides the results.
fn tables(record: &RunRecord) -> Vec<String> {
    let targets = || ranked(record).into_iter().map(|(target, _)| target);
    let opened = connections::rows(record);
    vec![
        explained(&flows::HEADER, &flows::rows(targets()), flows::LEGEND),
        explained(&connections::HEADER, &opened, &connections::legend(record)),
        explained(&streams::HEADER, &streams::rows(targets()), streams::LEGEND),
        explained(&uploads::HEADER, &uploads::rows(targets()), uploads::LEGEND),
        explained(&first_byte::HEADER, &first_byte::rows(targets()), first_byte::LEGEND),
        efficiency(record),
        explained(
            &profile::HEADER,
            &profile::rows(&profile::of_run(record), &profile::TERMINAL),
            &profile::legend(&profile::of_run(record)),
        ),
        explained(&postgres::HEADER, &postgres::rows(targets()), postgres::LEGEND),
    ]
}

/// Returns the table of results: a row for each target, best first, each followed by its parts.
fn table(record: &RunRecord) -> String {
    let rows = results(record, aligned_plus_minus);
    if rows.is_empty() {
        return String::new();
    }
    let compared = record.comparison.iter().flat_map(|comparison| &comparison.ranking);
    let mut legend = "requests/s counts expected responses only".to_owned();
    if compared.into_iter().any(|placing| placing.confidence_95_per_s.is_some()) {
        legend += LEGEND;
    }
    legend += match record.load.rate_per_s {
        None => "; latencies in ms",
        Some(_) => "; latencies in ms, from the planned send of a request",
    };
    if rows.iter().any(|row| row.cpu.is_some()) {
        legend += "; CPU of the target in % of one core";
    }
    legend.extend(shared(record).map(|said| format!("; {said}")));
    legend += parentheses(record);
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    explained(&HEADER, &rows, &legend)
}

const HEADER: [&str; 8] = ["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU"];

fn row(of: ResultRow) -> Vec<String> {
    let name = if of.is_part { format!("  {}", of.name) } else { of.name };
    std::iter::once(name).chain(of.cells).chain(of.cpu).collect()
}

/// Returns the table of the stages of each target; empty for a load without stages.
fn staged(record: &RunRecord) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for StagesOf { target, rows: of_target } in stages::stages(record) {
        let indent = if target.is_some() { "  " } else { "" };
        rows.extend(target.map(|name| vec![name.to_owned()]));
        rows.extend(of_target.into_iter().map(|(name, cells)| {
            std::iter::once(format!("{indent}{name}")).chain(cells).collect()
        }));
    }
    let header: Vec<&str> = std::iter::once("").chain(stages::HEADER).collect();
    explained(&header, &rows, &stages::legend(record))
}

fn thresholds(record: &RunRecord) -> String {
    let line = |threshold: &ThresholdRecord| {
        let mark = if threshold.passed { " held   " } else { " FAILED " };
        wrap(mark, &judged(threshold))
    };
    record.thresholds.iter().map(line).collect()
}

fn verdicts(record: &RunRecord) -> String {
    let mut out = String::new();
    for warning in warnings(record) {
        out += &wrap(" ! ", &warning.coded());
        out.extend(warning.more.map(|more| wrap("   ", &more)));
    }
    out
}

fn next(record: &RunRecord, folder: Option<&Path>) -> String {
    let lab = !["url", "kubernetes"].contains(&record.environment.runtime.as_str());
    let mut out = String::new();
    if let Some(folder) = folder {
        let what = if lab { "report.html, run.json, logs" } else { "report.html, run.json" };
        let _ = writeln!(out, " saved in {}: {what}", folder.display());
    }
    if lab {
        let list = "loadgen list shows the scenarios and targets";
        let _ = match more_rounds(record) {
            Some(more) => writeln!(out, " next: add {more};\n       {list}"),
            None => writeln!(out, " next: {list}"),
        };
    }
    out
}

/// Returns the options with which the same run would say more; `None` if the run decided on the number of
/// its rounds.
fn more_rounds(record: &RunRecord) -> Option<String> {
    if record.precision.is_some() {
        return None;
    }
    let now = record.load.rounds;
    let open = record.gate.iter().flat_map(|gate| &gate.judged).filter_map(|one| one.more_rounds);
    if let Some(more) = open.max() {
        return Some(format!("--rounds {} to settle the judgement", now.saturating_add(more)));
    }
    Some(match rounds_to_ask_for(record) {
        Some(FEWEST_ROUNDS) => {
            format!("--rounds {FEWEST_ROUNDS}, because fewer show no difference")
        }
        Some(rounds) => format!("--rounds {rounds} to settle differences of 5 %"),
        None if now < 10 => "--rounds 10 --duration 10s for narrower intervals".to_owned(),
        None => format!("--rounds {} for narrower intervals", now.saturating_mul(2)),
    })
}
