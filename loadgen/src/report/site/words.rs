//! Kinds, settings and changes, for people.

use crate::analysis::history::{Change, Entry, History, Kind, Line, Metric};
use crate::report::words::history::{metric, percent, verdict};

/// Returns the kind of a result.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Closed => "closed model",
        Kind::Open => "open model",
        Kind::Duets => "duets",
        Kind::Capacity => "capacity",
        Kind::Experiment => "experiment",
    }
}

/// Returns the metric that a page shows first.
pub(super) fn first(history: &History<'_>) -> Option<Metric> {
    let metrics = history.metrics();
    let order = [Metric::Rate, Metric::Capacity, Metric::P50, Metric::Cpu, Metric::P99];
    order.into_iter().find(|metric| metrics.contains(metric))
}

/// A change of a figure of a target, for a list of all changes.
pub(super) struct Told<'a> {
    /// First result with the new level.
    pub entry: &'a Entry,
    pub target: &'a str,
    pub metric: Metric,
    pub change: Change,
}

impl Told<'_> {
    /// Returns the change in words: `sanic: requests/s −5.1 % (worse)`.
    pub(super) fn text(&self) -> String {
        let (of, ratio) = (self.metric, self.change.ratio);
        format!("{}: {} {} ({})", self.target, metric(of), percent(ratio), verdict(of, ratio))
    }
}

/// Returns all changes in a history, the oldest first.
pub(super) fn changes<'a>(history: &History<'a>) -> Vec<Told<'a>> {
    let metrics = history.metrics();
    let of_line = |target: &'a str, line: &Line<'_>| {
        let of = |metric: &Metric| {
            let told = |change: Change| (target, *metric, change);
            line.changes(*metric).into_iter().map(told).collect::<Vec<_>>()
        };
        metrics.iter().flat_map(of).collect::<Vec<_>>()
    };
    let of_target = history.targets.iter();
    let all = of_target.flat_map(|it| it.lines.iter().flat_map(|line| of_line(it.name, line)));
    let told = |(target, metric, change): (&'a str, Metric, Change)| {
        let entry: &'a Entry = history.entries[change.at];
        Told { entry, target, metric, change }
    };
    let mut all: Vec<Told<'a>> = all.map(told).collect();
    all.sort_by_key(|told| told.change.at);
    all
}

/// Returns how a setting of a line differs from that of the line before: `environment.kernel: 6.1 → 6.8`. Digests say
/// nothing to people.
pub(super) fn differs((path, earlier, later): &(&str, Option<&str>, Option<&str>)) -> String {
    if let Some(part) = path.strip_prefix("sent.") {
        return format!("what is sent: {part}");
    }
    let shown = |value: &Option<&str>| {
        value.map_or("–".to_owned(), |value| crate::text::shorten(value, 60))
    };
    format!("{path}: {} → {}", shown(earlier), shown(later))
}

/// Returns how many claims of an experiment held: `3 claims held, 1 did not, 2 open`.
pub(super) fn claims(entry: &Entry) -> String {
    match entry.claims {
        [0, 0, 0] => "no claims".to_owned(),
        [held, not, open] => format!("{held} claims held, {not} did not, {open} open"),
    }
}
