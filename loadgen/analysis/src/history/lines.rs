//! Joins the results that can be compared into lines, and finds the moments at which a figure changed.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::{Entry, Figure, Kind, MeasuredTarget, Metric};
use crate::steady::{Level, levels_of};

/// Least number of results of a line in which a change can be found.
pub const FEWEST: usize = 10;

/// Factor of the penalty for each change, lower than that for seconds, which depend on each other more than nights do.
/// In the simulations below, at most 2 % of steady figures seem to change, and most changes of twice the noise are found.
const PENALTY: f64 = 9.0;

/// Least change that is shown, as a ratio: smaller ones are of no use to anyone, and between days a machine is hardly
/// ever that steady.
const LEAST: f64 = 1.02;

/// Results of one kind for one scenario, in the order of time.
#[derive(Debug, Clone)]
pub struct History<'a> {
    /// Name of the scenario, or title of the experiment.
    pub title: &'a str,
    /// Kind of the results.
    pub kind: Kind,
    /// Results, the oldest first.
    pub entries: Vec<&'a Entry>,
    /// Targets, in the order in which they appeared.
    pub targets: Vec<TargetHistory<'a>>,
}

/// History of one target.
#[derive(Debug, Clone)]
pub struct TargetHistory<'a> {
    /// Name of the target.
    pub name: &'a str,
    /// Results that can be compared, line by line, the line that began first at the beginning.
    pub lines: Vec<Line<'a>>,
}

/// Results of one target that can be compared with each other: what was sent, the machine and all versions are the
/// same.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// Results, each with its index in the entries of the history.
    pub points: Vec<(usize, &'a MeasuredTarget)>,
    /// Settings that differ from those of the most similar earlier line, each with the value there and here; empty for
    /// the first line.
    pub differs: Vec<(&'a str, Option<&'a str>, Option<&'a str>)>,
}

/// A change of a figure within a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first result with the new level in the entries of the history.
    pub at: usize,
    /// New level over the level before.
    pub ratio: f64,
}

impl<'a> History<'a> {
    /// Sorts results into histories, by scenario and kind.
    #[must_use]
    pub fn of(entries: &'a [Entry]) -> Vec<Self> {
        let mut by_title: BTreeMap<(&str, Kind), Vec<&Entry>> = BTreeMap::new();
        for entry in entries {
            by_title.entry((&entry.title, entry.kind)).or_default().push(entry);
        }
        let history = |((title, kind), mut entries): ((&'a str, Kind), Vec<&'a Entry>)| {
            entries.sort_by(|a, b| (&a.started, &a.name).cmp(&(&b.started, &b.name)));
            let targets = targets(&entries);
            Self { title, kind, entries, targets }
        };
        by_title.into_iter().map(history).collect()
    }

    /// Returns the metrics of which some target has a figure.
    #[must_use]
    pub fn metrics(&self) -> BTreeSet<Metric> {
        let points = self.targets.iter().flat_map(|it| &it.lines).flat_map(|line| &line.points);
        points.flat_map(|(_, target)| target.figures.keys().copied()).collect()
    }
}

fn targets<'a>(entries: &[&'a Entry]) -> Vec<TargetHistory<'a>> {
    let mut all: Vec<TargetHistory<'a>> = Vec::new();
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.left_out.is_none()) {
        for target in entry.targets.iter().filter(|target| target.left_out.is_none()) {
            let index = all.iter().position(|known| known.name == target.name);
            let index = index.unwrap_or_else(|| {
                all.push(TargetHistory { name: &target.name, lines: Vec::new() });
                all.len() - 1
            });
            all[index].add(at, target);
        }
    }
    all
}

impl<'a> TargetHistory<'a> {
    fn add(&mut self, at: usize, target: &'a MeasuredTarget) {
        let is_like = |line: &&mut Line<'_>| line.points[0].1.settings == target.settings;
        if let Some(line) = self.lines.iter_mut().find(is_like) {
            line.points.push((at, target));
            return;
        }
        let earlier = self.lines.iter().map(|line| differences(line.points[0].1, target));
        let differs = earlier.min_by_key(Vec::len).unwrap_or_default();
        self.lines.push(Line { points: vec![(at, target)], differs });
    }

    /// Returns the newest result, with its index in the entries of the history.
    #[must_use]
    pub fn newest(&self) -> Option<(usize, &'a MeasuredTarget)> {
        let last = self.lines.iter().filter_map(|line| line.points.last().copied());
        last.max_by_key(|(at, _)| *at)
    }
}

/// Returns the settings in which two results differ.
fn differences<'a>(
    earlier: &'a MeasuredTarget,
    later: &'a MeasuredTarget,
) -> Vec<(&'a str, Option<&'a str>, Option<&'a str>)> {
    let paths: BTreeSet<&String> = earlier.settings.keys().chain(later.settings.keys()).collect();
    let value = |of: &'a MeasuredTarget, path: &String| of.settings.get(path).map(String::as_str);
    paths
        .into_iter()
        .map(|path| (path.as_str(), value(earlier, path), value(later, path)))
        .filter(|(_, earlier, later)| earlier != later)
        .collect()
}

