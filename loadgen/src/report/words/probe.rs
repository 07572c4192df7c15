//! Describes what a probe measured beside the load.

use super::ranked::ranked;
use crate::record::{Percentile, ProbeRatio, ProbeRecord, RunRecord, TargetRecord};
use crate::text::{count, counted, milliseconds};

/// Percentiles of the probe that are shown, if it has enough samples.
const SHOWN: [Percentile; 3] = [Percentile::P50, Percentile::P95, Percentile::P99];

/// Returns a line for each target with a probe: the probe's latencies, and how those of the load
/// compare with them.
pub(crate) fn probes(record: &RunRecord) -> Vec<String> {
    let targets = ranked(record).into_iter().map(|(target, _)| target);
    targets.filter_map(|target| Some(line(target, target.probe.as_ref()?))).collect()
}

fn line(target: &TargetRecord, ProbeRecord { total, ratios }: &ProbeRecord) -> String {
    let known = SHOWN.into_iter().filter_map(|percentile| {
        let us = percentile.of(&total.latency_us)?;
        Some(format!("{percentile} {} ms", milliseconds(Some(us))))
    });
    let figures: Vec<String> = known.collect();
    let less = [(total.errors, "failed"), (total.unsent, "more were not sent")];
    let less = less.into_iter().filter(|(n, _)| *n > 0);
    let less: Vec<String> = less.map(|(n, what)| format!("{} {what}", count(n))).collect();
    let less = if less.is_empty() { String::new() } else { format!(" ({})", less.join(", ")) };
    let requests = counted(total.requests, "request") + &less;
    let measured = match figures.is_empty() {
        true => format!("{requests}, too few for a latency"),
        false => format!("{} in {requests}", figures.join(", ")),
    };
    let compared =
        ratios.iter().next_back().map(|(percentile, ratio)| compared(*percentile, ratio));
    format!("probe of {}: {measured}{}", target.name, compared.unwrap_or_default())
}

/// Compares the load with the probe by a percentile.
fn compared(
    percentile: Percentile,
    ProbeRatio { ratio, confidence_95, .. }: &ProbeRatio,
) -> String {
    let ends = confidence_95.map(|[low, high]| format!(" ({low:.2}–{high:.2})"));
    let ends = ends.unwrap_or_default();
    format!("; {percentile} of the load is {ratio:.2} times that of the probe{ends}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::{LatencySummary, Summary};

    fn said(
        latency_us: LatencySummary,
        [errors, unsent]: [u64; 2],
        ratios: &[(Percentile, f64)],
    ) -> String {
        let total = Summary { requests: 1_204, errors, unsent, latency_us, ..Summary::default() };
        let ratio = |ratio: f64| ProbeRatio {
            ratio,
            confidence_95: (ratio > 1.0).then_some([ratio - 0.1, ratio + 0.1]),
            p_holm: None,
        };
        let ratios: BTreeMap<_, _> = ratios.iter().map(|(of, it)| (*of, ratio(*it))).collect();
        let probe = Some(ProbeRecord { total, ratios });
        let target = TargetRecord { name: "sanic".to_owned(), probe, ..TargetRecord::default() };
        let record = RunRecord { targets: vec![target], ..RunRecord::default() };
        let [line] = &probes(&record)[..] else { panic!() };
        line.clone()
    }

    #[test]
    fn a_line_has_the_latencies_and_the_ratio_of_the_highest_percentile() {
        let latency = |p50, p95, p99| LatencySummary { p50, p95, p99, ..LatencySummary::default() };
        let ratios = [(Percentile::P50, 0.9), (Percentile::P95, 1.25)];
        assert_eq!(
            said(latency(Some(4_900), Some(9_800), Some(12_000)), [0, 0], &ratios),
            "probe of sanic: p50 4.90 ms, p95 9.80 ms, p99 12.0 ms in 1,204 requests; p95 of the load \
             is 1.25 times that of the probe (1.15–1.35)"
        );
        assert_eq!(
            said(latency(Some(4_900), None, None), [3, 0], &ratios[..1]),
            "probe of sanic: p50 4.90 ms in 1,204 requests (3 failed); p50 of the load is 0.90 times \
             that of the probe"
        );
        assert_eq!(
            said(latency(None, None, None), [0, 0], &[]),
            "probe of sanic: 1,204 requests, too few for a latency"
        );
        assert!(
            said(latency(Some(4_900), None, None), [3, 7], &[])
                .ends_with("in 1,204 requests (3 failed, 7 more were not sent)")
        );
    }
}
