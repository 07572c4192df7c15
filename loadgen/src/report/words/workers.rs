//! Shows the work of workers on other hosts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::record::{RunRecord, WorkerRecord};
use crate::text::{count, counted, lay_out, wrap};

const HEADER: [&str; 7] = ["worker", "CPUs", "users", "requests", "CPU", "late by", "RTT"];

/// Most workers that have a row each. Of more, [`SLOWEST`] have one, so that the table fits a screen.
const MOST_ROWS: usize = 20;
const SLOWEST: usize = 10;

/// Returns a table with a row for each worker on another host, over all rounds and targets. Of many workers,
/// those with the longest delays have rows, and the others share one. A legend says how far apart in time the
/// workers started. Empty if all load came from this host.
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
    let mut all: Vec<Vec<&WorkerRecord>> = all.into_values().collect();
    let mut others = Vec::new();
    if all.len() > MOST_ROWS {
        let late = |of_one: &[&WorkerRecord]| most(of_one, |worker| worker.lag_max_ms);
        all.sort_by(|one, other| late(other).partial_cmp(&late(one)).unwrap_or(Ordering::Equal));
        others = all.split_off(SLOWEST);
    }
    let mut rows: Vec<Vec<String>> = all.iter().map(|of_one| row(name(of_one), of_one)).collect();
    let mut legend = "CPU in % of the CPUs that the worker may use; late by: longest delay of a timer, \
                      in ms; RTT: round trip to the manager, in ms; each is the maximum over targets"
        .to_owned();
    if !others.is_empty() {
        let name = counted(others.len() as u64, "other");
        rows.push(row_of_others(name, &others));
        legend += ", and of all others; run.json has each worker";
    }
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

/// Returns the number and the host of a worker.
fn name(targets: &[&WorkerRecord]) -> String {
    let first = targets.first();
    let host = first.and_then(|worker| worker.host.as_deref()).unwrap_or_default();
    format!("{} {host}", first.map_or(0, |worker| worker.worker))
}

/// Returns the row of a worker, with its records of all targets.
fn row(name: String, targets: &[&WorkerRecord]) -> Vec<String> {
    let first = targets.first();
    let cpus = first.and_then(|worker| worker.cpus).unwrap_or_default();
    let users = first.map_or(0, |worker| worker.users);
    [vec![name, cpus.to_string(), count(users.into())], figures(targets)].concat()
}

/// Returns one row for several workers, each with its records of all targets.
fn row_of_others(name: String, workers: &[Vec<&WorkerRecord>]) -> Vec<String> {
    let firsts = || workers.iter().filter_map(|targets| targets.first());
    let cpus: usize = firsts().filter_map(|worker| worker.cpus).sum();
    let users = firsts().map(|worker| u64::from(worker.users)).sum();
    [vec![name, count(cpus as u64), count(users)], figures(&workers.concat())].concat()
}

/// Returns the sum of the requests in these records, and the maximum of the other figures.
fn figures(records: &[&WorkerRecord]) -> Vec<String> {
    let shown = |figure: Option<f64>, decimals: usize| {
        figure.map_or("–".to_owned(), |figure| format!("{figure:.decimals$}"))
    };
    vec![
        count(records.iter().map(|worker| worker.requests).sum()),
        shown(most(records, |worker| worker.cpu_percent), 0),
        shown(most(records, |worker| worker.lag_max_ms), 1),
        shown(most(records, |worker| worker.rtt_ms), 1),
    ]
}

fn most(records: &[&WorkerRecord], figure: fn(&WorkerRecord) -> Option<f64>) -> Option<f64> {
    records.iter().filter_map(|worker| figure(worker)).reduce(f64::max)
}
