//! Needs that the servers and backends of a run in a cluster have in common.

use std::collections::BTreeMap;

use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::cli::K8sPodArgs;
use crate::failure::Failure;
use crate::kubernetes::ServerPods;
use crate::lab::{Home, Runtime};
use crate::record::LimitsRecord;
use crate::scenario::{Cpus, Existing, Limits, Memory};

/// Number of bytes of a key.
const KEY_LENGTH: usize = 16;

/// Place of the servers of a run.
pub(super) struct Site<'a> {
    /// Project of the targets.
    pub home: &'a Home,
    /// Limits of pods.
    pub runtime: Runtime,
    /// Data that backends have at the beginning.
    pub existing: Existing,
    /// Name of the run.
    pub name: &'a str,
    /// Options of the pods.
    pub args: &'a K8sPodArgs,
}

/// Returns limits as a cluster takes them.
pub(super) fn quantities(limits: Limits) -> BTreeMap<String, String> {
    let cpus = limits.cpus.map(|cpus: Cpus| ("cpu".to_owned(), f64::from(cpus).to_string()));
    let memory =
        limits.memory.map(|memory: Memory| ("memory".to_owned(), memory.bytes().to_string()));
    cpus.into_iter().chain(memory).collect()
}

/// Returns the limits of a pod, for the record.
pub(super) fn record_of(pods: &ServerPods) -> LimitsRecord {
    let quantity = |name: &str| pods.placing.limits.get(name);
    LimitsRecord {
        cpus: quantity("cpu").and_then(|cpus| cpus.parse().ok()),
        memory_bytes: quantity("memory").and_then(|bytes| bytes.parse().ok()),
    }
}

/// Returns a random key, or password.
pub(super) fn random_key() -> Result<String, Failure> {
    let mut bytes = [0; KEY_LENGTH];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| super::failed("make a key", &error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
