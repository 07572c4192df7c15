//! Turns the groups of an experiment file into jobs.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::time::Duration;

use crate::cli::MeasuringArgs;
use crate::cluster::OnLoss;
use crate::commands::options::{telemetry, with_backends};
use crate::experiment::contender::Contender;
use crate::experiment::job::{Job, Method, Remote, random_seed};
use crate::experiment::published::{LeftOut, Published, TargetCpus};
use crate::experiment::search::Terms;
use crate::experiment::slicing::Slicing;
use crate::experiment::subject::{Server, Subject};
use crate::failure::{Exit, Failure};
use crate::lab::{Home, Manifest, Runtime};
use crate::record::FEWEST_ROUNDS;
use crate::scenario::experiment::{Arm, ExperimentFile, Group};
use crate::scenario::{OverrideError, Scenario};

/// Everything that arms can load.
pub enum Targets {
    /// Targets of a project.
    Lab {
        /// The project.
        home: Home,
        /// Its targets.
        manifest: Box<Manifest>,
    },
    /// Servers that run already, each with the name that arms have for it.
    Running(Vec<Server>),
    /// Servers that loadgen has deployed in a cluster for an experiment of one group, by the name of the arm.
    Deployed(BTreeMap<String, Server>),
}

/// Settings that all jobs of an experiment share.
pub struct Settings {
    /// Warm-up of the command line, if any.
    pub warmup: Option<Duration>,
    /// Number of workers; `None` if this process generates the load.
    pub workers: Option<u32>,
    /// Workers on other hosts, if any.
    pub remote: Option<Remote>,
    /// One request in so many is traced; `None` if none is.
    pub trace_one_in: Option<NonZeroU32>,
    /// Whether to measure the generator's maximum rate.
    pub calibrate: bool,
    /// Runtime of targets and backends.
    pub runtime: Runtime,
    /// Seed of generated data and of the order of the arms.
    pub seed: u64,
    /// Number of rounds on the command line, if any.
    pub rounds: Option<u32>,
    /// Whether the quick form is measured.
    pub quick: bool,
}

impl Settings {
    /// Returns the settings of a command line for a load that comes from this machine. Chooses a seed if the command line
    /// has none.
    pub fn of(
        measuring: &MeasuringArgs,
        runtime: Runtime,
        rounds: Option<u32>,
        quick: bool,
    ) -> Result<Self, Failure> {
        Ok(Self {
            warmup: measuring.warmup,
            workers: measuring.workers,
            remote: None,
            trace_one_in: telemetry::traced(&measuring.telemetry),
            calibrate: !measuring.no_calibrate,
            runtime,
            seed: measuring.seed.map_or_else(random_seed, Ok)?,
            rounds,
            quick,
        })
    }
}

/// Returns the experiment of a file, with a job for each scenario, load and warm-up of a group, without the arms in
/// `left_out`.
pub fn published(
    file: ExperimentFile,
    targets: &Targets,
    settings: &Settings,
    left_out: LeftOut,
    target_cpus: TargetCpus,
) -> Result<Published, Failure> {
    let (mut jobs, mut groups): (Vec<Job>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    let mut searches = BTreeMap::new();
    for (index, group) in file.groups.iter().enumerate() {
        let first = jobs.len();
        let arms = group.arms.iter().filter(|arm| left_out.of(index, &arm.name).is_none());
        let mut parts = parts(arms, settings);
        let search = group.capacity(settings.quick);
        if let (Some(search), Some(part)) = (search, parts.first_mut()) {
            let terms = Terms::of(&mut part.scenario, search, None);
            searches.insert(first, terms.map_err(|e| bad_search(group, &e))?);
        }
        let method = |part: &Part<'_>| match settings.quick && group.quick_one_start {
            true => Method::OneStart(Slicing::new(FEWEST_ROUNDS, part.warmup).warmup),
            false => Method::Rounds,
        };
        for (number, part) in (0..).zip(parts) {
            let method = method(&part);
            let job = Job { method, ..job(&file, group, part, targets, settings)? };
            // Jobs that share the data of one start must not send the same: see `Job::plan`.
            let apart = if job.is_one_start() { number << 40 } else { 0_u64 };
            jobs.push(Job { seed: job.seed.wrapping_add(apart), ..job });
        }
        groups.push(first..jobs.len());
    }
    Ok(Published { file, quick: settings.quick, jobs, groups, searches, left_out, target_cpus })
}

