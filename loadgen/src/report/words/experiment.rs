//! Says what an experiment measured, and what became of its claims.

use std::collections::BTreeSet;

use super::arm_figures::machine;
use super::arm_table::ArmTable;
use super::containers::containers;
use super::curves::curves;
use super::interval::aligned_plus_minus;
use super::postgres;
use super::proofs::proofs;
use super::searched;
use super::thresholds::held;
use crate::record::{
    ArmRecord, BackendAloneRecord, ExperimentRecord, GroupRecord, PublishedRecord, TargetRecord,
};
use crate::text::{count, megabytes, milliseconds, precise, rate};

/// Returns the title, the source, and the form that was measured.
pub(crate) fn headline(record: &ExperimentRecord) -> String {
    let source = record.source.as_ref().map(|source| {
        let year = source.year.map(|year| format!(", {year}")).unwrap_or_default();
        format!(" (after \"{}\"{year})", source.title)
    });
    let form = if record.quick { ", quick form" } else { "" };
    let ended = if record.interrupted { ", interrupted" } else { "" };
    format!("{}{}{form}{ended}", record.title, source.unwrap_or_default())
}

/// Returns the respects in which the experiment differs from its source, as phrases.
pub(crate) fn differs(record: &ExperimentRecord) -> Vec<String> {
    record.source.as_ref().map(|source| source.differs.clone()).unwrap_or_default()
}

/// Returns the name of a group, with its description and the number of rounds.
pub(crate) fn group_headline(group: &GroupRecord) -> String {
    let about = group.description.as_ref().map(|about| format!(": {about}"));
    let of_runs = group.runs.iter().map(|run| run.load.rounds).max();
    let of_search = group.capacity.as_ref().map(|record| record.search.rounds);
    let rounds = match (of_runs, of_search) {
        (None, None) => "not measured".to_owned(),
        (Some(1), _) => "1 round over each arm".to_owned(),
        (Some(n), _) => format!("{} rounds over each arm", count(n.into())),
        (None, Some(1)) => "1 search over each arm".to_owned(),
        (None, Some(n)) => format!("{} searches over each arm", count(n.into())),
    };
    format!("{}{}, {rounds}", group.name, about.unwrap_or_default())
}

/// Returns the differences of the measured form of a group from the full form, as one sentence.
pub(crate) fn changed(group: &GroupRecord) -> Option<String> {
    (!group.changed.is_empty()).then(|| format!("changed: {}", group.changed.join("; ")))
}

/// Returns the tables of a group: our figures, and a table for each metric with published figures; or
/// the capacities of a search. Tables without rows are left out.
pub(crate) fn tables(group: &GroupRecord) -> Vec<ArmTable> {
    if let Some(capacity) = &group.capacity {
        return vec![searched::table(group, capacity)];
    }
    let mut metrics: Vec<&str> = Vec::new();
    for figure in group.arms.iter().flat_map(|arm| &arm.published) {
        if !metrics.contains(&figure.metric.as_str()) {
            metrics.push(&figure.metric);
        }
    }
    let published = metrics.into_iter().map(|metric| published(group, metric));
    let measured = [figures(group)].into_iter().chain(tail(group));
    let all = measured.chain(services(group)).chain(database(group)).chain(published);
    all.filter(|table| !table.rows.is_empty()).collect()
}

/// Returns the table of our figures.
fn figures(group: &GroupRecord) -> ArmTable {
    let header = ["", "requests/s", "errors, %", "mean, ms", "min", "p50", "p90", "p95", "max"];
    by_arm(group, "", &header, |target| figures_of(group, target))
}

/// Returns the table of the percentiles of the slowest requests; `None` for a group without results.
fn tail(group: &GroupRecord) -> Option<ArmTable> {
    let header = ["", "p99", "p99.9", "p99.99"];
    let title = "the slowest requests: percentiles of the latency in ms";
    let cells = |target: &TargetRecord| {
        let latency = &target.total.latency_us;
        [latency.p99, latency.p99_9, latency.p99_99].map(milliseconds).to_vec()
    };
    (!group.runs.is_empty()).then(|| by_arm(group, title, &header, cells))
}

