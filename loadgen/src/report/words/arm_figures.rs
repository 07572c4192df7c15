//! Lists the figures of a group's arms that its claims and its publication are about.

use super::capacity;
use super::here::{brief, with_interval};
use super::ranked::{placed, ranked};
use crate::analysis::claims::{ArmFigure, arm_figure, unit_of};
use crate::record::{
    ArmRecord, Bound, CapacityRecord, CapacityTarget, ClaimRecord, GroupRecord, Placing,
    PublishedRecord, RunRecord, TargetRecord,
};

/// Figures of one metric: a row for each arm.
pub(crate) struct Figures {
    /// Name of the metric in documents.
    pub metric: String,
    /// Name of the metric for people, with its unit: `mean, ms`.
    pub title: String,
    /// Machines of the publication that has figures of the metric; `published` for an unknown machine.
    pub machines: Vec<String>,
    /// A row for each arm, in the order of the group.
    pub rows: Vec<FigureRow>,
}

/// Figures of an arm.
pub(crate) struct FigureRow {
    /// Name of the arm.
    pub name: String,
    /// Figure that was measured here; `None` if it was not measured.
    pub here: Option<ArmFigure>,
    /// Figure for people, with its interval; its unit is in the title.
    pub text: String,
    /// Published figure of each machine.
    pub published: Vec<Option<f64>>,
}

/// Returns the figures of each metric that a claim about the group or a published figure names; without any,
/// the rates. A group that searched has its capacities.
pub(crate) fn figures(group: &GroupRecord, claims: &[ClaimRecord]) -> Vec<Figures> {
    if group.capacity.is_some() {
        return vec![capacities(group)];
    }
    let claimed = claims.iter().filter(|claim| claim.group == group.name);
    let claimed = claimed.map(|claim| &claim.metric);
    let published = group.arms.iter().flat_map(|arm| &arm.published).map(|figure| &figure.metric);
    let mut metrics: Vec<&str> = Vec::new();
    for metric in published.chain(claimed) {
        if !metrics.contains(&metric.as_str()) {
            metrics.push(metric);
        }
    }
    if metrics.is_empty() && !group.runs.is_empty() {
        metrics.push("rate");
    }
    let all = metrics.into_iter().map(|metric| of_metric(group, metric));
    all.filter(|figures| figures.rows.iter().any(FigureRow::has_a_figure)).collect()
}

impl FigureRow {
    fn has_a_figure(&self) -> bool {
        self.here.is_some() || self.published.iter().any(Option::is_some)
    }
}

fn of_metric(group: &GroupRecord, metric: &str) -> Figures {
    let of = |arm: &ArmRecord| -> Vec<PublishedRecord> {
        arm.published.iter().filter(|figure| figure.metric == metric).cloned().collect()
    };
    let mut machines: Vec<String> = Vec::new();
    for figure in group.arms.iter().flat_map(of) {
        let machine = machine(&figure);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let row = |arm: &ArmRecord| {
        let here = target(group, &arm.name).and_then(|target| figure_of(group, target, metric));
        let figures = of(arm);
        let on =
            |name: &String| Some(figures.iter().find(|figure| machine(figure) == *name)?.published);
        FigureRow {
            name: arm.name.clone(),
            here,
            text: here.map_or("not measured".to_owned(), |ArmFigure { mean, confidence_95 }| {
                with_interval(mean, confidence_95, "")
            }),
            published: machines.iter().map(on).collect(),
        }
    };
    let rows = group.arms.iter().map(row).collect();
    Figures { metric: metric.to_owned(), title: title(metric), rows, machines }
}

/// Returns the name of the machine on which a figure was published.
pub(super) fn machine(figure: &PublishedRecord) -> String {
    figure.machine.clone().unwrap_or_else(|| "published".to_owned())
}

/// Returns the result of the arm of this name.
fn target<'a>(group: &'a GroupRecord, arm: &str) -> Option<&'a TargetRecord> {
    group.runs.iter().flat_map(|run| &run.targets).find(|target| target.name == arm)
}

