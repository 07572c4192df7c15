//! Lists the rows of a run's main table: each target, and the parts of its results.

use super::ranked::{placed, ranked};
use crate::measure::Summary;
use crate::record::{Placing, RunRecord, TargetRecord};
use crate::text::{count, milliseconds, rate};

/// Writes the half width of an interval behind its mean.
type PlusMinus = fn(f64, Option<[f64; 2]>) -> String;

/// A row of the main table.
pub(crate) struct ResultRow {
    /// Name of the target or of the part.
    pub name: String,
    /// Whether the row is a part of the results of the target above, such as a step.
    pub is_part: bool,
    /// Cells after the name: requests/s, errors, p50, p95, p99 and maximum of the latency in ms.
    pub cells: Vec<String>,
    /// CPU of the target in % of one core; `None` for a part, and for a server that loadgen did not
    /// start.
    pub cpu: Option<String>,
}

/// Returns a row for each target, best first, each followed by the rows of its parts.
pub(crate) fn results(record: &RunRecord, plus_minus: PlusMinus) -> Vec<ResultRow> {
    let rows = |(target, placing): (&TargetRecord, Option<&Placing>)| {
        let used = target.resources.get("target");
        let whole = ResultRow {
            name: placed(&target.name, record, target),
            is_part: false,
            cells: cells(placing, &target.total, plus_minus),
            cpu: used.map(|used| count(used.cpu_percent.round() as u64)),
        };
        std::iter::once(whole).chain(parts(target, plus_minus)).collect::<Vec<_>>()
    };
    ranked(record).into_iter().flat_map(rows).collect()
}

/// Returns a row for each step, if the target has several, and for each group of steps.
fn parts(target: &TargetRecord, plus_minus: PlusMinus) -> Vec<ResultRow> {
    let steps = target.steps.iter().filter(|_| target.steps.len() > 1);
    let steps = steps.map(|step| (step.name.clone(), step));
    let groups = target.groups.iter().map(|group| (format!("{} (group)", group.name), group));
    let row = |(name, summary): (String, &Summary)| ResultRow {
        name,
        is_part: true,
        cells: cells(None, summary, plus_minus),
        cpu: None,
    };
    steps.chain(groups).map(row).collect()
}

fn cells(placing: Option<&Placing>, summary: &Summary, plus_minus: PlusMinus) -> Vec<String> {
    // Requests that users send when they stop have no rate.
    let has_none = summary.rate_per_s == 0.0 && summary.requests > summary.errors;
    let answered = match placing {
        None if has_none => "–".to_owned(),
        None => rate(summary.rate_per_s),
        Some(Placing { rate_per_s, confidence_95_per_s, .. }) => {
            rate(*rate_per_s) + &plus_minus(*rate_per_s, *confidence_95_per_s)
        }
    };
    let latency = &summary.latency_us;
    let latencies = [latency.p50, latency.p95, latency.p99, latency.max].map(milliseconds);
    [answered, count(summary.errors)].into_iter().chain(latencies).collect()
}
