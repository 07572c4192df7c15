//! `loadgen experiment`: measures the arms of an experiment file, and judges its claims.

pub(super) mod check;
pub(super) mod group;
pub(super) mod jobs;

use self::jobs::{Settings, Targets};
use super::measure::{carry_out, save};
use super::options::servers::servers;
use super::options::{Output, runtime, unused};
use crate::cli::ExperimentArgs;
use crate::experiment::contender::Numbers;
use crate::experiment::experiments::find;
use crate::experiment::published::{LeftOut, Place, Published, TargetCpus};
use crate::failure::Exit;
use crate::failure::Failure;
use crate::lab::{Home, Layout, Manifest, Runtime, balancer_to_use};
use crate::scenario::experiment::{ExperimentFile, Group};

/// Command that measures an experiment in a cluster.
const IN_CLUSTER: &str = "loadgen k8s experiment NAME --image IMAGE";

/// Measures all groups of the experiment, saves the record, and prints the record.
pub(super) fn run(args: &ExperimentArgs) -> Result<Exit, Failure> {
    if args.check {
        return check::run(args.quick, |quick| published(args, quick));
    }
    let experiment = published(args, args.quick)?;
    experiment.left_out.check(&experiment.jobs, Place::Here)?;
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
    check_quick(&file, args.quick)?;
    let runtime = runtime::runtime(measuring.runtime, IN_CLUSTER)?;
    let runtime = runtime.with_backend_limits(file.backend_limits);
    let settings = Settings::of(measuring, runtime, args.rounds, quick)?;
    let mut left_out = left_out(&file, &targets, settings.runtime)?;
    let target_cpus = TargetCpus(match &targets {
        Targets::Lab { .. } => u32::try_from(Layout::here(1).target.len()).ok(),
        Targets::Running(_) | Targets::Deployed(_) => None,
    });
    target_cpus.leave_out(&file, &mut left_out);
    leave_out_groups(&file, quick, &mut left_out);
    let experiment = jobs::published(file, &targets, &settings, left_out, target_cpus)?;
    unused::refuse_traces(measuring, experiment.jobs.iter().map(|job| &job.scenario))?;
    Ok(experiment)
}

/// Refuses the quick form of an experiment that has none.
pub(super) fn check_quick(file: &ExperimentFile, quick: bool) -> Result<(), Failure> {
    let is_measured = file.groups.iter().any(|group| group.in_quick_form);
    if quick && !(is_measured && file.groups.iter().any(Group::has_quick_form)) {
        let message = "--quick chooses the quick form, but the experiment has none";
        let help = "leave out the option, or give a group a `quick` table";
        return Err(Failure::message(Exit::Usage, "unused_option", message.to_owned(), help));
    }
    Ok(())
}

/// Leaves out the groups that the form lacks.
pub(super) fn leave_out_groups(file: &ExperimentFile, quick: bool, left_out: &mut LeftOut) {
    if quick {
        left_out.add_groups(file, "not in the quick form", |group| !group.in_quick_form);
    }
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