/// Returns a table with these columns and a row for each arm. `cells` returns the cells after the
/// name.
fn by_arm(
    group: &GroupRecord,
    title: &str,
    header: &[&str],
    cells: impl Fn(&TargetRecord) -> Vec<String>,
) -> ArmTable {
    let row = |arm: &ArmRecord| {
        let mut targets = group.runs.iter().flat_map(|run| &run.targets);
        let mut row = vec![arm.name.clone()];
        match targets.find(|target| target.name == arm.name) {
            None => row.push("not measured".to_owned()),
            Some(target) => row.extend(cells(target)),
        }
        row
    };
    ArmTable {
        title: title.to_owned(),
        header: header.iter().map(|&name| name.to_owned()).collect(),
        rows: group.arms.iter().map(row).collect(),
    }
}

fn figures_of(group: &GroupRecord, target: &TargetRecord) -> Vec<String> {
    let (total, latency) = (&target.total, &target.total.latency_us);
    let comparisons = group.runs.iter().filter_map(|run| run.comparison.as_ref());
    let mut placings = comparisons.flat_map(|comparison| &comparison.ranking);
    let placing = placings.find(|placing| placing.target == target.name);
    let mean = placing.map_or(total.rate_per_s, |placing| placing.rate_per_s);
    let interval = placing.and_then(|placing| placing.confidence_95_per_s);
    let share = match total.requests {
        0 => "–".to_owned(),
        requests => precise(total.errors as f64 / requests as f64 * 100.0),
    };
    vec![
        rate(mean) + &aligned_plus_minus(mean, interval),
        share,
        latency.mean.map_or("–".to_owned(), |us| precise(us / 1e3)),
        milliseconds(latency.min),
        milliseconds(latency.p50),
        milliseconds(latency.p90),
        milliseconds(latency.p95),
        milliseconds(latency.max),
    ]
}

/// Describes how much the backend did alone, and the share of it that each arm reached; empty without
/// such a measurement.
pub(crate) fn backend_alone(group: &GroupRecord) -> Vec<String> {
    let Some(alone) = group.runs.iter().find_map(|run| run.backend_alone.as_ref()) else {
        return Vec::new();
    };
    let BackendAloneRecord { backend, program, operations, clients, rate_per_s, why_not } = alone;
    let Some(most) = rate_per_s else {
        let why = why_not.as_deref().unwrap_or("unknown");
        return vec![format!("{backend} alone: not measured: {why}")];
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut all = vec![format!(
        "{backend} alone: {} operations/s ({}, {} clients: {})",
        rate(*most),
        text(program),
        count(clients.unwrap_or(0).into()),
        text(operations)
    )];
    let share = |arm: &ArmRecord| {
        let mut targets = group.runs.iter().flat_map(|run| &run.targets);
        let target = targets.find(|target| target.name == arm.name)?;
        let percent = 100.0 * target.total.rate_per_s / most;
        Some(format!("{} {} %", arm.name, precise(percent)))
    };
    let shares: Vec<String> = group.arms.iter().filter_map(share).collect();
    if *most > 0.0 && !shares.is_empty() {
        all.push(format!("server ÷ {backend} alone: {}", shares.join(", ")));
    }
    all
}

/// Returns the table of CPU and memory that the services of each arm used; `None` if loadgen
/// launched no server.
fn services(group: &GroupRecord) -> Option<ArmTable> {
    let targets = || group.runs.iter().flat_map(|run| &run.targets);
    let launched = |target: &TargetRecord| target.resources.contains_key("target");
    let names: BTreeSet<&str> = targets()
        .filter(|target| launched(target))
        .flat_map(|target| target.resources.keys().map(String::as_str))
        .collect();
    // The target comes first and the load generator last.
    let rank = |name: &str| (name != "target", name == "generator");
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| rank(name));
    let row = |arm: &ArmRecord| {
        let target = targets().find(|target| target.name == arm.name && launched(target))?;
        let mut row = vec![arm.name.clone()];
        for &name in &names {
            let used = target.resources.get(name);
            let shown = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
            row.push(shown(used.map(|used| count(used.cpu_percent.round() as u64))));
            row.push(shown(used.map(|used| megabytes(used.memory_max_bytes))));
            if name == "target" {
                row.push(shown(used.and_then(|used| used.memory_idle_bytes).map(megabytes)));
            }
        }
        Some(row)
    };
    let mut header = vec![String::new()];
    for &name in &names {
        header.extend([format!("{name} %"), "MB".to_owned()]);
        header.extend((name == "target").then(|| "idle".to_owned()));
    }
    let title = "CPU time in % of one core, and maximum memory in MB; idle: memory of the target \
                 before the first request"
        .to_owned();
    let rows: Vec<Vec<String>> = group.arms.iter().filter_map(row).collect();
    (!rows.is_empty()).then_some(ArmTable { title, header, rows })
}

