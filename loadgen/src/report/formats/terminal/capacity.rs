//! Lays out each target's capacity for a terminal, within 80 columns where names allow.

use std::path::Path;

use super::run::explained;
use crate::analysis::differences;
use crate::record::{CapacityRecord, CapacityTarget, CurvePoint};
use crate::report::words::capacity::{
    self as words, conclusion, endings, headline, warnings, what_passes,
};
use crate::report::words::commits;
use crate::report::words::containers::containers;
use crate::report::words::interval::LEGEND;
use crate::report::words::occupancy::occupancies;
use crate::report::words::profile;
use crate::text::{count, lay_out, milliseconds, paragraphs, precise, rate, wrap};

/// Returns the text for a terminal: the capacities, the curves of latency over throughput, the
/// conclusions, the warnings, and `folder`, which holds the saved record. `folder` is `None` if
/// saving failed.
#[must_use]
pub(crate) fn capacity<'a>(record: &CapacityRecord, folder: impl Into<Option<&'a Path>>) -> String {
    let headlines = wrap("", &headline(record)) + &wrap(" ", &what_passes(record));
    let mut sections = vec![headlines, capacities(record)];
    sections.extend(record.targets.iter().map(curve));
    sections.push(legend(record));
    let profiles = profile::of_search(record);
    sections.push(explained(
        &profile::HEADER,
        &profile::rows(&profiles, &profile::TERMINAL),
        &profile::legend(&profiles),
    ));
    let servers: Vec<_> = record.targets.iter().map(|t| (t.name.as_str(), &t.server)).collect();
    sections.push(paragraphs(&differences(&servers, true)));
    sections.push(paragraphs(&conclusion(record)));
    sections.push(paragraphs(&occupancies(&profiles)));
    sections.push(paragraphs(&profile::failures(&profiles)));
    sections.push(paragraphs(&commits::noise(&servers)));
    sections.push(paragraphs(&containers(&record.environment)));
    sections.push(paragraphs(&endings(record)));
    sections.push(warnings(record).iter().map(|warning| wrap(" ! ", warning)).collect());
    sections.push(saved(record, folder.into()));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

const HEADER: [&str; 7] = ["", "capacity/s", "knee/s", "p50", "p99", "CPU", "CPU-µs/request"];

fn capacities(record: &CapacityRecord) -> String {
    let rows: Vec<_> = record.targets.iter().map(|target| row(target, is_lab(record))).collect();
    let columns = if is_lab(record) { HEADER.len() } else { HEADER.len() - 2 };
    lay_out(&HEADER[..columns], &rows)
}

/// Whether loadgen itself launched the targets: only then is the targets' CPU usage known.
fn is_lab(record: &CapacityRecord) -> bool {
    record.environment.runtime != "url"
}

fn row(target: &CapacityTarget, is_lab: bool) -> Vec<String> {
    let knee = target.knee.as_ref();
    let mut row = words::row(target);
    if is_lab {
        row.push(whole(knee.and_then(|knee| knee.target_cpu_percent)));
        row.push(whole(knee.and_then(|knee| knee.target_cpu_us_per_request)));
    }
    row
}

fn whole(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| count(value.round() as u64))
}

/// Returns a table of a target's curve of latency over throughput, under the target's name.
fn curve(target: &CapacityTarget) -> String {
    let rows: Vec<_> = target.curve.iter().map(|point| point_row(target, point)).collect();
    let shows_cpu = target.curve.iter().any(|point| point.target_cpu_percent.is_some());
    let header = ["", "rate/s", "answered/s", "errors", "p50", "p99", "passed", "CPU"];
    let columns = if shows_cpu { header.len() - 1 } else { header.len() - 2 };
    let rows: Vec<_> = rows.into_iter().map(|row| row[..=columns].to_vec()).collect();
    format!(" {}\n{}", target.name, lay_out(&header[..=columns], &rows))
}

fn point_row(target: &CapacityTarget, point: &CurvePoint) -> Vec<String> {
    let is_knee = target.knee.as_ref() == Some(point);
    vec![
        if is_knee { "knee" } else { "" }.to_owned(),
        rate(point.rate_per_s),
        rate(point.answered_per_s),
        format!("{} %", precise(point.error_rate * 100.0)),
        milliseconds(point.latency_us.p50),
        milliseconds(point.latency_us.p99),
        format!("{}/{}", point.passed, point.trials),
        whole(point.target_cpu_percent),
    ]
}

fn legend(record: &CapacityRecord) -> String {
    let targets = &record.targets;
    let mut text = "capacity: the highest rate that passes".to_owned();
    if targets.iter().any(|target| target.capacity.confidence_95_per_s.is_some()) {
        text += LEGEND;
    }
    text += "; knee: the rate with the greatest throughput over mean latency; in the first table the \
             latencies, in ms,";
    if is_lab(record) {
        text += " and the target's CPU, in % of one core,";
    }
    text += " are those at the knee";
    wrap(" ", &text)
}

fn saved(record: &CapacityRecord, folder: Option<&Path>) -> String {
    let Some(folder) = folder else { return String::new() };
    let logs = if is_lab(record) { ", logs" } else { "" };
    format!(" saved in {}: report.html, capacity.json{logs}\n", folder.display())
}
