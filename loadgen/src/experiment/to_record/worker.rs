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
            Entry::Occupied(mut before) => before.get_mut().add(worker),
        }
    }
    all.into_values().map(worker_record).collect()
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