impl Line<'_> {
    /// Returns the results that have a figure of this metric, each with its index.
    #[must_use]
    pub fn figures(&self, metric: Metric) -> Vec<(usize, Figure)> {
        let figure = |(at, target): &(usize, &MeasuredTarget)| {
            target.figures.get(&metric).map(|figure| (*at, *figure))
        };
        self.points.iter().filter_map(figure).collect()
    }

    /// Returns the changes of a figure, by changepoint analysis of the logarithms of the means. It needs ten results,
    /// and each level two; changes of less than 2 % are none.
    #[must_use]
    pub fn changes(&self, metric: Metric) -> Vec<Change> {
        let figures = self.figures(metric);
        let series: Vec<f64> = figures.iter().map(|(_, figure)| figure.mean.ln()).collect();
        let levels = levels_of(&series, FEWEST, PENALTY);
        let change = |two: &[Level]| {
            let ratio = (two[1].mean - two[0].mean).exp();
            Change { at: figures[two[1].from].0, ratio }
        };
        let changes = levels.windows(2).map(change);
        changes.filter(|change| change.ratio.max(1.0 / change.ratio) >= LEAST).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn entry(day: usize, rate: f64, kernel: &str) -> Entry {
        let target = MeasuredTarget {
            name: "shop".to_owned(),
            figures: [(Metric::Rate, Figure { mean: rate, confidence_95: None })].into(),
            place: None,
            left_out: None,
            commit: None,
            settings: [("environment.kernel".to_owned(), kernel.to_owned())].into(),
        };
        Entry {
            name: format!("run-{day}"),
            kind: Kind::Closed,
            title: "pay".to_owned(),
            started: format!("2026-01-{day:02}T00:00:00Z"),
            seed: 0,
            targets: vec![target],
            verdicts: Vec::new(),
            left_out: None,
            claims: [0; 3],
        }
    }

    #[test]
    fn only_results_with_equal_settings_are_joined() {
        let mut entries: Vec<Entry> =
            (1..=6).map(|day| entry(day, 100.0, ["6.1", "6.8"][day % 2])).collect();
        entries[4].left_out = Some("it was interrupted".to_owned());
        entries.reverse();
        let histories = History::of(&entries);
        let [history] = &histories[..] else { panic!("{histories:?}") };
        let [shop] = &history.targets[..] else { panic!("{histories:?}") };
        let places: Vec<Vec<usize>> =
            shop.lines.iter().map(|line| line.points.iter().map(|(at, _)| *at).collect()).collect();
        assert_eq!(places, [vec![0, 2], vec![1, 3, 5]]);
        assert_eq!(shop.lines[0].differs, []);
        assert_eq!(shop.lines[1].differs, [("environment.kernel", Some("6.8"), Some("6.1"))]);
        assert_eq!(shop.newest().unwrap().0, 5);
    }

    #[test]
    fn a_change_is_found_where_it_began() {
        let noise = |day: usize| 1.0 + 0.004 * ((day * 7) % 5) as f64;
        let rate = |day: usize| noise(day) * if day > 12 { 94.0 } else { 100.0 };
        let entries: Vec<Entry> = (1..=25).map(|day| entry(day, rate(day), "6.1")).collect();
        let histories = History::of(&entries);
        let changes = histories[0].targets[0].lines[0].changes(Metric::Rate);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!(changes[0].at, 12);
        assert!((changes[0].ratio - 0.94).abs() < 0.01, "{changes:?}");
        assert_eq!(histories[0].targets[0].lines[0].changes(Metric::P99), []);
        let short = History::of(&entries[..9]);
        assert_eq!(short[0].targets[0].lines[0].changes(Metric::Rate), []);
    }

    /// Returns how many of 400 simulated histories seem to change. They have normal noise of this standard deviation,
    /// and the newest ones of the nights have lost this share.
    fn changing(nights: usize, noise: f64, lost: f64, newest: usize) -> usize {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        // The sum of twelve uniform numbers is nearly normal, with a variance of one.
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut figure = |night: usize| {
            let level = if night + newest >= nights { (1.0 - lost).ln() } else { 0.0 };
            level + noise * normal()
        };
        let mut is_changing = || {
            let series: Vec<f64> = (0..nights).map(&mut figure).collect();
            levels_of(&series, FEWEST, PENALTY).len() > 1
        };
        (0..400).filter(|_| is_changing()).count()
    }

    #[test]
    fn steady_figures_rarely_seem_to_change() {
        for nights in [10, 15, 30, 90] {
            let found = changing(nights, 0.03, 0.0, 0);
            assert!(found <= 8, "{found} of 400 with {nights} nights");
        }
    }

    #[test]
    fn changes_of_more_than_the_noise_are_mostly_found() {
        for (noise, lost, newest, least) in [
            (0.03, 0.15, 5, 380),
            (0.03, 0.07, 10, 240),
            (0.01, 0.05, 3, 340),
            (0.01, 0.03, 10, 340),
        ] {
            let found = changing(30, noise, lost, newest);
            assert!(
                found >= least,
                "{found} of 400: noise {noise}, {lost} lost for {newest} nights"
            );
        }
    }
}