/// Returns the figure of an arm. The rate is that of the ranking, as in the tables.
fn figure_of(group: &GroupRecord, target: &TargetRecord, metric: &str) -> Option<ArmFigure> {
    let comparisons = group.runs.iter().filter_map(|run| run.comparison.as_ref());
    let mut placings = comparisons.flat_map(|comparison| &comparison.ranking);
    match placings.find(|placing| metric == "rate" && placing.target == target.name) {
        Some(placing) => {
            let confidence_95 = placing.confidence_95_per_s;
            Some(ArmFigure { mean: placing.rate_per_s, confidence_95 })
        }
        None => arm_figure(&target.rounds, metric),
    }
}

/// Returns the name of a metric for people, with its unit.
pub(crate) fn title(metric: &str) -> String {
    match metric {
        "rate" => "requests/s".to_owned(),
        "event_rate" => "events/s".to_owned(),
        "error_rate" => "errors, %".to_owned(),
        "cpu" => "CPU, % of a core".to_owned(),
        "cpu_per_request" => "CPU-µs/request".to_owned(),
        "memory" => "memory, MB".to_owned(),
        "memory_idle" => "idle memory, MB".to_owned(),
        other => match (other.strip_prefix("counter."), unit_of(other).0) {
            (Some(counter), _) => format!("{counter}/s"),
            (None, unit) => format!("{other}, {unit}"),
        },
    }
}

/// Returns the capacities of a group that searched.
fn capacities(group: &GroupRecord) -> Figures {
    let targets = || group.capacity.iter().flat_map(|record| &record.targets);
    let arms = group.arms.iter().map(|arm| arm.name.as_str());
    capacities_of(arms.map(|name| (name, targets().find(|target| target.name == name))))
}

/// Returns the capacities of the targets of a search.
pub(crate) fn of_search(record: &CapacityRecord) -> Figures {
    capacities_of(record.targets.iter().map(|target| (target.name.as_str(), Some(target))))
}

fn capacities_of<'a>(
    targets: impl Iterator<Item = (&'a str, Option<&'a CapacityTarget>)>,
) -> Figures {
    let row = |(name, target): (&str, Option<&CapacityTarget>)| {
        let found = target.map(|target| target.capacity);
        // A bound is no figure.
        let exact = found.filter(|capacity| capacity.bound == Bound::Found);
        FigureRow {
            name: name.to_owned(),
            here: exact.and_then(|capacity| {
                let confidence_95 = capacity.confidence_95_per_s;
                Some(ArmFigure { mean: capacity.rate_per_s?, confidence_95 })
            }),
            text: found.map_or("not measured".to_owned(), |found| capacity::figure(&found)),
            published: Vec::new(),
        }
    };
    Figures {
        metric: "capacity".to_owned(),
        title: "capacity, requests/s".to_owned(),
        machines: Vec::new(),
        rows: targets.map(row).collect(),
    }
}

/// Returns the rates of the targets of a run, best first.
pub(crate) fn of_run(record: &RunRecord) -> Figures {
    let row = |(target, placing): (&TargetRecord, Option<&Placing>)| {
        let here = ArmFigure {
            mean: placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s),
            confidence_95: placing.and_then(|placing| placing.confidence_95_per_s),
        };
        FigureRow {
            name: placed(&target.name, record, target),
            here: Some(here),
            text: with_interval(here.mean, here.confidence_95, ""),
            published: Vec::new(),
        }
    };
    Figures {
        metric: "rate".to_owned(),
        title: title("rate"),
        machines: Vec::new(),
        rows: ranked(record).into_iter().map(row).collect(),
    }
}

/// Returns the columns of these figures for a table on a terminal, without those that its other columns have
/// already: ours, and the published figures of each machine.
pub(crate) fn columns(all: &[Figures], known: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut columns = Vec::new();
    for Figures { metric, title, machines, rows } in all {
        if !known.contains(&metric.as_str()) {
            let ours = |row: &FigureRow| row.here.map_or("–".to_owned(), |here| brief(here.mean));
            columns.push((title.clone(), rows.iter().map(ours).collect()));
        }
        let name = title.split(',').next().unwrap_or(title);
        for (index, machine) in machines.iter().enumerate() {
            let shown = |row: &FigureRow| row.published[index].map_or("–".to_owned(), brief);
            columns.push((format!("{machine} {name}"), rows.iter().map(shown).collect()));
        }
    }
    columns
}
