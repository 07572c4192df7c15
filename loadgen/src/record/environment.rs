//! Where a run ran.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a run ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// loadgen's version.
    pub loadgen: String,
    /// The commit of the project's checkout, with `-dirty` where it was changed.
    pub git_commit: Option<String>,
    /// The operating system and its version.
    pub os: String,
    /// The kernel's version.
    pub kernel: String,
    /// The processor's model.
    pub cpu_model: String,
    /// Logical processors that loadgen may use.
    pub cores: usize,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
    /// Which logical processors the target, the backends and the generator were kept to; empty
    /// where they were not.
    pub cpus: BTreeMap<String, Vec<usize>>,
    /// Python's version, where the lab was used.
    pub python: Option<String>,
    /// SHA-256 of the lock file of the targets' packages.
    pub lock_sha256: Option<String>,
    /// Versions of the backends that ran.
    pub backends: BTreeMap<String, String>,
    /// What PostgreSQL's data lay on, where it ran and that is known.
    #[serde(default)]
    pub postgres_data: Option<FilesystemRecord>,
    /// How targets were run: `process`, `podman`, or `url` for a server that ran already.
    pub runtime: String,
    /// What containers were run by, such as `podman 4.3.1, runc, cgroup v1`, where there were any.
    #[serde(default)]
    pub podman: Option<String>,
    /// The images of the targets, by the name `target`, and of each backend, with their digests.
    #[serde(default)]
    pub images: BTreeMap<String, String>,
    /// What the containers of each target and of each backend might have.
    #[serde(default)]
    pub limits: BTreeMap<String, LimitsRecord>,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemRecord {
    /// Its type, such as `ext4`, `overlay` or `tmpfs`.
    pub filesystem: String,
    /// Whether what is written there never reaches a disk.
    pub in_memory: bool,
}

/// The most that a container may have; `None` where that is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsRecord {
    /// CPU time for each second: 1 is one core.
    pub cpus: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

impl fmt::Display for LimitsRecord {
    /// Such as `0.5 CPUs, 256 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = self.cpus.map(|cpus| match cpus {
            1.0 => "1 CPU".to_owned(),
            _ => format!("{cpus} CPUs"),
        });
        // As the limit was given: in units of 1,024.
        let memory = self.memory_bytes.map(|bytes| match bytes {
            bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
            bytes => format!("{} MiB", bytes >> 20),
        });
        match (cpus, memory) {
            (None, None) => f.write_str("no limit"),
            (cpus, memory) => {
                f.write_str(&cpus.into_iter().chain(memory).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
