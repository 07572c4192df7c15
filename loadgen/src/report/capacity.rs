//! What each target carries, as a person reads it, within 80 columns where names allow.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::conclusion::conclude;
use super::containers::containers;
use super::differences::differences;
use super::format::{count, duration, milliseconds, paragraphs, precise, rate, wrap};
use super::table::lay_out;
use crate::measure::{
    Bottleneck, Bound, Capacity, CapacityRecord, CapacityTarget, CurvePoint, Loaded, Placing,
    Plateau, TrialRecord,
};

/// The capacities, the curves, what both mean, and where the record was saved, unless it could not
/// be.
#[must_use]
pub fn capacity<'a>(record: &CapacityRecord, folder: impl Into<Option<&'a Path>>) -> String {
    let headlines = wrap("", &headline(record)) + &wrap(" ", &what_passes(record));
    let mut sections = vec![headlines, capacities(record)];
    sections.extend(record.targets.iter().map(curve));
    sections.push(legend(record));
    let servers: Vec<_> = record.targets.iter().map(|t| (t.name.as_str(), &t.server)).collect();
    sections.push(paragraphs(&differences(&servers, true)));
    sections.push(paragraphs(&conclusion(record)));
    sections.push(paragraphs(&containers(&record.environment)));
    sections.push(paragraphs(&endings(record)));
    sections.push(warnings(record).iter().map(|warning| wrap(" ! ", warning)).collect());
    sections.push(saved(record, folder.into()));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// What was searched, and how.
pub fn headline(record: &CapacityRecord) -> String {
    let search = &record.search;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let mut text =
        format!("{}: capacity in the open model ({}), ", record.scenario, search.arrivals);
    let _ = match search.rounds {
        1 => write!(text, "one search"),
        n => write!(text, "{n} searches"),
    };
    let _ = write!(
        text,
        " to {} % by trials of {} after {} of warm-up",
        precise(search.precision_percent),
        seconds(search.duration_s),
        seconds(search.warmup_s)
    );
    let _ = match search.workers {
        0 => Ok(()),
        1 => write!(text, ", 1 worker"),
        n => write!(text, ", {n} workers"),
    };
    text
}

/// What a rate must keep to count as carried.
pub fn what_passes(record: &CapacityRecord) -> String {
    format!("a rate passes if it is kept, and {}", record.search.criteria.join(", "))
}

const HEADER: [&str; 7] = ["", "capacity/s", "knee/s", "p50", "p99", "CPU", "CPU-µs/request"];

fn capacities(record: &CapacityRecord) -> String {
    let rows: Vec<_> = record.targets.iter().map(|target| row(target, is_lab(record))).collect();
    let columns = if is_lab(record) { HEADER.len() } else { HEADER.len() - 2 };
    lay_out(&HEADER[..columns], &rows)
}

/// Only what the lab launches has a CPU to show.
fn is_lab(record: &CapacityRecord) -> bool {
    record.environment.runtime != "url"
}

fn row(target: &CapacityTarget, is_lab: bool) -> Vec<String> {
    let knee = target.knee.as_ref();
    let latency = |of: fn(&CurvePoint) -> Option<u64>| milliseconds(knee.and_then(of));
    let mut row = vec![
        target.name.clone(),
        figure(&target.capacity),
        knee.map_or("–".to_owned(), |knee| rate(knee.rate_per_s)),
        latency(|point| point.latency_us.p50),
        latency(|point| point.latency_us.p99),
    ];
    if is_lab {
        row.push(whole(knee.and_then(|knee| knee.target_cpu_percent)));
        row.push(whole(knee.and_then(|knee| knee.target_cpu_us_per_request)));
    }
    row
}

fn whole(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| count(value.round() as u64))
}

/// `1,210 ±3 %`, or the bound that is known of it.
pub fn figure(capacity: &Capacity) -> String {
    let Some(per_s) = capacity.rate_per_s else { return "–".to_owned() };
    match (capacity.bound, capacity.confidence_95_per_s) {
        (Bound::Found, Some([_, high])) => {
            format!("{} ±{:>2.0} %", rate(per_s), ((high / per_s - 1.0) * 100.0).ceil())
        }
        (Bound::Found, None) => rate(per_s),
        (Bound::AtLeast | Bound::Unknown, _) => format!("≥ {}", rate(per_s)),
        (Bound::Below, _) => format!("< {}", rate(per_s)),
    }
}

/// A target's latency over throughput.
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
        text += ", ± its 95 % confidence interval";
    }
    text += "; knee: where throughput over mean latency is greatest; above, the latencies there, in \
             ms";
    if is_lab(record) {
        text += ", and the target's CPU, in % of one core";
    }
    wrap(" ", &text)
}

/// What was found of each target, and of each two neighbours of the ranking.
pub fn conclusion(record: &CapacityRecord) -> Vec<String> {
    let found = record.targets.iter();
    let found =
        found.filter_map(|target| Some(format!("{} {}", target.name, bound(record, target)?)));
    let mut out: Vec<String> = found.collect();
    if let Some(comparison) = &record.comparison {
        let two = comparison.ranking.windows(2);
        let pair = |two: &[Placing]| comparison.pair(&two[0].target, &two[1].target);
        out.extend(conclude(&two.filter_map(pair).collect::<Vec<_>>(), &[], comparison));
    }
    out
}

