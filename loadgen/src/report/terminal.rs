//! The comparison as a person reads it, within 80 columns where names allow.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::bottlenecks::bottlenecks;
use super::changes::changes;
use super::conclusion::{conclusion, rounds_to_ask_for};
use super::containers::containers;
use super::degraded::degraded;
use super::differences::differences;
use super::efficiency::efficiency;
use super::format::{count, duration, half_width, milliseconds, precise, quantity, rate, wrap};
use super::matrix;
use super::proofs::proofs;
use super::ranked::{parentheses, placed, ranked};
use super::table::lay_out;
use super::workers::workers;
use crate::measure::{
    FEWEST_ROUNDS, Placing, RunRecord, ServerRecord, Summary, TargetRecord, Verdict, VerdictKind,
};

/// The table, what it means, where the run was saved, unless it could not be, and what to type
/// next.
#[must_use]
pub fn terminal<'a>(record: &RunRecord, folder: impl Into<Option<&'a Path>>) -> String {
    let figures = match record.is_matrix() {
        true => matrix::table(record),
        false => [table(record), efficiency(record)].join("\n").trim_end().to_owned() + "\n",
    };
    let sections = [
        headline(record),
        figures,
        differences(&servers(record), !record.is_matrix()),
        conclusion(record),
        bottlenecks(record),
        containers(&record.environment),
        workers(record),
        proofs(record),
        thresholds(record),
        verdicts(record),
        next(record, folder.into()),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|s| !s.is_empty()).collect();
    sections.join("\n")
}

fn headline(record: &RunRecord) -> String {
    let load = &record.load;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let length = match (load.duration_s, load.iterations) {
        (Some(s), _) => seconds(s),
        (None, Some(n)) => format!("{} iterations", count(n)),
        (None, None) => String::new(),
    };
    let mut text = format!("{}: {}, ", record.scenario, amount(record));
    if load.ramp_up_s > 0.0 {
        let _ = write!(text, "ramp-up {}, ", seconds(load.ramp_up_s));
    }
    let _ = match load.rounds {
        1 => write!(text, "one round of {length}"),
        n => write!(text, "{n} rounds of {length}"),
    };
    if let Some(time) = &load.think_time {
        let _ = write!(text, ", think time {time}");
    }
    if load.warmup_s > 0.0 {
        let _ = write!(text, " after {} of warm-up", seconds(load.warmup_s));
    }
    let _ = match load.workers {
        0 => Ok(()),
        1 => write!(text, ", 1 worker"),
        n => write!(text, ", {n} workers"),
    };
    wrap("", &text)
}

/// How much load there was: users, or requests per second.
fn amount(record: &RunRecord) -> String {
    let load = &record.load;
    let numbers: BTreeSet<u32> = match record.is_matrix() {
        true => record.targets.iter().map(|target| target.users).collect(),
        false => [load.users].into(),
    };
    let users = numbers.into_iter().map(|users| count(users.into())).collect::<Vec<_>>().join(", ");
    let staged = if load.stages.is_empty() { "" } else { "up to " };
    match load.rate_per_s {
        None => format!("{staged}{users} users"),
        Some(rate) => {
            let arrivals = load.arrivals.as_deref().unwrap_or_default();
            format!("{staged}{} requests/s ({arrivals}) by up to {users} users", precise(rate))
        }
    }
}

/// The targets, best first.
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
    let mut legend = "requests/s counts expected answers only".to_owned();
    if compared.into_iter().any(|placing| placing.confidence_95_per_s.is_some()) {
        legend += ", ± its 95 % confidence interval";
    }
    legend += match record.load.rate_per_s {
        None => "; latencies in ms",
        Some(_) => "; latencies in ms, from the time for which a request was planned",
    };
    if rows.iter().any(|row| row.len() == HEADER.len()) {
        legend += "; CPU, in % of one core, is the target's";
    }
    legend += parentheses(record);
    lay_out(&HEADER, &rows) + "\n" + &wrap(" ", &legend)
}

const HEADER: [&str; 8] = ["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU"];

