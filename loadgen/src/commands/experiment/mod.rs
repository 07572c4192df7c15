//! `loadgen experiment`: measures the arms of an experiment file, and judges its claims.

mod check;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use super::measure::{carry_out, save};
use super::options::servers::servers;
use super::options::{Output, runtime, telemetry, unused, with_backends};
use crate::cli::{ExperimentArgs, MeasuringArgs};
use crate::cluster::OnLoss;
use crate::experiment::contender::{Contender, Numbers};
use crate::experiment::experiments::find;
use crate::experiment::job::{Job, Method, random_seed};
use crate::experiment::published::{LeftOut, Published, TargetCpus};
use crate::experiment::search::Terms;
use crate::experiment::slicing::Slicing;
use crate::experiment::subject::{Server, Subject};
use crate::failure::Exit;
use crate::failure::Failure;
use crate::lab::{Home, Layout, Manifest, Runtime, balancer_to_use};
use crate::record::FEWEST_ROUNDS;
use crate::scenario::experiment::{Arm, ExperimentFile, Group};
use crate::scenario::{OverrideError, Scenario};

/// Measures all groups of the experiment, saves the record, and prints the record.
pub(super) fn run(args: &ExperimentArgs) -> Result<Exit, Failure> {
    if args.check {
        return check::run(args);
    }
    let experiment = published(args, args.quick)?;
    experiment.left_out.check(&experiment.jobs)?;
    carry_out(&experiment, &Output::from(&args.measuring), save)
}

/// Returns the experiment that the command line asks for, in its `quick` or its full form. It has no jobs if this
/// machine can run none of its targets.
fn published(args: &ExperimentArgs, quick: bool) -> Result<Published, Failure> {
    let measuring = &args.measuring;
    let servers = servers("--url", &measuring.url)?;
    let (file, targets) = match servers.as_slice() {
        [] => {
            let home = Home::find()?;
            let manifest = Manifest::of(&home)?;
            let file = find(&args.experiment, Some(&manifest.names()))?;
            (file, Targets::Lab { home, manifest: Box::new(manifest) })
        }
        servers => {
            let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
            (find(&args.experiment, Some(&names))?, Targets::Running(servers.to_vec()))
        }
    };
    let mut arms = file.groups.iter().flat_map(|group| &group.arms);
    unused::refuse(
        measuring,
        !measuring.url.is_empty(),
        &Numbers::default(),
        arms.any(|arm| !arm.scenario.backends.is_empty()),
    )?;
    let is_measured = file.groups.iter().any(|group| group.in_quick_form);
    if args.quick && !(is_measured && file.groups.iter().any(Group::has_quick_form)) {
        let message = "--quick chooses the quick form, but the experiment has none";
        let help = "leave out the option, or give a group a `quick` table";
        return Err(Failure::message(Exit::Usage, "unused_option", message.to_owned(), help));
    }
    let settings = Settings {
        measuring,
        runtime: runtime::runtime(measuring.runtime)?.with_backend_limits(file.backend_limits),
        seed: measuring.seed.map_or_else(random_seed, Ok)?,
        rounds: args.rounds,
        quick,
    };
    let mut left_out = left_out(&file, &targets, settings.runtime)?;
    let target_cpus = TargetCpus(match &targets {
        Targets::Lab { .. } => u32::try_from(Layout::here(1).target.len()).ok(),
        Targets::Running(_) => None,
    });
    target_cpus.leave_out(&file, &mut left_out);
    if settings.quick {
        left_out.add_groups(&file, "not in the quick form", |group| !group.in_quick_form);
    }
    let (mut jobs, mut groups): (Vec<Job>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    let mut searches = BTreeMap::new();
    for (index, group) in file.groups.iter().enumerate() {
        let first = jobs.len();
        let arms = group.arms.iter().filter(|arm| left_out.of(index, &arm.name).is_none());
        let mut parts = parts(arms, &settings);
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
            let job = job(&file, group, part, &targets, &settings)?;
            // Jobs that share the data of one start must not send the same: see `Job::plan`.
            let apart = if method.is_one_start() { number << 40 } else { 0_u64 };
            jobs.push(Job { method, seed: job.seed.wrapping_add(apart), ..job });
        }
        groups.push(first..jobs.len());
    }
    unused::refuse_traces(settings.measuring, jobs.iter().map(|job: &Job| &job.scenario))?;
    Ok(Published { file, quick, jobs, groups, searches, left_out, target_cpus })
}

/// Everything that arms can load.
enum Targets {
    Lab { home: Home, manifest: Box<Manifest> },
    Running(Vec<Server>),
}

/// Settings that all jobs of an experiment share.
struct Settings<'a> {
    measuring: &'a MeasuringArgs,
    runtime: Runtime,
    seed: u64,
    /// Number of rounds on the command line, if any.
    rounds: Option<u32>,
    quick: bool,
}

/// Returns the arms of the experiment that this machine cannot run, each with the reason.
fn left_out(
    file: &ExperimentFile,
    targets: &Targets,
    runtime: Runtime,
) -> Result<LeftOut, Failure> {
    let mut all = LeftOut::default();
    let Targets::Lab { manifest, .. } = targets else { return Ok(all) };
    let balancer = match runtime {
        Runtime::Process => balancer_to_use()?.lacks(),
        Runtime::Podman { .. } | Runtime::Kubernetes { .. } => None,
    };
    for (index, group) in file.groups.iter().enumerate() {
        for arm in &group.arms {
            let missing = runtime.check_requirements(manifest, &arm.target).err();
            let of_replicas = arm.replicas.and_then(|_| balancer.clone());
            if let Some(why) = missing.or(of_replicas) {
                all.add(index, &arm.name, why);
            }
        }
    }
    Ok(all)
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
fn parts<'a>(arms: impl Iterator<Item = &'a Arm>, settings: &Settings<'_>) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for arm in arms {
        let quick = arm.quick.as_ref().filter(|_| settings.quick);
        let load = quick.unwrap_or(&arm.scenario.load).clone();
        let scenario = Scenario { load, ..arm.scenario.clone() };
        let warmup = settings.measuring.warmup.unwrap_or(arm.warmup(settings.quick));
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
    settings: &Settings<'_>,
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
        workers: settings.measuring.workers,
        remote: None,
        on_loss: OnLoss::Fail,
        aa: false,
        method: Method::Rounds,
        probe: None,
        trace_one_in: telemetry::traced(&settings.measuring.telemetry),
        rounds: settings.rounds.unwrap_or(rounds),
        warmup,
        seed: settings.seed,
        runtime: settings.runtime,
        one_request: false,
        group: Some(group.name.clone()),
        calibrate: !settings.measuring.no_calibrate,
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
    }
}
