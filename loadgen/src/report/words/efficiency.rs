//! Shows the cost of an expected answer: CPU time and memory of the target and its backends.

use super::interval::{LEGEND, aligned_plus_minus};
use super::ranked::ranked;
use crate::measure::is_behind_target;
use crate::record::{RunRecord, TargetRecord};
use crate::text::{count, lay_out, megabytes, rate, tenths, wrap};

const HEADER: [&str; 5] = ["", "CPU-µs/request", "requests/CPU-s", "memory", "at most"];

/// Returns a table of CPU and memory, with a row for each target and for each backend that the
/// target uses. Leaves out servers that loadgen did not launch.
pub(crate) fn efficiency(record: &RunRecord) -> String {
    let rows: Vec<Vec<String>> =
        ranked(record).into_iter().flat_map(|(target, _)| rows(target)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut legend = "CPU is user and system time per expected response".to_owned();
    if record.targets.iter().any(|t| !t.cpu_us_per_request_over_rounds.is_empty()) {
        legend += LEGEND;
    }
    legend += "; memory in MB, mean and maximum";
    lay_out(&HEADER, &rows) + "\n" + &wrap(" ", &legend)
}

fn rows(target: &TargetRecord) -> Vec<Vec<String>> {
    let Some(own) = row(target, "target", target.name.clone()) else { return Vec::new() };
    let behind = target.resources.keys().filter(|name| is_behind_target(name));
    let backends = behind.filter_map(|name| row(target, name, format!("  {name}")));
    std::iter::once(own).chain(backends).collect()
}

fn row(target: &TargetRecord, service: &str, label: String) -> Option<Vec<String>> {
    let used = target.resources.get(service)?;
    let over_rounds = target.cpu_us_per_request_over_rounds.get(service);
    let (each, per_cpu_s) = match (over_rounds, used.cpu_us_per_request) {
        (Some(over), _) => {
            let each = micros(over.mean) + &aligned_plus_minus(over.mean, Some(over.confidence_95));
            (each, rate(1e6 / over.mean))
        }
        (None, Some(us)) => (micros(us), rate(1e6 / us)),
        (None, None) => ("–".to_owned(), "–".to_owned()),
    };
    let memory = [used.memory_mean_bytes, used.memory_max_bytes].map(megabytes);
    Some([vec![label, each, per_cpu_s], memory.to_vec()].concat())
}

/// Formats a time in µs: with up to one decimal below 100 µs, and without decimals from 100 µs on.
pub(super) fn micros(us: f64) -> String {
    if us >= 100.0 { count(us.round() as u64) } else { tenths(us) }
}
