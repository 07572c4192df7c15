//! Lists the results of each stage of a staged load.

use std::time::Duration;

use super::ranked::ranked;
use crate::record::{RunRecord, StageResult};
use crate::text::{count, duration, milliseconds, precise, rate};

/// Names of the columns of a row's cells. Latencies are in ms.
pub(crate) const HEADER: [&str; 7] =
    ["requests", "requests/s", "errors", "p50", "p95", "p99", "max"];

/// Results of each stage for one target.
pub(crate) struct StagesOf<'a> {
    /// Name of the target; `None` if the run has a single target.
    pub target: Option<&'a str>,
    /// Name of each stage, and its cells in the order of [`HEADER`].
    pub rows: Vec<(String, Vec<String>)>,
}

/// Returns the results of each target with stages, in the order of the ranking.
pub(crate) fn stages(record: &RunRecord) -> Vec<StagesOf<'_>> {
    let has_rates = record.load.rate_per_s.is_some();
    let is_alone = record.targets.len() == 1;
    let staged = ranked(record).into_iter().filter(|(target, _)| !target.stages.is_empty());
    let all = staged.map(|(target, _)| StagesOf {
        target: (!is_alone).then_some(target.name.as_str()),
        rows: target.stages.iter().map(|stage| (name(stage, has_rates), cells(stage))).collect(),
    });
    all.collect()
}

/// Explains the rows.
pub(crate) fn legend(record: &RunRecord) -> String {
    let which = match record.load.rounds {
        1 => "",
        _ => ", of all whole rounds together",
    };
    format!(
        "stages with their planned load{which}; a request belongs to the stage in which it ended; \
         latencies in ms"
    )
}

/// Describes the planned load of a stage: `0 to 50 users in 30s`, `50 users for 1m`.
fn name(stage: &StageResult, has_rates: bool) -> String {
    let took = Duration::try_from_secs_f64(stage.end_s - stage.begin_s).unwrap_or_default();
    let took = duration(took);
    let unit = match stage.to {
        _ if has_rates => "/s",
        1.0 => " user",
        _ => " users",
    };
    let to = precise(stage.to);
    match stage.from == stage.to {
        true => format!("{to}{unit} for {took}"),
        false => format!("{} to {to}{unit} in {took}", precise(stage.from)),
    }
}

fn cells(stage: &StageResult) -> Vec<String> {
    let total = &stage.total;
    let counts = [count(total.requests), rate(total.rate_per_s), count(total.errors)];
    let latency = &total.latency_us;
    let latencies = [latency.p50, latency.p95, latency.p99, latency.max].map(milliseconds);
    counts.into_iter().chain(latencies).collect()
}