/// What the targets are, in the order of the ranking; in a matrix each once, though it was measured in
/// several ways.
fn servers(record: &RunRecord) -> Vec<(&str, &ServerRecord)> {
    let mut servers: Vec<(&str, &ServerRecord)> = Vec::new();
    for (target, _) in ranked(record) {
        if !servers.iter().any(|(name, _)| *name == target.target) {
            servers.push((&target.target, &target.server));
        }
    }
    servers
}

fn target_row(name: &str, target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let mut row = summary_row(name, placing, &target.total);
    if let Some(used) = target.resources.get("target") {
        row.push(count(used.cpu_percent.round() as u64));
    }
    row
}

fn summary_row(name: &str, placing: Option<&Placing>, summary: &Summary) -> Vec<String> {
    let latency = &summary.latency_us;
    // What users send when they stop has no rate.
    let has_none = summary.rate_per_s == 0.0 && summary.requests > summary.errors;
    let answered = match placing {
        None if has_none => "–".to_owned(),
        None => rate(summary.rate_per_s),
        Some(placing) => match placing.confidence_95_per_s {
            Some([_, high]) if placing.rate_per_s > 0.0 => {
                let mean = placing.rate_per_s;
                format!("{} ±{}", rate(mean), half_width(mean, high))
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

fn thresholds(record: &RunRecord) -> String {
    let mut out = String::new();
    for t in &record.thresholds {
        let mark = if t.passed { " held   " } else { " FAILED " };
        let measured = t.measured.map_or("too few samples".to_owned(), |m| {
            format!("measured {}", quantity(&t.threshold, m))
        });
        out += &wrap(mark, &format!("{}: {} ({measured})", t.target, t.threshold));
    }
    out
}

/// A percentile that the table doesn't show needs no word about why it is missing.
fn is_of_the_table(verdict: &Verdict, record: &RunRecord) -> bool {
    let shown = |target: &TargetRecord| {
        let latency = &target.total.latency_us;
        [latency.p50, latency.p95, latency.p99].iter().all(Option::is_some)
    };
    verdict.kind != VerdictKind::TooFewSamples
        || !record.targets.iter().any(|t| verdict.target.as_ref() == Some(&t.name) && shown(t))
}

fn verdicts(record: &RunRecord) -> String {
    let mut out = String::new();
    for verdict in record.verdicts.iter().filter(|verdict| is_of_the_table(verdict, record)) {
        let who = verdict.target.as_ref().map(|t| format!("{t}: ")).unwrap_or_default();
        out += &wrap(" ! ", &format!("{who}{}", verdict.message));
        out += &wrap("   ", &verdict.advice);
    }
    out += &degraded(record);
    out += &changes(record);
    let planned = record.load.rounds as usize;
    let measured = |name: &String| {
        record.targets.iter().find(|t| t.name == *name).map_or(0, |target| target.rounds.len())
    };
    let short: Vec<String> = record
        .load
        .targets
        .iter()
        .filter(|name| measured(name) < planned)
        .map(|name| format!("{name} {} of {planned}", measured(name)))
        .collect();
    if !short.is_empty() {
        out += &wrap(" ! ", &format!("not all rounds were measured: {}", short.join(", ")));
    }
    out
}

fn next(record: &RunRecord, folder: Option<&Path>) -> String {
    let lab = record.environment.runtime != "url";
    let mut out = String::new();
    if let Some(folder) = folder {
        let what = if lab { "run.json and logs" } else { "run.json" };
        let _ = writeln!(out, " saved in {}: {what}", folder.display());
    }
    if lab {
        let more = match rounds_to_ask_for(record) {
            Some(FEWEST_ROUNDS) => {
                format!("--rounds {FEWEST_ROUNDS}, as fewer tell no difference")
            }
            Some(rounds) => format!("--rounds {rounds} to settle differences of 5 %"),
            None => "--rounds 10 --duration 10s for narrower intervals".to_owned(),
        };
        let _ = writeln!(out, " next: add {more};");
        out += "       loadgen list shows the scenarios and targets\n";
    }
    out
}
