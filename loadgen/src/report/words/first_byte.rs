//! Shows the time to the first byte of responses, where it tells more than the latency.

use crate::measure::{LatencySummary, Summary};
use crate::record::TargetRecord;
use crate::text::milliseconds;

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 5] = ["", "p50", "p95", "p99", "max"];

/// Explanation of the columns.
pub(crate) const LEGEND: &str =
    "time from the planned send to the first byte of the response, in ms";

/// Least difference between latency and time to first byte that is shown: in µs, and in % of the
/// latency. A smaller difference is that of a body which follows its head at once.
const LEAST: (f64, f64) = (1_000.0, 10.0);

/// Returns a row for each target, followed by a row for each step of several whose responses took
/// longer than their first bytes. Empty if first and last bytes came together everywhere.
pub(crate) fn rows<'a>(targets: impl Iterator<Item = &'a TargetRecord>) -> Vec<Vec<String>> {
    let targets: Vec<&TargetRecord> = targets.collect();
    if !targets.iter().any(|target| target.steps.iter().chain([&target.total]).any(is_apart)) {
        return Vec::new();
    }
    let of_target = |target: &'a TargetRecord| {
        let steps = target.steps.iter().filter(|step| target.steps.len() > 1 && is_apart(step));
        let steps = steps.map(|step| row(format!("  {}", step.name), step));
        std::iter::once(row(target.name.clone(), &target.total)).chain(steps)
    };
    targets.into_iter().flat_map(of_target).collect()
}

/// Returns whether the time to the first byte is much shorter than the latency.
fn is_apart(summary: &Summary) -> bool {
    let (all, first) = (&summary.latency_us, &summary.ttfb_us);
    let figures = |of: &LatencySummary| [of.mean, of.p50.map(us), of.p99.map(us)];
    figures(all).into_iter().zip(figures(first)).any(|pair| match pair {
        (Some(all), Some(first)) => {
            all - first >= LEAST.0 && 100.0 * (all - first) >= LEAST.1 * all
        }
        _ => false,
    })
}

fn us(us: u64) -> f64 {
    us as f64
}

fn row(label: String, summary: &Summary) -> Vec<String> {
    let of = &summary.ttfb_us;
    let figures = [of.p50, of.p95, of.p99, of.max].map(milliseconds);
    std::iter::once(label).chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(name: &str, latency: u64, first: u64) -> Summary {
        let of = |us| LatencySummary { p50: Some(us), ..LatencySummary::default() };
        let (latency_us, ttfb_us) = (of(latency), of(first));
        Summary { name: name.to_owned(), latency_us, ttfb_us, ..Summary::default() }
    }

    fn shown(steps: &[(u64, u64)]) -> Vec<String> {
        let step = |(latency, first): &(u64, u64)| summary("step", *latency, *first);
        let steps: Vec<Summary> = steps.iter().map(step).collect();
        let target = TargetRecord {
            name: "target".to_owned(),
            total: summary("all", 9_000, 9_000),
            steps,
            ..TargetRecord::default()
        };
        rows(std::iter::once(&target)).into_iter().map(|row| row[..2].join(" ")).collect()
    }

    #[test]
    fn only_a_first_byte_well_before_the_last_is_shown() {
        assert_eq!(shown(&[(9_000, 8_900), (90_000, 85_000)]), [""; 0]);
        assert_eq!(shown(&[(9_000, 8_900), (90_000, 20_000)]), ["target 9.00", "  step 20.0"]);
        assert_eq!(shown(&[(900, 100), (5, 4)]), [""; 0], "less than 1 ms");
    }
}
