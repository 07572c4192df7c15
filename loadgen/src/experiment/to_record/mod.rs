//! Builds the record of a run.

mod comparison;
mod degraded;
mod load;
mod phases;
mod pooled;
mod profile;
mod proofs;
mod resources;
mod round;
mod stages;
mod worker;

use std::collections::BTreeMap;
use std::time::SystemTime;

use self::degraded::degraded;
use self::load::load;
pub use self::pooled::pool;
use self::profile::profile;
pub(super) use self::profile::profile_of;
pub use self::resources::others;
pub use self::round::{Conditions, changed};
use super::command_line::command_line;
use super::job::{Job, Method};
use super::measured::{Earlier, Measured, MeasuredRound};
use super::sent::sent;
use super::site::Site;
use crate::analysis::{compare_duets, curves_of_run, variation, verdicts};
use crate::lab::{GitRef, Lab};
use crate::record::{Environment, GitRecord, RunRecord, SavedAs, ServerRecord, TargetRecord};

/// Conditions of an experiment, which the record contains besides the results.
pub struct Context<'a> {
    /// Description of the machine and its software.
    pub environment: Environment,
    /// Lab that launched the targets, if any.
    pub lab: Option<&'a Lab>,
    /// Start of the experiment.
    pub started: SystemTime,
    /// Whether the experiment was interrupted.
    pub interrupted: bool,
}

impl<'a> Context<'a> {
    /// Returns the conditions of an experiment. `backends`
    /// has the versions of the backends, by name.
    pub fn of(
        job: &Job,
        site: &Site<'_>,
        backends: &BTreeMap<String, String>,
        lab: Option<&'a Lab>,
        interrupted: bool,
    ) -> Self {
        Self {
            environment: site.environment(job, lab, backends),
            lab,
            started: site.started,
            interrupted,
        }
    }
}

/// Builds the record of a run, including the results so far of the round in progress, if any.
pub fn build(
    job: &Job,
    measured: &Measured,
    under_way: Option<&MeasuredRound>,
    context: Context<'_>,
) -> RunRecord {
    let conditions = Conditions::of(job, &context.environment, measured.calibration);
    let is_duet = job.method == Method::Duets;
    let (mut targets, mut thresholds, mut of) = (Vec::new(), Vec::new(), Vec::new());
    for (index, contender) in job.contenders.iter().enumerate() {
        let rounds = measured.rounds.iter().chain(under_way);
        let rounds: Vec<&MeasuredRound> = rounds.filter(|round| round.contender == index).collect();
        if !rounds.is_empty() {
            let server = server(job, index, context.lab);
            let (mut target, judged) = pool(job, contender, &rounds, server, &conditions);
            target.profile = profile(&target, measured, index);
            targets.push(target);
            of.push(index);
            // Latencies in a duet are not those that a threshold is about.
            thresholds.extend(judged.into_iter().filter(|_| !is_duet));
        }
    }
    let profiled: Vec<(usize, &TargetRecord)> = of.into_iter().zip(&targets).collect();
    let profile_differences = profile::differences(&profiled, measured);
    let load = load(job, measured);
    // Each duet of a round has a number of its own.
    let numbers = if is_duet { job.passes() } else { 1 };
    let stages: Vec<u32> = measured.stages.iter().map(|end| end * numbers).collect();
    let (duet, comparison) = match is_duet {
        false => (None, comparison::of(job, &load, &targets, &stages)),
        true => compare_duets(&targets, &load, &stages, job.aa).unzip(),
    };
    let mut record = RunRecord {
        schema: RunRecord::SCHEMA.to_owned(),
        scenario: job.scenario.name.clone(),
        started: humantime::format_rfc3339_seconds(context.started).to_string(),
        seed: job.seed,
        command: command_line(),
        environment: context.environment,
        sent: Some(sent(&job.scenario)),
        slices: comparison.as_ref().and_then(|it| variation(&targets, &load, it)),
        comparison,
        duet,
        gate: None,
        precision: None,
        load,
        left_out: job.subject.left_out(),
        thresholds,
        targets,
        calibration: measured.calibration,
        noise_floor: None,
        scaling: Vec::new(),
        profile_differences,
        backend_alone: measured.backend_alone.clone(),
        verdicts: Vec::new(),
        degraded: degraded(job, measured),
        stopped_early: measured.stopped_early.clone(),
        resumed: Vec::new(),
        interrupted: context.interrupted,
    };
    if let Some(earlier) = &measured.earlier {
        let Earlier { started, command, resumed, .. } = earlier.clone();
        record = RunRecord { started, command, resumed, ..record };
    }
    record.scaling = curves_of_run(&record);
    record.verdicts = verdicts::judge(&record, &job.scenario);
    record
}

/// Returns the record of a target's server, such as framework
/// and versions; empty for a server that loadgen does not start or deploy.
pub fn server(job: &Job, index: usize, lab: Option<&Lab>) -> ServerRecord {
    let (Some(target), Some(lab)) = (job.target(index), lab) else {
        let deployed = job.running(index).and_then(|server| server.deployed.as_ref());
        return deployed.map(|deployed| deployed.server.clone()).unwrap_or_default();
    };
    let entry = &target.entry;
    let replicas = job.replicas(index);
    let balancer = replicas.and(lab.balancer());
    let balancer = balancer.map(|(name, version)| (name.to_owned(), version.to_owned()));
    ServerRecord {
        framework: entry.framework.clone(),
        server: entry.server.clone(),
        language: entry.language.clone(),
        workers: job.contenders[index].server_workers,
        replicas,
        packages: lab
            .versions(target)
            .into_iter()
            .chain(lab.tools(&target.name))
            .chain(balancer)
            .collect(),
        differs: entry.differs.clone(),
        git: target.git.as_ref().map(git_record),
    }
}

/// Returns the record of a target's ref.
pub fn git_record(git: &GitRef) -> GitRecord {
    GitRecord {
        target: git.target.clone(),
        r#ref: git.name.clone(),
        commit: git.commit.clone(),
        dirty: git.dirty,
        untracked: git.untracked,
        defined_elsewhere: git.is_defined_elsewhere,
    }
}
