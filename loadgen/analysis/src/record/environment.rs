//! Holds the machine, the software and the limits of a run.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::system::SystemRecord;
use super::telemetry::TelemetryRecord;
use loadgen_text::limits;

/// Machine, software and limits of a run. A value that loadgen cannot find out is empty, 0 or
/// `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Version of loadgen.
    pub loadgen: String,
    /// Commit of the project's checkout, with the suffix `-dirty` if tracked files were changed;
    /// `None` without a checkout, or with `--url`.
    pub git_commit: Option<String>,
    /// Operating system and its version.
    pub os: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// Logical processors that loadgen may use.
    pub cores: usize,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Numbers of the logical processors that each part of the test was pinned to: `target`,
    /// `backends` and `generator`, and with `--probe` also `probe`. An empty array for a part that
    /// was not pinned.
    pub cpus: BTreeMap<String, Vec<usize>>,
    /// Version of the targets' Python; `None` if loadgen did not start the target, or if unknown.
    pub python: Option<String>,
    /// SHA-256 of the lock file `uv.lock` of the targets' packages, in the project's folder; `None`
    /// if loadgen did not start the target, or without a lock file.
    pub lock_sha256: Option<String>,
    /// Versions of the backends that ran, by backend.
    pub backends: BTreeMap<String, String>,
    /// File system of PostgreSQL's data; `None` if loadgen ran no PostgreSQL, or if unknown.
    #[serde(default)]
    pub postgres_data: Option<FilesystemRecord>,
    /// Runtime of the targets: `process`, `podman`, `kubernetes`, or `url` for a server that was already running.
    pub runtime: String,
    /// Software that ran the containers, such as `podman 4.3.1, runc, cgroup v1`; `None` without
    /// containers.
    #[serde(default)]
    pub podman: Option<String>,
    /// Container images, with their digests where loadgen knows them: that of the Python targets under `target`, and that of
    /// each other target, of each backend and of each server in pods under its name; empty without containers.
    #[serde(default)]
    pub images: BTreeMap<String, String>,
    /// Limits of the containers, or of each pod of a server, by target, arm or backend; empty without containers.
    #[serde(default)]
    pub limits: BTreeMap<String, LimitsRecord>,
    /// Settings of the machine that change what is measured; all unknown in documents of earlier
    /// versions.
    #[serde(default)]
    pub system: SystemRecord,
    /// Metrics that were sent to a collector, and how many arrived; `None` without `--otlp`, or in
    /// documents of earlier versions.
    #[serde(default)]
    pub telemetry: Option<TelemetryRecord>,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemRecord {
    /// Type of the file system, such as `ext4`, `overlay` or `tmpfs`.
    pub filesystem: String,
    /// Whether written data never reaches a disk: `tmpfs` and `ramfs`.
    pub in_memory: bool,
}

/// Upper limits of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsRecord {
    /// CPU time per second, in s: 1 is one core; `None` without a limit.
    pub cpus: Option<f64>,
    /// Memory; `None` without a limit.
    pub memory_bytes: Option<u64>,
}

impl LimitsRecord {
    /// Returns the limits of this number of containers together.
    #[must_use]
    pub fn of_all(self, containers: u32) -> Self {
        // A limit has three decimal places.
        let cpus = self.cpus.map(|cpus| (cpus * f64::from(containers) * 1e3).round() / 1e3);
        let bytes = self.memory_bytes.map(|bytes| bytes.saturating_mul(containers.into()));
        Self { cpus, memory_bytes: bytes }
    }
}

impl fmt::Display for LimitsRecord {
    /// Writes the limits, such as `0.5 CPUs, 256 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&limits(self.cpus, self.memory_bytes))
    }
}
