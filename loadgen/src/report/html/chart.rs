//! What a chart shows: lines over one axis, each of which belongs to a target.

use serde::Serialize;

/// All charts of a page, and whose lines they are: what the page's script reads.
#[derive(Debug, Default, Serialize)]
pub struct Charts {
    /// The targets, best first; lines name them by their place.
    pub targets: Vec<String>,
    /// In the order of the page.
    pub charts: Vec<Chart>,
}

/// One chart.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What its figures tell, where the title leaves that open.
    pub note: String,
    /// What is on the horizontal axis.
    pub over: Over,
    /// The unit of all values.
    pub unit: &'static str,
    /// Where there are values, in the axis's own unit, from the least on.
    pub x: Vec<f64>,
    /// Where rounds begin on an axis of time.
    pub marks: Vec<(f64, u32)>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A horizontal axis.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The decimal logarithm of 1/(1-q), where q is the share of requests.
    Percentile,
    /// Latency in ms: each value speaks of the time from one place to the next.
    Latency,
    /// Seconds, one round after the other, with a gap between them.
    Time,
    /// Expected answers per second.
    Throughput,
}

/// A line, with a value for each place of its chart, as far as there are.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The place of its target.
    pub target: usize,
    /// What is known at each place.
    pub values: Vec<Option<f64>>,
}

impl Charts {
    /// Adds a chart and tells its number, unless it has no line with any value.
    pub fn add(&mut self, mut chart: Chart) -> Option<usize> {
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
}

/// To four significant digits: more can't be seen, and would take room.
pub fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 12));
    (value * scale).round() / scale
}

/// µs in ms.
pub fn ms(us: u64) -> f64 {
    short(us as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_kept() {
        let values = [0.0, 0.000_123_456, 1.234_56, 123_456.7, f64::NAN].map(short);
        assert_eq!(values, [0.0, 0.000_123_5, 1.235, 123_457.0, 0.0]);
    }

    #[test]
    fn what_has_no_value_is_not_there() {
        let line = |values: &[Option<f64>]| Line { target: 0, values: values.to_vec() };
        let chart = |lines| Chart {
            title: String::new(),
            note: String::new(),
            over: Over::Time,
            unit: "ms",
            x: vec![0.0, 1.0, 2.0],
            marks: Vec::new(),
            lines,
        };
        let mut charts = Charts::default();
        assert_eq!(charts.add(chart(vec![line(&[None, None])])), None);
        assert_eq!(charts.add(chart(vec![line(&[]), line(&[Some(1.0), None])])), Some(0));
        let kept = &charts.charts[0];
        assert_eq!((kept.lines.len(), kept.x.len(), kept.lines[0].values.len()), (1, 1, 1));
    }
}
