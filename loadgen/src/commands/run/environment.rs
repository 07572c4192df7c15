//! Where a run ran: what another person needs to know to repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::job::{Job, Subject};
use crate::lab::{Lab, Layout};
use crate::measure::Environment;

/// Collects it; what can't be found out stays empty.
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
    // Before loadgen kept itself to some of them, these were its own.
    let own: BTreeSet<usize> = parts.iter().flat_map(|(_, cpus)| cpus.iter().copied()).collect();
    let home = match &job.subject {
        Subject::Lab { home, .. } => Some(home),
        Subject::Url(_) => None,
    };
    Environment {
        loadgen: env!("CARGO_PKG_VERSION").to_owned(),
        git_commit: home.and_then(|home| git_commit(home.root())),
        os: System::long_os_version().unwrap_or_default(),
        kernel: System::kernel_version().unwrap_or_default(),
        cpu_model: cpus.first().map(|cpu| cpu.brand().to_owned()).unwrap_or_default(),
        cores: if own.is_empty() { cpus.len() } else { own.len() },
        memory_bytes: system.as_ref().map_or(0, System::total_memory),
        cpus: parts.map(|(part, cpus)| (part.to_owned(), cpus.clone())).into(),
        python: lab.and_then(|lab| lab.python().version()),
        lock_sha256: home.and_then(|home| sha256(&home.root().join("uv.lock"))),
        backends: backends.clone(),
        runtime: if lab.is_some() { "process" } else { "url" }.to_owned(),
    }
}

/// The commit of the checkout, `-dirty` where files differ from it.
fn git_commit(root: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

fn sha256(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
