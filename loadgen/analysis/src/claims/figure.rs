//! Extracts the figures that claims and published figures are about.

use crate::compare::ByRound;
use crate::record::RoundRecord;
use loadgen_measure::LatencySummary;
use loadgen_scenario::{Metric, Statistic, Timing, Used};

/// Returns the figure of each whole round (a round that ran as planned), in the metric's unit. Empty
/// if a whole round lacks the figure, as a round without an expected response lacks a latency. Experiments
/// have no slices.
#[must_use]
pub fn figures(rounds: &[RoundRecord], metric: &Metric) -> ByRound {
    let whole = rounds.iter().filter(|round| round.whole);
    let each = whole.map(|round| Some((round.round, figure(round, metric)?)));
    each.collect::<Option<_>>().unwrap_or_default()
}

fn figure(round: &RoundRecord, metric: &Metric) -> Option<f64> {
    let total = &round.total;
    match metric {
        Metric::Time(Timing::Latency, statistic) => time(&total.latency_us, *statistic),
        Metric::Time(Timing::FirstByte, statistic) => time(&total.ttfb_us, *statistic),
        Metric::Time(Timing::FirstEvent, statistic) => {
            time(&total.stream.as_ref()?.first_event_us, *statistic)
        }
        Metric::Time(Timing::Gap, statistic) => time(&total.stream.as_ref()?.gap_us, *statistic),
        Metric::EventRate => Some(total.stream.as_ref()?.events_per_s),
        Metric::Rate => Some(total.rate_per_s),
        Metric::ErrorRate => {
            (total.requests > 0).then(|| total.errors as f64 / total.requests as f64)
        }
        Metric::CounterRate(name) => {
            let sum = *round.counters.get(name)? as f64;
            (round.held_s > 0.0).then(|| sum / round.held_s)
        }
        Metric::Used(used) => {
            let target = round.resources.get("target")?;
            // The memory of processes counts shared pages once for each process, which would judge
            // the number of processes.
            let is_exact = target.container.is_some();
            match used {
                Used::Cpu => Some(target.cpu_percent),
                Used::CpuPerRequest => target.cpu_us_per_request,
                Used::Memory => is_exact.then_some(target.memory_max_bytes as f64),
                Used::MemoryIdle if is_exact => target.memory_idle_bytes.map(|bytes| bytes as f64),
                Used::MemoryIdle => None,
            }
        }
        Metric::Unsent | Metric::Counter(_) => None,
    }
}

/// Returns a statistic of times, in µs; `None` if the record lacks it.
fn time(of: &LatencySummary, statistic: Statistic) -> Option<f64> {
    let percentile = match statistic {
        Statistic::Mean => return of.mean,
        Statistic::Max => of.max,
        Statistic::Percentile(percent) => match percent.to_string().as_str() {
            "50" => of.p50,
            "90" => of.p90,
            "95" => of.p95,
            "99" => of.p99,
            "99.9" => of.p99_9,
            "99.99" => of.p99_99,
            _ => None,
        },
    };
    percentile.map(|us| us as f64)
}

/// Returns whether the metric is about memory.
pub(super) fn is_memory(metric: &Metric) -> bool {
    matches!(metric, Metric::Used(Used::Memory | Used::MemoryIdle))
}

/// Returns whether a higher figure of this metric is better.
#[must_use]
pub fn is_better_higher(metric: &Metric) -> bool {
    matches!(metric, Metric::Rate | Metric::EventRate | Metric::CounterRate(_) | Metric::Counter(_))
}

/// Returns the unit in which people read figures of this metric, and the factor from the metric's
/// own unit.
#[must_use]
pub fn unit(metric: &Metric) -> (&'static str, f64) {
    match metric {
        Metric::Time(..) => ("ms", 1e-3),
        Metric::ErrorRate => ("%", 100.0),
        Metric::Rate | Metric::EventRate | Metric::CounterRate(_) => ("/s", 1.0),
        Metric::Used(Used::Cpu) => ("% of a core", 1.0),
        Metric::Used(Used::CpuPerRequest) => ("µs", 1.0),
        Metric::Used(Used::Memory | Used::MemoryIdle) => ("MB", 1e-6),
        Metric::Unsent | Metric::Counter(_) => ("", 1.0),
    }
}
