//! Explains an experiment, and warns of arms that are not comparable.

use crate::analysis::{Compared, confounded, unlike};
use crate::experiment::container_limits::record;
use crate::experiment::experiments::find;
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest};
use crate::process::print;
use crate::record::{DifferenceKind, DifferenceRecord, FEWEST_ROUNDS, ServerRecord};
use crate::scenario::experiment::{Arm, Claim, Group, explain};
use crate::text::count;

/// Explains an experiment. Without a project of the user's, each name of a target is possible: an
/// experiment for `--url` needs no project.
pub(super) fn explained(name: &str) -> Result<Exit, Failure> {
    let home = Home::find()?;
    let manifest = Manifest::of(&home)?;
    let names = (!home.is_embedded()).then(|| manifest.names());
    let experiment = find(name, names.as_deref())?;
    let mut out = explain(&experiment);
    for (index, group) in experiment.groups.iter().enumerate() {
        let claims =
            experiment.claims.iter().filter(|claim| claim.group == index).collect::<Vec<_>>();
        out += &lint(group, &claims, &manifest);
    }
    print(&(out + "\n"))?;
    Ok(Exit::Done)
}

/// Returns a line for each difference between the arms of a group, as far as the file and the
/// manifest tell, and a line for each fact that spoils a comparison.
fn lint(group: &Group, claims: &[&Claim], manifest: &Manifest) -> String {
    let servers = servers(group, manifest);
    let compared = group.arms.iter().zip(&servers).map(|(arm, server)| {
        let target = manifest.target(&arm.target).ok();
        let limits = arm.limits.or(target.map(|it| it.entry.limits()).unwrap_or_default());
        let limits = record(limits).of_all(server.replicas.unwrap_or(1));
        let warmup_s = arm.warmup(false).as_secs_f64();
        Compared { arm, quick: false, limits, warmup_s, server, measured: None }
    });
    let compared: Vec<Compared<'_>> = compared.collect();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let line = |DifferenceRecord { kind, what }| match kind {
        DifferenceKind::Cpus => format!("  ! {}: {what}\n", group.name),
        _ => format!("  differs     {}: {what}\n", group.name),
    };
    let mut out: String = unlike(&compared, cpus).into_iter().map(line).collect();
    if !claims.is_empty() && group.rounds < FEWEST_ROUNDS {
        let rounds = count(group.rounds.into());
        out += &format!(
            "  ! {}: claims need at least {FEWEST_ROUNDS} rounds, but the group has {rounds}\n",
            group.name
        );
    }
    let confounded = claims.iter().filter_map(|claim| confounded(claim, group));
    out + &confounded.map(|what| format!("  ! {what}\n")).collect::<String>()
}

/// Returns what the manifest declares about the target of each arm, without versions.
fn servers(group: &Group, manifest: &Manifest) -> Vec<ServerRecord> {
    let server = |arm: &Arm| {
        let entry = &manifest.target(&arm.target).ok()?.entry;
        Some(ServerRecord {
            framework: entry.framework.clone(),
            server: entry.server.clone(),
            language: entry.language.clone(),
            workers: arm.server_workers,
            replicas: arm.replicas.or(entry.replicas),
            differs: entry.differs.clone(),
            ..ServerRecord::default()
        })
    };
    group.arms.iter().map(|arm| server(arm).unwrap_or_default()).collect()
}