/// Returns a failure that names the group whose search cannot be carried out.
fn bad_search(group: &Group, error: &OverrideError) -> Failure {
    let message = format!("the group `{}` cannot search for capacities: {error}", group.name);
    let help = "change the `capacity` of the group, or the load of its scenario";
    Failure::message(Exit::Usage, "bad_load", message, help)
}

/// Arms of a group that have the same scenario, load and warm-up.
struct Part<'a> {
    scenario: Scenario,
    warmup: Duration,
    arms: Vec<&'a Arm>,
}

/// Returns the parts of a group that has these arms, in the measured form.
fn parts<'a>(arms: impl Iterator<Item = &'a Arm>, settings: &Settings) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for arm in arms {
        let quick = arm.quick.as_ref().filter(|_| settings.quick);
        let load = quick.unwrap_or(&arm.scenario.load).clone();
        let scenario = Scenario { load, ..arm.scenario.clone() };
        let warmup = settings.warmup.unwrap_or(arm.warmup(settings.quick));
        let same = |part: &&mut Part<'_>| part.scenario == scenario && part.warmup == warmup;
        match parts.iter_mut().find(same) {
            Some(part) => part.arms.push(arm),
            None => parts.push(Part { scenario, warmup, arms: vec![arm] }),
        }
    }
    parts
}

/// Returns the job of a part of a group.
fn job(
    file: &ExperimentFile,
    group: &Group,
    Part { scenario, warmup, arms }: Part<'_>,
    targets: &Targets,
    settings: &Settings,
) -> Result<Job, Failure> {
    let rounds = if settings.quick { group.quick_rounds } else { group.rounds };
    let contenders = arms.iter().enumerate().map(|(index, arm)| Contender {
        name: arm.name.clone(),
        // The name of the arm, so that two arms of one target are not taken for one.
        target: arm.name.clone(),
        log_name: Some(log_name(file, group, arm)),
        index,
        server_workers: arm.server_workers,
        replicas: arm.replicas,
        limits: arm.limits,
        users: scenario.load.users,
    });
    let subject = subject(&arms, targets)?;
    Ok(Job {
        contenders: contenders.collect(),
        scenario: with_backends(scenario, &subject),
        subject,
        workers: settings.workers,
        remote: settings.remote.clone(),
        on_loss: OnLoss::Fail,
        aa: false,
        method: Method::Rounds,
        probe: None,
        trace_one_in: settings.trace_one_in,
        rounds: settings.rounds.unwrap_or(rounds),
        warmup,
        seed: settings.seed,
        runtime: settings.runtime,
        one_request: false,
        group: Some(group.name.clone()),
        calibrate: settings.calibrate,
    })
}

/// Returns the name of an arm in the names of log files: letters and digits of the group's and the
/// arm's name, and a number if an earlier arm of the file has the same.
fn log_name(file: &ExperimentFile, group: &Group, arm: &Arm) -> String {
    let plain = |group: &Group, arm: &Arm| {
        let name = format!("{} {}", group.name, arm.name).to_lowercase();
        let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    };
    let name = plain(group, arm);
    let all = file.groups.iter().flat_map(|group| group.arms.iter().map(move |arm| (group, arm)));
    let before = all.take_while(|(other, it)| (&other.name, &it.name) != (&group.name, &arm.name));
    match before.filter(|(group, arm)| plain(group, arm) == name).count() {
        0 => name,
        n => format!("{name}-{}", n + 1),
    }
}

/// Returns the target of each arm, in the order of the arms.
fn subject(arms: &[&Arm], targets: &Targets) -> Result<Subject, Failure> {
    match targets {
        Targets::Lab { home, manifest } => {
            let specs = arms.iter().map(|arm| Ok(manifest.target(&arm.target)?.clone()));
            let targets = specs.collect::<Result<_, Failure>>()?;
            Ok(Subject::Lab { home: home.clone(), targets, left_out: BTreeMap::new() })
        }
        Targets::Running(servers) => {
            let of = |arm: &&Arm| servers.iter().find(|server| server.name == arm.target).cloned();
            Ok(Subject::Running(arms.iter().filter_map(of).collect()))
        }
        Targets::Deployed(servers) => {
            let of = |arm: &&Arm| servers.get(&arm.name).cloned();
            Ok(Subject::Running(arms.iter().filter_map(of).collect()))
        }
    }
}
