//! Describes where a run ran: what another person needs to know to repeat the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest, Sha256};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::job::Job;
use super::subject::{Server, Subject};
use crate::lab::{Lab, Layout, commit_of};
use crate::record::{Environment, FilesystemRecord, SystemRecord};

/// Describes the environment of a run for the record: hardware, software versions and CPU
/// assignment, without the limits of containers, the images of pods and the settings of the system. Values that cannot be determined stay empty.
pub fn environment(
    job: &Job,
    lab: Option<&Lab>,
    layout: &Layout,
    backends: &BTreeMap<String, String>,
) -> Environment {
    let system = System::new_with_specifics(
        RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram()),
    )
    .ok();
    let cpus = system.as_ref().map_or(&[][..], System::cpus);
    let parts = [
        ("target", &layout.target),
        ("backends", &layout.backends),
        ("generator", &layout.generator),
    ];
    let probe = (!layout.probe.is_empty()).then_some(("probe", &layout.probe));
    let parts = parts.into_iter().chain(probe);
    // The CPUs that loadgen could use before it pinned itself to some of them.
    let own: BTreeSet<usize> = parts.clone().flat_map(|(_, cpus)| cpus.iter().copied()).collect();
    let home = match &job.subject {
        Subject::Lab { home, .. } => Some(home),
        Subject::Running(_) => None,
    };
    let containers = lab.and_then(Lab::containers);
    Environment {
        loadgen: env!("CARGO_PKG_VERSION").to_owned(),
        // The user's cache may lie in a repository that is not loadgen's.
        git_commit: home.filter(|home| !home.is_embedded()).and_then(|home| commit_of(home.root())),
        os: System::long_os_version().unwrap_or_default(),
        kernel: System::kernel_version().unwrap_or_default(),
        cpu_model: cpus.first().map(|cpu| cpu.brand().to_owned()).unwrap_or_default(),
        cores: if own.is_empty() { cpus.len() } else { own.len() },
        memory_bytes: system.as_ref().map_or(0, System::total_memory),
        cpus: parts.map(|(part, cpus)| (part.to_owned(), cpus.clone())).collect(),
        python: lab.and_then(Lab::python_version),
        lock_sha256: home.and_then(|home| sha256(&home.root().join("uv.lock"))),
        backends: backends.clone(),
        postgres_data: lab.and_then(Lab::postgres_data).map(|found| FilesystemRecord {
            filesystem: found.kind.clone(),
            in_memory: found.is_memory(),
        }),
        runtime: match (lab, containers) {
            (None, _) if job.subject.is_deployed() => "kubernetes",
            (None, _) => "url",
            (Some(_), None) => "process",
            (Some(_), Some(_)) => "podman",
        }
        .to_owned(),
        podman: containers.map(|containers| containers.podman.clone()),
        images: containers.map(|containers| containers.images.clone()).unwrap_or_default(),
        // Each job has its own.
        limits: BTreeMap::new(),
        system: SystemRecord::default(),
        telemetry: None,
    }
}

/// Returns the image of each target and backend that loadgen has deployed in a cluster for a job, by its name.
pub fn deployed_images(job: &Job) -> BTreeMap<String, String> {
    let image = |server: &Server| {
        let deployed = server.deployed.as_ref()?;
        Some((deployed.target.clone(), deployed.image.clone()))
    };
    let backends = job.subject.deployed_backends().into_values();
    let backends = backends.map(|of| (of.backend.to_string(), of.image.clone()));
    backends.chain(job.subject.running().iter().filter_map(image)).collect()
}

fn sha256(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(format!("{:x}", Sha256::digest(bytes)))
}
