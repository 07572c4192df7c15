//! `loadgen k8s experiment`: an experiment file whose servers and load are pods of a Kubernetes cluster.
//!
//! Each group of the file is a run of its own, one after another: all servers of a run are up together, and a group must
//! not find what an earlier one has left in their memory or in their backends. The manager of a run measures its group
//! as `loadgen experiment` does; this process joins the records of all groups to that of the experiment.

mod asked;
mod groups;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tokio::runtime::Runtime;

use self::asked::Asked;
use self::groups::Groups;
use super::delivery::Delivery;
use super::packed::{Load, pack};
use super::servers::{self, Wanted};
use super::{HAND_OVER, Planned, random_name, telemetry, terminal, too_large, words};
use crate::cli::K8sExperimentArgs;
use crate::commands::experiment::check;
use crate::commands::options::{Output, unused};
use crate::experiment::kind::Experiment as _;
use crate::experiment::published::{Place, Published};
use crate::experiment::subject::{Server, Subject};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{ClusterRun, Follower, Kubectl, Manifests, View, abandon, checked_name};
use crate::lab::Layout;
use crate::process::{is_interactive, on_all_cpus, on_signal};
use crate::text::say;

/// Measures all groups of the experiment in a cluster, saves the record, and prints the record.
pub(super) fn run(args: &K8sExperimentArgs) -> Result<Exit, Failure> {
    let K8sExperimentArgs { context, pods, experiment: of, .. } = args;
    let mut words = words("experiment")?;
    let kubectl = Kubectl { context: context.clone(), namespace: pods.namespace.clone() };
    let runtime = on_all_cpus()?;
    let asked = Asked::of(args, &kubectl, &runtime)?;
    if of.check {
        return check::run(of.quick, |quick| asked.published(quick));
    }
    let experiment = asked.published(of.quick)?;
    unused::refuse_traces(&of.measuring, experiment.jobs.iter().map(|job| &job.scenario))?;
    experiment.left_out.check(&experiment.jobs, Place::Cluster)?;
    if of.measuring.seed.is_none() {
        // All groups have one seed, as those of one process have.
        words.push(format!("--seed={}", asked.seed));
    }
    let output = Output::from(&of.measuring);
    let all = plan(args, &asked, &experiment, &words, output.live && is_interactive())?;
    let delivery =
        Delivery::prepare(output.folder.as_deref(), &experiment.file.name, output.format, None)?;
    tell(&experiment);
    let cluster = Cluster { args, kubectl: &kubectl, runtime: &runtime };
    let layout = Layout::unpinned();
    cluster.measure(&all, Groups::new(&experiment, &delivery, &layout))
}

/// Says what of the experiment is not measured, and why.
fn tell(experiment: &Published) {
    for (what, why) in check::left_out(experiment) {
        say(format!("{what} is left out: {why}"));
    }
    if let Some(what) = experiment.announcement() {
        say(what);
    }
    let groups = experiment.file.groups.iter().zip(&experiment.groups);
    for (group, _) in groups.filter(|(_, jobs)| !jobs.is_empty()) {
        if let Some(backend) = group.backend_alone {
            say(format!("{}: {backend} is not measured alone in a cluster", group.name));
        }
    }
}

/// A group as a run of the cluster.
struct Group {
    /// Index of the group in the file.
    index: usize,
    run: ClusterRun,
    manifests: Manifests,
}

/// Plans all runs before the first one begins: a group that the cluster cannot be asked for is found before the others
/// are measured.
fn plan(
    args: &K8sExperimentArgs,
    asked: &Asked<'_>,
    experiment: &Published,
    words: &[String],
    is_live: bool,
) -> Result<Vec<Group>, Failure> {
    let K8sExperimentArgs { start_timeout, pods, experiment: of, .. } = args;
    let variables = telemetry(of.measuring.telemetry.otlp.as_deref())?;
    let name = pods.name.clone().map_or_else(random_name, Ok)?;
    let measured = (0..experiment.groups.len()).filter(|&it| !experiment.groups[it].is_empty());
    let one = |index: usize| {
        let name = checked_name(&format!("{name}-{}", index + 1)).map_err(|why| {
            let message = format!("--name {name} with the number of a group: {why}");
            Failure::message(Exit::Usage, "bad_name", message, "choose a shorter name")
        })?;
        let (wanted, of_arms) = wanted(asked, experiment, index);
        let (servers, running) = servers::build(&wanted, &asked.common(index, &name, pods)?)?;
        let server = |(arm, index): (String, usize)| Some((arm, running.get(index)?.clone()));
        let of_arms: BTreeMap<String, Server> = of_arms.into_iter().filter_map(server).collect();
        let group = experiment.apart(index, of_arms);
        let planned = Planned {
            name,
            workers: of.measuring.workers.unwrap_or(1),
            servers,
            packed: pack(Load::Group(Box::new(group))).map_err(too_large)?,
            length: experiment.longest_of_group(index).map(|longest| longest.saturating_mul(2)),
            variables: variables.clone(),
        };
        let terminal = is_live.then(terminal);
        let manifests =
            planned.manifests(pods, words, *start_timeout, Some(HAND_OVER), terminal)?;
        manifests.secret().map_err(too_large)?;
        let run = ClusterRun::of(&manifests.job(true)).map_err(Failure::with(Exit::Failed))?;
        Ok(Group { index, run, manifests })
    };
    measured.map(one).collect()
}

/// Returns the servers of a group, each once, and the index of each arm's server. Arms that differ only in their load
/// share a server.
fn wanted(
    asked: &Asked<'_>,
    experiment: &Published,
    group: usize,
) -> (Vec<Wanted>, Vec<(String, usize)>) {
    let (mut all, mut of_arms) = (Vec::<Wanted>::new(), Vec::new());
    for job in &experiment.jobs[experiment.groups[group].clone()] {
        let Subject::Lab { targets, .. } = &job.subject else { continue };
        for (contender, target) in job.contenders.iter().zip(targets) {
            let target = asked.images.put(target.clone(), &job.scenario.backends);
            let one = Wanted { contender: contender.clone(), target };
            let known = all.iter().position(|other| other.is_same_server(&one));
            of_arms.push((contender.name.clone(), known.unwrap_or(all.len())));
            if known.is_none() {
                all.push(one);
            }
        }
    }
    (all, of_arms)
}

/// The cluster, and how to reach it.
struct Cluster<'a> {
    args: &'a K8sExperimentArgs,
    kubectl: &'a Kubectl,
    runtime: &'a Runtime,
}

impl Cluster<'_> {
    /// Carries out the runs of the groups, one after another, until one of them ends the experiment.
    fn measure(&self, all: &[Group], mut groups: Groups<'_>) -> Result<Exit, Failure> {
        let interrupt = on_signal(abandon)?;
        for (number, group) in (1..).zip(all) {
            say(format!("group {}: {number} of {}", groups.name(group.index), all.len()));
            let folder = match groups.folder(group.index) {
                Ok(folder) => folder,
                Err(failure) => {
                    groups.fail(failure);
                    break;
                }
            };
            let follower = Follower {
                kubectl: self.kubectl,
                run: &group.run,
                view: if group.run.has_terminal { View::Live } else { View::Lines },
                start_limit: self.args.start_timeout,
                folder: &folder,
                interrupt: interrupt.clone(),
            };
            let followed = self.runtime.block_on(follower.carry_out(&group.manifests));
            if groups.take(group.index, &folder, followed).is_break() {
                break;
            }
        }
        groups.conclude(interrupt.is_cancelled())
    }
}
