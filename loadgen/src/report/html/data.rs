//! Makes the charts of a run from its record.

use super::chart::{Chart, Charts, Line, Over, ms, short};
use super::time::{Axis, highest, mean};
use crate::measure::{Distribution, ResourceRecord, SecondRecord};
use crate::record::{RoundRecord, RunRecord, TargetRecord};

/// Greatest number of values of a run for one figure over time, or for one distribution, over all
/// targets and steps. More values would make the page large and slow to open.
const VALUES: usize = 100_000;

/// Longest round that is drawn to its end, in s: 31 days. A damaged record may claim any length.
const LONGEST_S: u32 = 31 * 24 * 3_600;

/// Makes the charts of a run. Targets come in the order of the report.
pub(super) struct Drawing<'a> {
    targets: Vec<&'a TargetRecord>,
    axis: Axis,
    ramp_up_s: f64,
    /// Greatest number of buckets in the chart of a latency distribution.
    buckets: usize,
    /// Charts that were made so far.
    pub charts: Charts,
}

impl<'a> Drawing<'a> {
    /// Prepares the charts of `record`. `targets` are the record's targets in the order of the
    /// report.
    pub(super) fn new(record: &RunRecord, targets: Vec<&'a TargetRecord>) -> Self {
        let steps = targets.first().map_or(1, |target| target.steps.len()).max(1);
        let lines = (targets.len() * (steps + usize::from(steps > 1))).max(1);
        let names = targets.iter().map(|target| target.name.clone()).collect();
        Self {
            axis: Axis::new(record, (VALUES / lines).clamp(50, 1_500)),
            ramp_up_s: record.load.ramp_up_s,
            buckets: (VALUES / lines).clamp(100, 2_000),
            charts: Charts { targets: names, charts: Vec::new() },
            targets,
        }
    }

    /// Makes the charts of each step and, before them, of all steps together if there are several.
    /// Returns the name of each step, or `None` for all steps, with the indices of the added charts.
    pub(super) fn steps(&mut self) -> Vec<(Option<&'a str>, Vec<usize>)> {
        let steps = self.targets.first().map(|target| target.steps.as_slice()).unwrap_or_default();
        let mut all = Vec::new();
        if steps.len() > 1 {
            all.push((None, self.over_time(None)));
        }
        for step in steps {
            let name = step.name.as_str();
            let mut numbers = self.latencies(name);
            let mut rounds = self.targets.iter().flat_map(|target| &target.rounds);
            if steps.len() == 1 || rounds.any(|round| round.steps_seconds.contains_key(name)) {
                numbers.extend(self.over_time(Some(name)));
            }
            all.push((Some(name), numbers));
        }
        all
    }

    /// Makes two charts of one step's latency, by percentile and as a distribution. Returns the
    /// indices of the added charts.
    fn latencies(&mut self, step: &str) -> Vec<usize> {
        let known = |target: &&'a TargetRecord| target.latency_histograms.get(step);
        let all: Vec<Option<&Distribution>> = self.targets.iter().map(known).collect();
        let percentiles = Chart {
            title: "Latency by percentile".to_owned(),
            note: "up to the last percentile with ten slower requests".to_owned(),
            over: Over::Percentile,
            unit: "ms",
            x: Distribution::shares().map(|q| short(-(1.0 - q).log10())).collect(),
            marks: Vec::new(),
            lines: lines(&all, |all| all.curve().into_iter().map(|us| Some(ms(us))).collect()),
        };
        let width_us = width_us(&all);
        let distribution = Chart {
            title: "Distribution of latency".to_owned(),
            note: format!("share of requests in each {} ms", width_us as f64 / 1e3),
            over: Over::Latency,
            unit: "%",
            x: (0..self.buckets).map(|i| short((i as u64 * width_us) as f64 / 1e3)).collect(),
            marks: Vec::new(),
            lines: lines(&all, |all| shares(all, width_us, self.buckets)),
        };
        [percentiles, distribution].into_iter().filter_map(|c| self.charts.add(c)).collect()
    }

