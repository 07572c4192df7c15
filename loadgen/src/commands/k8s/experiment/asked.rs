//! Reads what the command line asks for: the experiment, the images of its targets, and the CPUs of the cluster.

use std::collections::BTreeSet;

use tokio::runtime::Runtime as Tokio;

use crate::cli::{K8sExperimentArgs, K8sPodArgs};
use crate::commands::experiment::jobs::{self, Settings, Targets};
use crate::commands::experiment::{check_quick, leave_out_groups};
use crate::commands::k8s::backends;
use crate::commands::k8s::common::Common;
use crate::commands::k8s::images::Images;
use crate::commands::k8s::servers;
use crate::commands::k8s::tolerations;
use crate::commands::options::runtime::in_cluster;
use crate::experiment::experiments::find;
use crate::experiment::job::random_seed;
use crate::experiment::published::{LeftOut, Published, TargetCpus};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{Kubectl, KubernetesError, cpus_of_nodes};
use crate::lab::{Home, Manifest, Runtime};
use crate::scenario::experiment::{Arm, ExperimentFile};
use crate::text::say;

/// Reason for which no group that searches is measured.
const NO_SEARCH: &str = "searches for capacities, for each of which loadgen starts the server anew, which it does not in a cluster";

/// Reason for which a group whose arms have unlike data is not measured.
const UNLIKE_DATA: &str = "arms of its group begin with different data, but all servers of a group share one copy in a cluster";

/// The experiment that the command line asks for, with its options.
pub(super) struct Asked<'a> {
    args: &'a K8sExperimentArgs,
    file: ExperimentFile,
    home: Home,
    manifest: Manifest,
    /// Images of the targets.
    pub images: Images,
    /// Runtime of the targets: the pods of the cluster.
    pub runtime: Runtime,
    /// Seed of all groups.
    pub seed: u64,
    cpus: TargetCpus,
}

impl<'a> Asked<'a> {
    /// Reads the experiment, and asks the cluster for the CPUs of its nodes if the experiment needs to know.
    pub fn of(
        args: &'a K8sExperimentArgs,
        kubectl: &Kubectl,
        tokio: &Tokio,
    ) -> Result<Self, Failure> {
        let of = &args.experiment;
        let home = Home::find()?;
        let manifest = Manifest::of(&home)?;
        let file = find(&of.experiment, Some(&manifest.names()))?;
        check_quick(&file, of.quick)?;
        let runtime = in_cluster(of.measuring.runtime)?;
        let used = |name: &str| arms(&file).any(|arm| arm.target == name);
        let targets = manifest.targets().iter().filter(|target| used(&target.name));
        let images = Images::read(&args.pods.target_image, &home, targets)?;
        let mut asked = BTreeSet::new();
        for arm in arms(&file) {
            let target = manifest.target(&arm.target)?.clone();
            asked.extend(images.put(target, &arm.scenario.backends).backends());
        }
        backends::check(&args.pods, runtime.backend_limits(), &asked)?;
        let runtime = runtime.with_backend_limits(file.backend_limits);
        let seed = of.measuring.seed.map_or_else(random_seed, Ok)?;
        let cpus = TargetCpus(match needs_cpus(&file) {
            true => tokio.block_on(cpus(args, kubectl))?,
            false => None,
        });
        Ok(Self { args, file, home, manifest, images, runtime, seed, cpus })
    }

    /// Returns what the servers of a group have in common, in the run of this name.
    pub fn common<'b>(
        &'b self,
        group: usize,
        name: &'b str,
        args: &'b K8sPodArgs,
    ) -> Result<Common<'b>, Failure> {
        // Groups whose arms differ in it are left out.
        let first = self.file.groups[group].arms.first();
        let existing = first.map(|arm| arm.scenario.existing).unwrap_or_default();
        Common::new(&self.home, self.runtime, existing, name, args)
    }

    /// Returns the experiment in its `quick` or its full form. It has no jobs if the cluster can run none of its targets.
    pub fn published(&self, quick: bool) -> Result<Published, Failure> {
        let Self { args, file, manifest, .. } = self;
        let of = &args.experiment;
        let mut left_out = LeftOut::default();
        for (index, group) in file.groups.iter().enumerate() {
            let existing = group.arms.first().map(|arm| arm.scenario.existing);
            let differ = group.arms.iter().any(|arm| Some(arm.scenario.existing) != existing);
            for arm in &group.arms {
                let target = manifest.target(&arm.target)?.clone();
                let target = self.images.put(target, &arm.scenario.backends);
                let lack = servers::lack(&target).map(|lack| lack.what);
                let search = group.capacity(quick).map(|_| NO_SEARCH.to_owned());
                let data = differ.then(|| UNLIKE_DATA.to_owned());
                if let Some(why) = search.or(lack).or(data) {
                    left_out.add(index, &arm.name, why);
                }
            }
        }
        self.cpus.leave_out(file, &mut left_out);
        leave_out_groups(file, quick, &mut left_out);
        let settings = Settings {
            seed: self.seed,
            ..Settings::of(&of.measuring, self.runtime, of.rounds, quick)?
        };
        let (home, manifest) = (self.home.clone(), Box::new(manifest.clone()));
        let targets = Targets::Lab { home, manifest };
        jobs::published(file.clone(), &targets, &settings, left_out, self.cpus)
    }
}

fn arms(file: &ExperimentFile) -> impl Iterator<Item = &Arm> {
    file.groups.iter().flat_map(|group| &group.arms)
}

/// Returns whether arms or claims need CPUs.
fn needs_cpus(file: &ExperimentFile) -> bool {
    let of_claims = file.claims.iter().map(|claim| claim.needs_cpus);
    arms(file).map(|arm| arm.needs_cpus).chain(of_claims).any(|cpus| cpus > 0)
}

/// Returns the CPUs of the nodes on which servers may run; `None`, with a note, if the user may not know them.
async fn cpus(args: &K8sExperimentArgs, kubectl: &Kubectl) -> Result<Option<u32>, Failure> {
    let selector = args.pods.target_node_selector.iter().cloned().collect();
    let tolerations = tolerations(&args.pods.target_toleration)?;
    let cpus = cpus_of_nodes(kubectl, &selector, &tolerations).await;
    let cpus = cpus.map_err(Failure::with::<KubernetesError>(Exit::Failed))?;
    if cpus.is_none() {
        say(
            "note: the cluster does not tell you the CPUs of its nodes (`kubectl get nodes`): all arms are measured, also \
             those that need more CPUs than the nodes may have",
        );
    }
    Ok(cpus)
}
