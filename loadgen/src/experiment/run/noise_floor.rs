//! Caches the noise floor of a machine: the difference between two measurements of one server.

use std::collections::BTreeMap;

use crate::experiment::cache;
use crate::experiment::job::{Job, Method};
use crate::lab::Runtime;
use crate::record::{NoiseFloor, RunRecord};

const FILE: &str = "noise.json";

/// Returns the noise floor from the last run with
/// `--aa` on this machine in the same runtime and method as `job`, if any.
pub fn known(job: &Job) -> Option<NoiseFloor> {
    let mut all: BTreeMap<String, NoiseFloor> = cache::read(&cache::path(FILE)?);
    all.remove(&place(job))
}

/// Returns the cache key of this machine. Containers, duets and slices have separate keys, because equal
/// servers may differ by more, or by less, in containers, and differ by less in duets and in slices.
fn place(job: &Job) -> String {
    let machine = cache::machine();
    match (&job.runtime, job.method) {
        (Runtime::Process, Method::Rounds | Method::OneStart(_)) => machine,
        (Runtime::Process, Method::Duets) => format!("{machine} duet"),
        (Runtime::Process, Method::Slices(_)) => format!("{machine} slices"),
        (Runtime::Podman { .. }, _) => format!("{machine} podman"),
        (Runtime::Kubernetes { .. }, _) => format!("{machine} kubernetes"),
    }
}

/// Caches the noise floor of a run that measured a server against itself and was not interrupted.
pub fn keep(record: &RunRecord, job: &Job) {
    let percent = record.comparison.as_ref().and_then(|comparison| comparison.noise_floor_percent);
    let (Some(percent), Some(target), Some(path)) =
        (percent, record.targets.first(), cache::path(FILE))
    else {
        return;
    };
    if record.interrupted {
        return;
    }
    let mut all: BTreeMap<String, NoiseFloor> = cache::read(&path);
    let found = NoiseFloor {
        percent,
        scenario: record.scenario.clone(),
        target: target.name.clone(),
        started: record.started.clone(),
    };
    all.insert(place(job), found);
    // If the cache cannot be written, the run's record still has the noise floor.
    let _ = cache::write(&path, &all);
}