    /// Makes the charts of rate, latency and errors over time, for one step, or for all steps
    /// together if `step` is `None`. Returns the indices of the added charts.
    fn over_time(&mut self, step: Option<&str>) -> Vec<usize> {
        let rate = |n: fn(&SecondRecord) -> u64| {
            move |seconds: Vec<SecondRecord>, length: f64| per_second(&seconds, length, n)
        };
        let latency = |of: fn(&SecondRecord) -> Option<u64>| {
            move |seconds: Vec<SecondRecord>, _: f64| {
                let figure = |second: &SecondRecord| Some((second.second, ms(of(second)?)));
                seconds.iter().filter_map(figure).collect::<Vec<_>>()
            }
        };
        let drawn = [
            self.of_seconds(step, "Expected responses", "1/s", mean, rate(|s| s.answered)),
            self.of_seconds(step, "Median latency", "ms", highest, latency(|s| s.p50_us)),
            self.of_seconds(
                step,
                "99th percentile of latency",
                "ms",
                highest,
                latency(|s| s.p99_us),
            ),
            self.of_seconds(step, "Failed requests", "1/s", mean, rate(|s| s.errors)),
        ];
        // Leave out a chart without any value above 0, such as the chart of errors where no error
        // occurred.
        let tells = |chart: &Chart| {
            chart
                .lines
                .iter()
                .flat_map(|line| &line.values)
                .any(|value| value.is_some_and(|v| v > 0.0))
        };
        drawn.into_iter().filter(tells).filter_map(|chart| self.charts.add(chart)).collect()
    }

    fn of_seconds(
        &self,
        step: Option<&str>,
        what: &str,
        unit: &'static str,
        together: fn(&[f64]) -> f64,
        figures: impl Fn(Vec<SecondRecord>, f64) -> Vec<(u32, f64)>,
    ) -> Chart {
        let of = |round: &RoundRecord| figures(seconds(round, step), self.ramp_up_s + round.held_s);
        let line = |target: &TargetRecord| self.axis.line(&target.rounds, of, together);
        let how = if unit == "ms" { "the highest" } else { "the mean" };
        self.chart(what, unit, how, line)
    }

    /// Makes the charts of the CPU and memory of `service` while the load was held. Returns the
    /// indices of the added charts.
    pub(super) fn resources(&mut self, service: &str) -> Vec<usize> {
        let draw = |what: &str, unit, figure: fn(&ResourceRecord) -> Vec<f64>| {
            let of = |round: &RoundRecord| {
                let Some(used) = round.resources.get(service) else { return Vec::new() };
                let at = |at_s: &f64| (self.ramp_up_s + at_s - 0.5).max(0.0) as u32;
                used.samples.at_s.iter().map(at).zip(figure(used)).collect()
            };
            let line = |target: &TargetRecord| self.axis.line(&target.rounds, of, mean);
            self.chart(&format!("{what} of {}", named(service)), unit, "the mean", line)
        };
        let memory = |used: &ResourceRecord| {
            used.samples.memory_bytes.iter().map(|bytes| *bytes as f64 / 1e6).collect()
        };
        let cpu = |used: &ResourceRecord| used.samples.cpu_percent.clone();
        let drawn = [draw("CPU", "% of one core", cpu), draw("Memory", "MB", memory)];
        drawn.into_iter().filter_map(|chart| self.charts.add(chart)).collect()
    }

    fn chart(
        &self,
        what: &str,
        unit: &'static str,
        how: &str,
        line: impl Fn(&TargetRecord) -> Vec<Option<f64>>,
    ) -> Chart {
        let note = match self.axis.width() {
            1 => String::new(),
            n => format!("{how} of each {n} s"),
        };
        let all: Vec<_> = self.targets.iter().map(|target| Some(*target)).collect();
        Chart {
            title: format!("{what} over time"),
            note,
            over: Over::Time,
            unit,
            x: self.axis.x(),
            marks: self.axis.marks(),
            lines: lines(&all, line),
        }
    }
}

