//! Builds the record of each worker.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::phases::ms;
use crate::engine::WorkerResults;
use crate::experiment::measured::MeasuredRound;
use crate::record::WorkerRecord;

/// Builds one record for each worker, over all rounds; empty if the load comes from one process.
pub(super) fn workers(rounds: &[&MeasuredRound]) -> Vec<WorkerRecord> {
    let mut all: BTreeMap<u32, WorkerResults> = BTreeMap::new();
    let by_workers = rounds.iter().filter(|round| round.results.start_skew.is_some());
    for worker in by_workers.flat_map(|round| &round.results.workers) {
        match all.entry(worker.worker) {
            Entry::Vacant(free) => drop(free.insert(worker.clone())),
            Entry::Occupied(mut before) => {
                before.get_mut().add(worker);
                name_host(before.get_mut(), worker);
            }
        }
    }
    all.into_values().map(worker_record).collect()
}

/// Adds the name of another host: fresh workers may serve the rest of a run that was resumed.
fn name_host(of: &mut WorkerResults, later: &WorkerResults) {
    if let Some((host, other)) = of.host.as_mut().zip(later.host.as_ref())
        && host.name.split(", ").all(|name| name != other.name)
    {
        host.name = format!("{}, {}", host.name, other.name);
    }
}

fn worker_record(of: WorkerResults) -> WorkerRecord {
    let (host, cpus) = of.host.map(|host| (host.name, host.cpus)).unzip();
    let strain = &of.strain;
    WorkerRecord {
        worker: of.worker,
        host,
        cpus,
        users: of.users,
        rtt_ms: of.round_trip.map(ms),
        requests: of.requests,
        errors: Some(of.errors),
        snapshots: of.snapshots,
        cpu_percent: strain.cpu_percent(),
        lag_mean_ms: strain.lag_mean_ms(),
        lag_max_ms: strain.lag_max_ms(),
        seconds: strain.seconds(),
        late_seconds: strain.late_seconds(),
        throttled_percent: strain.throttled_percent(),
        cpu_wait_percent: strain.cpu_wait_percent(),
        cpus_busy_percent: strain.cpus_busy_percent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Host, Results, StartSkew};

    #[test]
    fn a_worker_of_a_resumed_run_has_all_of_its_hosts() {
        let round = |name: &str| {
            let host = Some(Host { name: name.to_owned(), cpus: 2 });
            let workers =
                vec![WorkerResults { host, requests: 5, errors: 1, ..WorkerResults::default() }];
            let start_skew = Some(StartSkew::default());
            let results = Results { workers, start_skew, ..Results::default() };
            MeasuredRound { results, ..MeasuredRound::default() }
        };
        let rounds = ["load-1", "load-2", "load-2", "load-1"].map(round);
        let record = workers(&rounds.iter().collect::<Vec<_>>());
        assert_eq!(record[0].host.as_deref(), Some("load-1, load-2"));
        assert_eq!((record[0].cpus, record[0].requests, record[0].errors), (Some(2), 20, Some(4)));
    }
}
