//! The comparison as a person reads it, within 80 columns where names allow.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::format::{bytes, count, duration, milliseconds, rate};
use crate::measure::{Placing, RunRecord, Summary, TargetRecord};

/// The table, what it means, where the run was saved in `folder`, and what to type next.
#[must_use]
pub fn terminal(record: &RunRecord, folder: &Path) -> String {
    let mut out = String::new();
    let sections = [
        headline(record),
        table(record),
        conclusion(record),
        counters(record),
        thresholds(record),
        verdicts(record),
        next(record, folder),
    ];
    for section in sections.iter().filter(|section| !section.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(section);
    }
    out
}

fn headline(record: &RunRecord) -> String {
    let load = &record.load;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let length = match (load.duration_s, load.iterations) {
        (Some(s), _) => seconds(s),
        (None, Some(n)) => format!("{} iterations", count(n)),
        (None, None) => String::new(),
    };
    let mut text = format!("{}: {} users, ", record.scenario, count(load.users.into()));
    if load.ramp_up_s > 0.0 {
        let _ = write!(text, "ramp-up {}, ", seconds(load.ramp_up_s));
    }
    let _ = match load.rounds {
        1 => write!(text, "one round of {length}"),
        n => write!(text, "{n} rounds of {length}"),
    };
    if load.warmup_s > 0.0 {
        let _ = write!(text, " after {} of warm-up", seconds(load.warmup_s));
    }
    let _ = match load.workers {
        0 => Ok(()),
        1 => write!(text, ", 1 worker"),
        n => write!(text, ", {n} workers"),
    };
    text + "\n"
}

/// The targets, best first.
fn table(record: &RunRecord) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU", "memory"]);
    for (target, placing) in ranked(record) {
        table.add_row(target_row(target, placing));
        if target.steps.len() > 1 {
            for step in &target.steps {
                table.add_row(summary_row(&format!("  {}", step.name), None, step));
            }
        }
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 1 } else { 2 }, 0));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    lines
        + "\n requests/s counts expected answers only, ± its 95 % confidence interval;\n \
             latencies in ms; CPU and memory are those of the target, 100 % is one core\n"
}

/// The targets in the order of the ranking, or as they were named where there is none.
fn ranked(record: &RunRecord) -> Vec<(&TargetRecord, Option<&Placing>)> {
    match &record.comparison {
        None => record.targets.iter().map(|target| (target, None)).collect(),
        Some(comparison) => comparison
            .ranking
            .iter()
            .filter_map(|placing| {
                let target = record.targets.iter().find(|t| t.name == placing.target)?;
                Some((target, Some(placing)))
            })
            .collect(),
    }
}

fn target_row(target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let mut row = summary_row(&target.name, placing, &target.total);
    if let Some(used) = target.resources.get("target") {
        row.push(format!("{:.0} %", used.cpu_percent));
        row.push(bytes(used.memory_max_bytes));
    }
    row
}

fn summary_row(name: &str, placing: Option<&Placing>, summary: &Summary) -> Vec<String> {
    let latency = &summary.latency_us;
    let answered = match placing {
        None => rate(summary.rate_per_s),
        Some(placing) => match placing.confidence_95_per_s {
            Some([_, high]) if placing.rate_per_s > 0.0 => {
                let percent = (high / placing.rate_per_s - 1.0) * 100.0;
                format!("{} ±{:>2.0} %", rate(placing.rate_per_s), percent.ceil())
            }
            _ => rate(placing.rate_per_s),
        },
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

/// The ranking in words.
fn conclusion(record: &RunRecord) -> String {
    let Some(comparison) = &record.comparison else { return String::new() };
    let mut out = String::new();
    for pair in comparison.ranking.windows(2) {
        let (better, worse) = (&pair[0], &pair[1]);
        if worse.rate_per_s <= 0.0 {
            continue;
        }
        let _ = if worse.tied_with_previous {
            writeln!(
                out,
                " {} and {} are not told apart: their intervals overlap",
                better.target, worse.target
            )
        } else {
            let times = better.rate_per_s / worse.rate_per_s;
            writeln!(
                out,
                " {} carries {times:.2} times the load of {}",
                better.target, worse.target
            )
        };
    }
    out
}

/// What was counted in the answers, and whether the backend agrees.
fn counters(record: &RunRecord) -> String {
    let mut out = String::new();
    for target in &record.targets {
        for (name, counted) in &target.counters {
            let _ = write!(out, " {}: {name} {}", target.name, count(*counted));
            let proofs: Vec<_> = target.proofs.iter().filter(|p| p.counter == *name).collect();
            if !proofs.is_empty() {
                let held: u64 = proofs.iter().map(|p| p.held).sum();
                let uncounted: u64 = proofs.iter().map(|p| p.uncounted).sum();
                let _ = if proofs.iter().all(|p| p.agrees) {
                    write!(
                        out,
                        ", proved: PostgreSQL held {} rows,\n   with {} of requests that are not \
                         counted (verification, warm-up, cut off)",
                        count(held),
                        count(uncounted)
                    )
                } else {
                    write!(out, ", NOT proved: PostgreSQL held {} rows", count(held))
                };
            }
            out.push('\n');
        }
    }
    out
}

fn thresholds(record: &RunRecord) -> String {
    let mut out = String::new();
    for t in &record.thresholds {
        let mark = if t.passed { "held  " } else { "FAILED" };
        let measured = t.measured.map_or("too few samples".to_owned(), |m| format!("{m}"));
        let _ = writeln!(out, " {mark} {}: {} (measured {measured})", t.target, t.threshold);
    }
    out
}

fn verdicts(record: &RunRecord) -> String {
    let mut out = String::new();
    for verdict in &record.verdicts {
        let who = verdict.target.as_ref().map(|t| format!("{t}: ")).unwrap_or_default();
        let _ = writeln!(out, " ! {who}{}\n   {}", verdict.message, verdict.advice);
    }
    if let Some(degraded) = &record.degraded {
        let _ = writeln!(out, " ! degraded: {}", degraded.reason);
    }
    out
}

fn next(record: &RunRecord, folder: &Path) -> String {
    let folder = folder.display();
    let mut out = format!(" saved in {folder} (run.json, and each service's log)\n");
    if record.environment.runtime == "process" {
        let _ = writeln!(
            out,
            " next: loadgen --scenario {} --rounds 10 --duration 10s   (narrower intervals)\n       \
             loadgen list                                       (scenarios and targets)",
            record.scenario
        );
    }
    out
}
