//! Lays out a run for a terminal, within 80 columns where names allow.

use std::fmt::Write;
use std::path::Path;

use crate::analysis::differences;
use crate::measure::Summary;
use crate::record::{FEWEST_ROUNDS, Placing, RunRecord, TargetRecord, ThresholdRecord};
use crate::report::words::bottlenecks::bottlenecks;
use crate::report::words::conclusion::{conclusion, rounds_to_ask_for};
use crate::report::words::containers::containers;
use crate::report::words::efficiency::efficiency;
use crate::report::words::flows;
use crate::report::words::headline::headline;
use crate::report::words::interval::{LEGEND, aligned_plus_minus};
use crate::report::words::matrix;
use crate::report::words::postgres;
use crate::report::words::proofs::proofs;
use crate::report::words::ranked::{parentheses, placed, ranked, servers};
use crate::report::words::rows::rows;
use crate::report::words::thresholds::judged;
use crate::report::words::warnings::warnings;
use crate::report::words::workers::workers;
use crate::text::{count, lay_out, milliseconds, paragraphs, rate, wrap};

/// Returns the text for a terminal: the table of results, the conclusions, the warnings, `folder`,
/// which holds the saved run, and options to try next. `folder` is `None` if saving failed.
#[must_use]
pub(crate) fn run<'a>(record: &RunRecord, folder: impl Into<Option<&'a Path>>) -> String {
    let figures = match record.is_matrix() {
        true => matrix::table(record),
        false => {
            let all = [table(record), flows(record), efficiency(record), postgres(record)];
            all.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
    };
    let sections = [
        wrap("", &headline(record)),
        figures,
        paragraphs(&differences(&servers(record), !record.is_matrix())),
        paragraphs(&conclusion(record)),
        paragraphs(&bottlenecks(record)),
        paragraphs(&containers(&record.environment)),
        paragraphs(&rows(record)),
        workers(record),
        paragraphs(&proofs(record)),
        thresholds(record),
        verdicts(record),
        next(record, folder.into()),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|s| !s.is_empty()).collect();
    sections.join("\n")
}

/// Returns the table of whole iterations; empty if each iteration has one request.
fn flows(record: &RunRecord) -> String {
    let rows = flows::rows(ranked(record).into_iter().map(|(target, _)| target));
    if rows.is_empty() {
        return String::new();
    }
    lay_out(&flows::HEADER, &rows) + "\n" + &wrap(" ", flows::LEGEND)
}

/// Returns the table of what PostgreSQL did; empty if loadgen did not start PostgreSQL.
fn postgres(record: &RunRecord) -> String {
    let rows = postgres::rows(ranked(record).into_iter().map(|(target, _)| target));
    if rows.is_empty() {
        return String::new();
    }
    lay_out(&postgres::HEADER, &rows) + "\n" + &wrap(" ", postgres::LEGEND)
}

/// Returns the table of results: a row for each target, best first, followed by a row for each step
/// if the target has several steps.
fn table(record: &RunRecord) -> String {
    let mut rows = Vec::new();
    for (target, placing) in ranked(record) {
        let name = placed(&target.name, record, target);
        rows.push(target_row(&name, target, placing));
        if target.steps.len() > 1 {
            rows.extend(
                target.steps.iter().map(|s| summary_row(&format!("  {}", s.name), None, s)),
            );
        }
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
    if rows.iter().any(|row| row.len() == HEADER.len()) {
        legend += "; CPU of the target in % of one core";
    }
    legend += parentheses(record);
    lay_out(&HEADER, &rows) + "\n" + &wrap(" ", &legend)
}

const HEADER: [&str; 8] = ["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU"];

fn target_row(name: &str, target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let mut row = summary_row(name, placing, &target.total);
    if let Some(used) = target.resources.get("target") {
        row.push(count(used.cpu_percent.round() as u64));
    }
    row
}

fn summary_row(name: &str, placing: Option<&Placing>, summary: &Summary) -> Vec<String> {
    let latency = &summary.latency_us;
    // Requests that users send when they stop have no rate.
    let has_none = summary.rate_per_s == 0.0 && summary.requests > summary.errors;
    let answered = match placing {
        None if has_none => "–".to_owned(),
        None => rate(summary.rate_per_s),
        Some(placing) => {
            rate(placing.rate_per_s)
                + &aligned_plus_minus(placing.rate_per_s, placing.confidence_95_per_s)
        }
    };
    vec![
        name.to_owned(),
        answered,
        count(summary.errors),
        milliseconds(latency.p50),
        milliseconds(latency.p95),
        milliseconds(latency.p99),
        milliseconds(latency.max),
    ]
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
    let lab = record.environment.runtime != "url";
    let mut out = String::new();
    if let Some(folder) = folder {
        let what = if lab { "report.html, run.json, logs" } else { "report.html, run.json" };
        let _ = writeln!(out, " saved in {}: {what}", folder.display());
    }
    if lab {
        let more = match rounds_to_ask_for(record) {
            Some(FEWEST_ROUNDS) => {
                format!("--rounds {FEWEST_ROUNDS}, because fewer show no difference")
            }
            Some(rounds) => format!("--rounds {rounds} to settle differences of 5 %"),
            None => "--rounds 10 --duration 10s for narrower intervals".to_owned(),
        };
        let _ = writeln!(out, " next: add {more};");
        out += "       loadgen list shows the scenarios and targets\n";
    }
    out
}