/// What is known of one target on its own. With others it is in the table, unless it is a bound.
fn bound(record: &CapacityRecord, target: &CapacityTarget) -> Option<String> {
    let per_s = rate(target.capacity.rate_per_s?);
    let interval = target
        .capacity
        .confidence_95_per_s
        .map_or(String::new(), |[low, high]| format!(" ({}–{})", rate(low), rate(high)));
    match target.capacity.bound {
        Bound::Found if record.comparison.is_some() => None,
        Bound::Found => Some(format!("carries {per_s} requests/s{interval}")),
        Bound::AtLeast => {
            let (who, help) = limits(target);
            Some(format!(
                "carries at least {per_s} requests/s: above that {who} may have been the limit, so it \
                 is compared with no other{help}"
            ))
        }
        Bound::Unknown => {
            Some(format!("carries at least {per_s} requests/s: the search did not come to its end"))
        }
        Bound::Below => Some(format!(
            "passed at no rate in {} of {} searches, down to {}/s, the lowest that trials of {} can judge: \
             see why below; lower ones take a longer --duration",
            target.rounds.iter().filter(|round| round.bound == Bound::Below).count(),
            target.rounds.len(),
            rate(record.search.lowest_per_s),
            duration(Duration::try_from_secs_f64(record.search.duration_s).unwrap_or_default())
        )),
    }
}

/// What to know before believing it.
pub fn warnings(record: &CapacityRecord) -> Vec<String> {
    let mut out = Vec::new();
    if !record.search.left_out.is_empty() {
        let left_out = record.search.left_out.join(", ");
        out.push(format!("{left_out}: not asked for, as the rate is what is searched"));
    }
    if let Some(degraded) = &record.degraded {
        out.push(format!("degraded: {}", degraded.reason));
    }
    if record.interrupted {
        out.push("interrupted: only what was measured until then is here".to_owned());
    }
    out
}

/// Who may have limited the trials that failed, if it was not the target, and what helps.
fn limits(target: &CapacityTarget) -> (String, &'static str) {
    let failed = target.trials.iter().filter(|trial| !trial.passed);
    let who: BTreeSet<&str> = failed
        .filter_map(|trial| match &trial.bottleneck {
            Some(Bottleneck::Backend(name)) => Some(name.as_str()),
            Some(Bottleneck::Network) => Some("the network"),
            _ => trial.generator_limited.then_some("loadgen itself"),
        })
        .collect();
    let help = "; give the generator more cores, or --workers";
    match who.is_empty() || who.contains("loadgen itself") {
        true => ("loadgen itself".to_owned(), help),
        false => (who.into_iter().collect::<Vec<_>>().join(" or "), ""),
    }
}

/// What ends each target's capacity.
pub fn endings(record: &CapacityRecord) -> Vec<String> {
    let each = |target| ending(target).into_iter().chain(queue(record, target));
    record.targets.iter().flat_map(each).collect()
}

/// Whether the server answered no more when it was asked for more, though no CPU was at its limit.
fn queue(record: &CapacityRecord, target: &CapacityTarget) -> Option<String> {
    let clear = target
        .trials
        .iter()
        .filter(|trial| trial.bottleneck == Some(Bottleneck::Nobody) && trial.total.errors == 0);
    let loaded = |trial: &TrialRecord| {
        Some(Loaded {
            amount: trial.rate_per_s,
            rate_per_s: trial.total.rate_per_s,
            latency_s: trial.total.latency_us.p50? as f64 / 1e6,
        })
    };
    let found = Plateau::of(&clear.filter_map(loaded).collect::<Vec<_>>())?;
    // With fewer users it might be these that let no more through.
    let is_servers = |served: &f64| f64::from(record.search.users) >= 2.0 * served;
    let (served, least) = (found.served().filter(is_servers)?, found.least?);
    Some(format!(
        "{} answered {}/s of {}/s, and {}/s of {}/s, though no CPU or link was at its limit: with the {} ms \
         that an answer takes at {}/s, at most about {served:.0} requests were being served at a time, by \
         Little's law",
        target.name,
        rate(found.from.rate_per_s),
        rate(found.from.amount),
        rate(found.to.rate_per_s),
        rate(found.to.amount),
        milliseconds(Some((least.latency_s * 1e6) as u64)),
        rate(least.amount)
    ))
}

/// Why the lowest rate that failed did so.
fn ending(target: &CapacityTarget) -> Option<String> {
    let failed = target.trials.iter().filter(|trial| !trial.passed);
    let lowest = failed.min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let who = match &lowest.bottleneck {
        _ if lowest.generator_limited => ", with the generator at its limit".to_owned(),
        Some(Bottleneck::Backend(name)) => format!(", with {name} at its limit"),
        Some(Bottleneck::Network) => ", with the network at its limit".to_owned(),
        Some(Bottleneck::Target) => ", with the server at its limit".to_owned(),
        Some(Bottleneck::Nobody) => ", with no CPU or link at its limit".to_owned(),
        Some(Bottleneck::Generator) | None => String::new(),
    };
    let at = format!("{} failed at {}/s{who}", target.name, rate(lowest.rate_per_s));
    Some(format!("{at}: {}", lowest.reasons.join("; ")))
}

fn saved(record: &CapacityRecord, folder: Option<&Path>) -> String {
    let Some(folder) = folder else { return String::new() };
    let logs = if is_lab(record) { ", logs" } else { "" };
    format!(" saved in {}: report.html, capacity.json{logs}\n", folder.display())
}
