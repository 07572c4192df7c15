//! The noise floor of a machine: how much two measurements of one server differ on it.

use std::collections::BTreeMap;

use super::cache;
use crate::lab::Runtime;
use crate::record::{NoiseFloor, RunRecord};

const FILE: &str = "noise.json";

/// What the last `--aa` on this machine found, in the same runtime.
pub fn known(runtime: Runtime) -> Option<NoiseFloor> {
    let mut all: BTreeMap<String, NoiseFloor> = cache::read(&cache::path(FILE)?);
    all.remove(&place(runtime))
}

/// In containers equals may differ by more, or less, than they do without.
fn place(runtime: Runtime) -> String {
    match runtime {
        Runtime::Process => cache::machine(),
        Runtime::Podman { .. } => format!("{} podman", cache::machine()),
    }
}

/// Keeps what this run found, if it measured a server against itself to its end.
pub fn keep(record: &RunRecord, runtime: Runtime) {
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
    all.insert(place(runtime), found);
    // It is in the run's own record too.
    let _ = cache::write(&path, &all);
}
