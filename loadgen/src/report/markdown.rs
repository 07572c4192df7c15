//! A record as Markdown, for pages and pull requests: sentences and one table.

use super::bottlenecks::bottlenecks;
use super::capacity;
use super::conclusion::conclusion;
use super::format::{count, half_width, milliseconds, rate};
use super::headline::headline;
use super::proofs::proofs;
use super::ranked::{placed, ranked};
use super::rows::rows as rows_used;
use super::thresholds::judged;
use super::warnings::{Warning, warnings};
use crate::measure::{CapacityRecord, Placing, RunRecord, TargetRecord};

/// What was measured, the ranking, what it means, and what to know before believing it.
#[must_use]
pub fn markdown(record: &RunRecord) -> String {
    let rows: Vec<Vec<String>> =
        ranked(record).into_iter().map(|(target, placing)| row(record, target, placing)).collect();
    let header = ["", "requests/s", "errors", "p50, ms", "p95, ms", "p99, ms", "max, ms", "CPU, %"];
    let judged = record.thresholds.iter().map(|threshold| {
        format!("{}: {}", if threshold.passed { "held" } else { "FAILED" }, judged(threshold))
    });
    let warned = warnings(record).into_iter().map(|Warning { what, more }| match more {
        Some(more) => format!("{what} ({more})"),
        None => what,
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
        titled("Thresholds:", list(judged)),
        titled("Before you believe it:", list(warned)),
    ])
}

fn row(record: &RunRecord, target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let mean = placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s);
    let answered = match placing.and_then(|placing| placing.confidence_95_per_s) {
        Some([_, high]) if mean > 0.0 => {
            format!("{} ±{}", rate(mean), half_width(mean, high).trim())
        }
        _ => rate(mean),
    };
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

/// What was searched, what was found, and what to know before believing it.
#[must_use]
pub fn capacity_markdown(record: &CapacityRecord) -> String {
    let row = |target: &crate::measure::CapacityTarget| {
        let knee = target.knee.as_ref();
        vec![
            target.name.clone(),
            capacity::figure(&target.capacity),
            knee.map_or("–".to_owned(), |knee| rate(knee.rate_per_s)),
            milliseconds(knee.and_then(|knee| knee.latency_us.p50)),
            milliseconds(knee.and_then(|knee| knee.latency_us.p99)),
        ]
    };
    let rows: Vec<Vec<String>> = record.targets.iter().map(row).collect();
    let header = ["", "capacity, requests/s", "knee, requests/s", "p50 there, ms", "p99 there, ms"];
    let passes = capacity::what_passes(record);
    sections(&[
        format!("**{}**", escaped(&capacity::headline(record))),
        table(&header, &rows),
        list(
            [passes]
                .into_iter()
                .chain(capacity::conclusion(record))
                .chain(capacity::endings(record)),
        ),
        titled("Before you believe it:", list(capacity::warnings(record))),
    ])
}

/// Those that have anything, with an empty line between them.
pub fn sections(all: &[String]) -> String {
    let filled: Vec<&str> = all
        .iter()
        .map(|section| section.trim_end())
        .filter(|section| !section.is_empty())
        .collect();
    filled.join("\n\n") + "\n"
}

/// A title above what is not empty.
pub fn titled(title: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{title}\n\n{text}") }
}

/// An item for each sentence.
pub fn list(sentences: impl IntoIterator<Item = String>) -> String {
    sentences.into_iter().map(|sentence| format!("- {}\n", escaped(&sentence))).collect()
}

/// The first column to the left, the others to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = (0..header.len()).map(|i| if i == 0 { "---" } else { "---:" }.to_owned());
    let rows = rows.iter().map(|row| line(row.iter().map(|cell| escaped(cell)).collect()));
    let header = line(header.iter().map(|&name| name.to_owned()).collect());
    header + &line(rule.collect()) + &rows.collect::<String>()
}

/// What comes from outside looks as it is: no cell ends early, and nothing becomes a tag or a style.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