/// Returns the display name of a service.
fn named(service: &str) -> &str {
    if service == "target" { "the server" } else { service }
}

/// Makes a line for each target that has data. `all` has an element for each target, which is
/// `None` if the target has no data.
fn lines<T>(all: &[Option<&T>], values: impl Fn(&T) -> Vec<Option<f64>>) -> Vec<Line> {
    let known = all.iter().enumerate().filter_map(|(target, of)| Some((target, (*of)?)));
    known.map(|(target, of)| Line { target, values: values(of) }).collect()
}

/// Returns the width of a bucket of the latency distribution, in µs: 1,000, or 100 where the 90th
/// percentile of each target is below 10 ms.
fn width_us(all: &[Option<&Distribution>]) -> u64 {
    let p90 = all.iter().flatten().filter_map(|all| all.latencies().quantile(0.9)).max();
    if p90.is_some_and(|us| us < 10_000) { 100 } else { 1_000 }
}

/// Returns the share of requests in each bucket, in %, up to the bucket that holds the 99.9th
/// percentile, and at most `most` buckets.
fn shares(all: &Distribution, width_us: u64, most: usize) -> Vec<Option<f64>> {
    let last = all.latencies().quantile(0.999).or(all.latencies().max()).unwrap_or(0);
    let shown = usize::try_from(last / width_us + 1).unwrap_or(most).min(most);
    let share = |n: u64| Some(short(100.0 * n as f64 / all.latencies().len().max(1) as f64));
    all.buckets(width_us, shown).into_iter().map(share).collect()
}

/// Returns the results of a round for each second. Counts only `step` if the record has results of
/// single steps, otherwise all steps together.
fn seconds(round: &RoundRecord, step: Option<&str>) -> Vec<SecondRecord> {
    let of_step = step.and_then(|step| round.steps_seconds.get(step));
    let one = |(i, all): (usize, &SecondRecord)| match of_step {
        None => all.clone(),
        Some(step) => step.at(i, all.second),
    };
    round.seconds.iter().enumerate().map(one).collect()
}

/// Returns the number of each second and the rate in that second, which is 0 if the record leaves
/// the second out. `n` returns the count of a second. The load ended after `length` s, so that the
/// last second may be partial. The count of a partial second is divided by the second's length, or
/// dropped if the second lasted less than 0.2 s.
fn per_second(
    seconds: &[SecondRecord],
    length: f64,
    n: fn(&SecondRecord) -> u64,
) -> Vec<(u32, f64)> {
    let end = seconds.iter().map(|it| it.second).max().map_or(0, |last| last.min(LONGEST_S) + 1);
    let mut rates: Vec<(u32, f64)> = (0..end).map(|second| (second, 0.0)).collect();
    for second in seconds {
        if let Some((_, rate)) = rates.get_mut(second.second as usize) {
            *rate = n(second) as f64;
        }
    }
    if let Some((second, rate)) = rates.last_mut() {
        let part = (length - f64::from(*second)).min(1.0);
        match part < 0.2 {
            true => drop(rates.pop()),
            false => *rate /= part,
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_seconds_count_and_the_last_counts_in_part() {
        let second =
            |second, answered| SecondRecord { second, answered, ..SecondRecord::default() };
        let seconds = [second(0, 100), second(2, 50)];
        let rates = |length| per_second(&seconds, length, |second| second.answered);
        assert_eq!(rates(2.5), [(0, 100.0), (1, 0.0), (2, 100.0)]);
        assert_eq!(rates(2.1), [(0, 100.0), (1, 0.0)]);
        assert_eq!(rates(7.0), [(0, 100.0), (1, 0.0), (2, 50.0)]);
        assert_eq!(per_second(&[], 1.0, |second| second.errors), []);
        // A damaged record may contain any second.
        let damaged = [second(2, 50), second(0, 100), second(u32::MAX, 7)];
        let rates = per_second(&damaged, 7.0, |second| second.answered);
        assert_eq!((rates[0].1, rates[1].1, rates[2].1), (100.0, 0.0, 50.0));
    }
}
