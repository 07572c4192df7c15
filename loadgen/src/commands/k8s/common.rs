//! Needs that the servers and backends of a run in a cluster have in common.

use std::collections::BTreeMap;

use crate::cli::K8sPodArgs;
use crate::failure::Failure;
use crate::kubernetes::{ServerPods, Toleration};
use crate::lab::{Home, Runtime, random_password};
use crate::record::LimitsRecord;
use crate::scenario::{Cpus, Existing, Limits, Memory};

/// Project, options and secrets that the servers and backends of a run share.
pub(super) struct Common<'a> {
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
    /// Taints that the nodes of servers and backends may have.
    pub tolerations: Vec<Toleration>,
    /// Key without which no observer answers.
    pub observer_key: String,
}

impl<'a> Common<'a> {
    /// Reads the options, and makes the key.
    pub fn new(
        home: &'a Home,
        runtime: Runtime,
        existing: Existing,
        name: &'a str,
        args: &'a K8sPodArgs,
    ) -> Result<Self, Failure> {
        let tolerations = super::tolerations(&args.target_toleration)?;
        let observer_key = random_key()?;
        Ok(Self { home, runtime, existing, name, args, tolerations, observer_key })
    }
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
    random_password().map_err(|error| super::failed("make a key", &error.to_string()))
}
