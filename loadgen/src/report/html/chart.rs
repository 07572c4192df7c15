//! Data of a page's charts: lines over a common horizontal axis, each of which belongs to a target.

use std::ops::Range;

use serde::Serialize;

/// Charts of a page and the targets in the charts, in the form that the page's script reads.
#[derive(Debug, Default, Serialize)]
pub(super) struct Charts {
    /// Names of the targets, best first, or in the order of an experiment. A [`Line`] refers to its
    /// target by index.
    pub targets: Vec<String>,
    /// Charts in the order of the page.
    pub charts: Vec<Chart>,
}

/// A chart: lines with a common horizontal axis.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// Title of the chart, such as `Median latency over time`.
    pub title: String,
    /// Explanation of the figures; empty where the title suffices.
    pub note: String,
    /// Kind of the horizontal axis.
    pub over: Over,
    /// Unit of the values on the vertical axis, such as `ms`.
    pub unit: &'static str,
    /// Positions on the horizontal axis that have values, ascending, in the axis's unit.
    pub x: Vec<f64>,
    /// On an axis of time, the position and the number of each round's start; otherwise empty.
    pub marks: Vec<(f64, u32)>,
    /// Lines of the targets that have values.
    pub lines: Vec<Line>,
}

/// Kind of a horizontal axis.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Over {
    /// Percentile of latency, as the decimal logarithm of 1/(1-q), where q is the share of
    /// requests, from 0 to 1, that were no slower.
    Percentile,
    /// Latency in ms. A value covers the interval from its position to the next.
    Latency,
    /// Time in s. The x axis shows the rounds one after the other, with a gap between two rounds.
    Time,
    /// Expected answers per second.
    Throughput,
}

/// Line of a target in a chart. The line may end before the horizontal axis does.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// Index of the line's target in [`Charts::targets`].
    pub target: usize,
    /// Value at each position of the chart's [`Chart::x`], in the chart's unit; `None` where
    /// unknown.
    pub values: Vec<Option<f64>>,
}

impl Charts {
    /// Adds a chart and returns the chart's index in `charts`. Returns `None`, and adds nothing, if
    /// no line of the chart has a value.
    pub(super) fn add(&mut self, mut chart: Chart) -> Option<usize> {
        chart.lines.retain(|line| line.values.iter().any(Option::is_some));
        if chart.lines.is_empty() {
            return None;
        }
        for line in &mut chart.lines {
            let known = line.values.iter().rposition(Option::is_some);
            line.values.truncate(known.map_or(0, |last| last + 1));
        }
        let longest = chart.lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
        chart.x.truncate(longest);
        self.charts.push(chart);
        Some(self.charts.len() - 1)
    }

    /// Adds the charts of a part of the page. A target of the same name in several parts is one target.
    /// Returns the indices in `charts` of the part's charts.
    pub(super) fn append(&mut self, part: Self) -> Range<usize> {
        let place = |name: String| {
            let known = self.targets.iter().position(|target| *target == name);
            known.unwrap_or_else(|| {
                self.targets.push(name);
                self.targets.len() - 1
            })
        };
        let places: Vec<usize> = part.targets.into_iter().map(place).collect();
        let first = self.charts.len();
        self.charts.extend(part.charts.into_iter().map(|mut chart| {
            chart.lines.iter_mut().for_each(|line| line.target = places[line.target]);
            chart
        }));
        first..self.charts.len()
    }
}

/// Rounds to four significant digits, and from 1,000 on to an integer: finer differences are
/// invisible and would enlarge the page.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 12));
    (value * scale).round() / scale
}

/// Converts µs to ms.
pub(super) fn ms(us: u64) -> f64 {
    short(us as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let values = [0.0, 0.000_123_456, 1.234_56, 123_456.7, f64::NAN].map(short);
        assert_eq!(values, [0.0, 0.000_123_5, 1.235, 123_457.0, 0.0]);
    }

    fn chart(lines: Vec<Line>) -> Chart {
        Chart {
            title: String::new(),
            note: String::new(),
            over: Over::Time,
            unit: "ms",
            x: vec![0.0, 1.0, 2.0],
            marks: Vec::new(),
            lines,
        }
    }

    #[test]
    fn targets_of_several_parts_with_one_name_are_one_target() {
        let part = |names: &[&str]| {
            let line = |target| Line { target, values: vec![Some(1.0)] };
            let charts = vec![chart((0..names.len()).map(line).collect())];
            Charts { targets: names.iter().map(|&name| name.to_owned()).collect(), charts }
        };
        let mut page = Charts::default();
        assert_eq!(page.append(part(&["bare", "gunicorn"])), 0..1);
        assert_eq!(page.append(part(&["gunicorn", "other"])), 1..2);
        assert_eq!(page.targets, ["bare", "gunicorn", "other"]);
        let targets: Vec<usize> = page.charts[1].lines.iter().map(|line| line.target).collect();
        assert_eq!(targets, [1, 2]);
    }

    #[test]
    fn a_line_without_values_is_left_out() {
        let line = |values: &[Option<f64>]| Line { target: 0, values: values.to_vec() };
        let mut charts = Charts::default();
        assert_eq!(charts.add(chart(vec![line(&[None, None])])), None);
        assert_eq!(charts.add(chart(vec![line(&[]), line(&[Some(1.0), None])])), Some(0));
        let kept = &charts.charts[0];
        assert_eq!((kept.lines.len(), kept.x.len(), kept.lines[0].values.len()), (1, 1, 1));
    }
}