/// Says how the targets scale.
pub(crate) fn scaling(group: &GroupRecord) -> Vec<String> {
    curves(&group.scaling)
}

/// Returns the counters of each arm and what the backends held, and the proofs of other values.
pub(crate) fn proved(group: &GroupRecord) -> Vec<String> {
    let mut all = Vec::new();
    for line in group.runs.iter().flat_map(proofs) {
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// Says whether each threshold of the arms' scenarios held.
pub(crate) fn thresholds(group: &GroupRecord) -> Vec<String> {
    group.runs.iter().flat_map(|run| &run.thresholds).map(held).collect()
}

/// Says which thresholds of the arms' scenarios failed.
pub(crate) fn failed_thresholds(group: &GroupRecord) -> Vec<String> {
    let all = group.runs.iter().flat_map(|run| &run.thresholds);
    all.filter(|threshold| !threshold.passed).map(held).collect()
}

/// Describes the containers of all arms; empty without containers.
pub(crate) fn in_containers(group: &GroupRecord) -> Vec<String> {
    let searched = group.capacity.iter().map(|record| &record.environment);
    let mut environments = group.runs.iter().map(|run| &run.environment).chain(searched);
    let Some(mut all) = environments.next().cloned() else { return Vec::new() };
    for other in environments {
        all.limits.extend(other.limits.clone());
        all.images.extend(other.images.clone());
    }
    containers(&all)
}

/// Returns the table of what PostgreSQL did; `None` if loadgen did not start PostgreSQL.
fn database(group: &GroupRecord) -> Option<ArmTable> {
    let targets = || group.runs.iter().flat_map(|run| &run.targets);
    let arms = group.arms.iter();
    let in_order = arms.filter_map(|arm| targets().find(|target| target.name == arm.name));
    let rows = postgres::rows(in_order);
    let header = postgres::HEADER.map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| ArmTable { title: postgres::LEGEND.to_owned(), header, rows })
}

/// Returns a table of our figures of one metric beside the published figures of each machine.
fn published(group: &GroupRecord, metric: &str) -> ArmTable {
    let of = |arm: &ArmRecord| -> Vec<PublishedRecord> {
        arm.published.iter().filter(|figure| figure.metric == metric).cloned().collect()
    };
    let all: Vec<PublishedRecord> = group.arms.iter().flat_map(of).collect();
    let mut machines: Vec<String> = Vec::new();
    for figure in &all {
        let machine = machine(figure);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let has_best = all.iter().any(|figure| figure.best_round.is_some());
    let mut header = vec![String::new(), "ours".to_owned()];
    header.extend(has_best.then(|| "ours, best round".to_owned()));
    header.extend(machines.iter().cloned());
    let row = |arm: &ArmRecord| {
        let figures = of(arm);
        if figures.is_empty() {
            return None;
        }
        let shown = |figure: Option<f64>| figure.map_or("–".to_owned(), precise);
        let mut row = vec![arm.name.clone(), shown(figures.iter().find_map(|f| f.measured))];
        row.extend(has_best.then(|| shown(figures.iter().find_map(|f| f.best_round))));
        row.extend(machines.iter().map(|on| {
            shown(figures.iter().find(|f| machine(f) == *on).map(|figure| figure.published))
        }));
        Some(row)
    };
    let unit = all.first().map(|figure| figure.unit.as_str()).unwrap_or_default();
    ArmTable {
        title: format!("{metric} in {unit}: average of our rounds beside the published figures"),
        header,
        rows: group.arms.iter().filter_map(row).collect(),
    }
}

/// Returns the differences between the arms of a group.
pub(crate) fn fairness(group: &GroupRecord) -> Vec<String> {
    group.differences.iter().map(|difference| difference.what.clone()).collect()
}
