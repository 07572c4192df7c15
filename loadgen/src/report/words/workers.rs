//! Shows the work of workers on other hosts.

use std::collections::BTreeMap;

use crate::record::{RunRecord, WorkerRecord};
use crate::text::{count, lay_out, wrap};

const HEADER: [&str; 7] = ["worker", "CPUs", "users", "requests", "CPU", "late by", "RTT"];

/// Returns a table with a row for each worker on another host, over all rounds and targets. A
/// legend says how far apart in time the workers started. Empty if all load came from this host.
pub(crate) fn workers(record: &RunRecord) -> String {
    let mut all: BTreeMap<u32, Vec<&WorkerRecord>> = BTreeMap::new();
    for worker in record.targets.iter().flat_map(|target| &target.workers) {
        if worker.host.is_some() {
            all.entry(worker.worker).or_default().push(worker);
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = all.values().map(|of_one| row(of_one)).collect();
    let mut legend = "CPU in % of the CPUs that the worker may use; late by: longest delay of a timer, \
                      in ms; RTT: round trip to the manager, in ms; each is the maximum over targets"
        .to_owned();
    let rounds = || record.targets.iter().flat_map(|target| &target.rounds);
    if let Some(skew) = rounds().filter_map(|round| round.start_skew_ms).reduce(f64::max) {
        legend += &format!(
            "; in each round the workers' starts were due within {skew:.1} ms of each other"
        );
    }
    let symmetric = rounds().filter_map(|round| round.start_skew_symmetric_ms).reduce(f64::max);
    if let Some(skew) = symmetric {
        legend +=
            &format!(", and within {skew:.1} ms if the network is equally fast in both directions");
    }
    lay_out(&HEADER, &rows) + "\n" + &wrap(" ", &legend)
}

fn row(targets: &[&WorkerRecord]) -> Vec<String> {
    let most = |figure: fn(&WorkerRecord) -> Option<f64>| {
        targets.iter().filter_map(|worker| figure(worker)).reduce(f64::max)
    };
    let shown = |figure: Option<f64>, decimals: usize| {
        figure.map_or("–".to_owned(), |figure| format!("{figure:.decimals$}"))
    };
    let first = targets.first();
    let host = first.and_then(|worker| worker.host.as_deref()).unwrap_or_default();
    let number = first.map_or(0, |worker| worker.worker);
    let cpus = first.and_then(|worker| worker.cpus).unwrap_or_default();
    vec![
        format!("{number} {host}"),
        cpus.to_string(),
        count(first.map_or(0, |worker| worker.users).into()),
        count(targets.iter().map(|worker| worker.requests).sum()),
        shown(most(|worker| worker.cpu_percent), 0),
        shown(most(|worker| worker.lag_max_ms), 1),
        shown(most(|worker| worker.rtt_ms), 1),
    ]
}
