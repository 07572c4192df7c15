//! Turns targets of the user's project into servers that the cluster runs.

use std::collections::BTreeMap;

use super::backends::{self, BackendPod};
use super::common::{Common, quantities, record_of};
use super::images::Images;
use crate::cli::K8sArgs;
use crate::experiment::contender::{Contender, Numbers, product};
use crate::experiment::job::{Job, Method};
use crate::experiment::run::Run;
use crate::experiment::subject::{Deployed, Server, Subject};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{OBSERVER_PORT, Placing, Ready, Role, ServerPods, Servers};
use crate::lab::{CONTAINER_FOLDER, Observers, Ready as Check, Size, TargetSpec, start_limit};
use crate::record::ServerRecord;
use crate::scenario::Backend;

/// Most servers of a run: their numbers have two digits in the names of what belongs to them.
const MOST: usize = 99;

/// Most characters of a target's name in the names of what belongs to it: names in a cluster have 63, and that of the run up
/// to 50 of them.
const LONGEST: usize = 4;

/// A server that the cluster runs: a target under conditions in which more than the load differs from those of others.
pub(super) struct Wanted {
    /// The conditions, with a name that no other server of the run has.
    pub contender: Contender,
    /// The target, with its image.
    pub target: TargetSpec,
}

impl Wanted {
    /// Returns whether one server can be both this and the other.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let of = |wanted: &Self| {
            let Contender { server_workers, replicas, limits, .. } = wanted.contender;
            (server_workers, replicas, limits)
        };
        of(self) == of(other) && self.target == other.target
    }

    /// Returns the size of the target in all of its pods.
    fn size(&self) -> Size<'static> {
        let replicas = self.contender.replicas.or(self.target.entry.replicas);
        Size { replicas, ..Size::of_workers(self.contender.server_workers) }
    }
}

/// Returns the servers of a run: for the cluster, and for the manager. None for servers that run already.
pub(super) fn of(run: &Run, name: &str, args: &K8sArgs) -> Result<(Servers, Vec<Server>), Failure> {
    let job = &run.job;
    let Subject::Lab { home, targets, .. } = &job.subject else {
        return Ok((Servers::default(), Vec::new()));
    };
    check_run(run)?;
    let images = Images::read(&args.pods.target_image, home, targets.iter())?;
    let backends = &job.scenario.backends;
    let wanted = distinct(job, args).into_iter().map(|contender| {
        let target = images.put(targets[contender.index].clone(), backends);
        Wanted { contender, target }
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let asked = wanted.iter().flat_map(|of| of.target.backends()).collect();
    backends::check(&args.pods, job.runtime.backend_limits(), &asked)?;
    let existing = job.scenario.existing;
    build(&wanted, &Common::new(home, job.runtime, existing, name, &args.pods)?)
}

/// Returns these servers, and the backends for which they ask: for the cluster, and for the manager, in the order of the
/// servers.
pub(super) fn build(
    wanted: &[Wanted],
    common: &Common<'_>,
) -> Result<(Servers, Vec<Server>), Failure> {
    wanted.iter().try_for_each(|of| check(&of.target))?;
    if wanted.len() > MOST {
        let message = format!("k8s: {} servers are more than {MOST}", wanted.len());
        let help = "compare fewer numbers in one run";
        return Err(Failure::message(Exit::Usage, "not_for_cluster", message, help));
    }
    let asks = |backend: &Backend| wanted.iter().any(|of| of.target.backends().contains(backend));
    let asked: Vec<Backend> = Backend::ALL.into_iter().filter(asks).collect();
    // All servers are up at the same time.
    let connections = wanted.iter().map(|of| of.size().connections()).sum();
    let backends = backends::of(&asked, connections, common)?;
    let (mut all, mut running) = (Vec::new(), Vec::new());
    for (number, of) in (1..).zip(wanted) {
        let name = format!("{}-{}-{number}", common.name, slug(&of.target.name));
        let own = of.target.backends();
        let used: Vec<&BackendPod> =
            backends.iter().filter(|it| own.contains(&it.deployed.backend)).collect();
        let pods = pods(of, name, &used, common);
        running.push(server(of, &pods, &common.observer_key, &used));
        all.push(pods);
    }
    let all = backends.into_iter().map(|of| of.pod).chain(all).collect();
    Ok((Servers { all, observer_key: common.observer_key.clone() }, running))
}

/// Returns the contenders that differ in more than their users, with names that say in what.
fn distinct(job: &Job, args: &K8sArgs) -> Vec<Contender> {
    let numbers = Numbers {
        server_workers: args.run.server_workers.clone(),
        replicas: args.run.replicas.clone(),
        users: vec![1],
    };
    product(&job.subject.names(false), &numbers)
}

/// Refuses ways to decide on rounds that need starts of their own: all rounds share the one start of the pods.
fn check_run(run: &Run) -> Result<(), Failure> {
    let given = [
        ("--precision", run.precision.is_some()),
        ("--slices", matches!(run.job.method, Method::Slices(_))),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!(
                "{option}: all rounds in a cluster share one start of each server, so that more of them do not tell its \
                 luck"
            );
            Err(Failure::conflict(
                message,
                "leave it out, and run twice to see the difference of two starts",
            ))
        }
    }
}

fn check(target: &TargetSpec) -> Result<(), Failure> {
    let Some(Lack { what, help }) = lack(target) else { return Ok(()) };
    let message = format!("k8s: target \"{}\" {what}", target.name);
    Err(Failure::message(Exit::Usage, "not_for_cluster", message, &help))
}

/// Why a cluster cannot run a target.
pub(super) struct Lack {
    /// The reason, whose subject is the target.
    pub what: String,
    /// Advice.
    pub help: String,
}

/// Returns why the cluster cannot run this target; `None` if it can.
pub(super) fn lack(target: &TargetSpec) -> Option<Lack> {
    let lack = |what: String, help: String| Some(Lack { what, help });
    if target.entry.image.is_none() {
        return lack(
            format!("has no image: --target-image {}=IMAGE", target.name),
            "name the image as nodes pull it, with that option or as `image` in its table of loadgen.toml".to_owned(),
        );
    }
    if !target.entry.upstreams.is_empty() {
        return lack(
            "sends requests to other targets, which loadgen does not run beside it in a cluster"
                .to_owned(),
            "measure it with --runtime podman".to_owned(),
        );
    }
    if target.entry.port == OBSERVER_PORT {
        return lack(
            format!("listens on {OBSERVER_PORT}, where loadgen answers beside it"),
            "choose another `port`".to_owned(),
        );
    }
    None
}

fn pods(of: &Wanted, name: String, backends: &[&BackendPod], common: &Common<'_>) -> ServerPods {
    let Wanted { contender, target, .. } = of;
    let (entry, size, args) = (&target.entry, of.size(), common.args);
    let limits = quantities(common.runtime.target_limits(contender.limits, entry.limits()));
    let over = backends
        .iter()
        .fold(target.clone(), |target, of| target.over(of.deployed.backend, &of.url));
    let (words, variables) = over.running_in(CONTAINER_FOLDER).filled(
        "0.0.0.0",
        entry.port,
        size.workers,
        size.pool_size(),
    );
    let replicas = size.replicas.unwrap_or(1);
    ServerPods {
        role: Role::Target,
        name,
        image: entry.image.clone().unwrap_or_default(),
        words,
        variables,
        port: entry.port,
        user: entry.user,
        replicas,
        ready: match &entry.ready {
            Check::Path(path) => Ready::Path(path.clone()),
            Check::Grpc => Ready::Grpc,
            Check::Listens => Ready::Listens,
        },
        start_limit: start_limit(target, replicas),
        folder: target.needs_folder().then_some(CONTAINER_FOLDER),
        files: None,
        fill: None,
        awaits: backends.iter().map(|of| of.pod.address()).collect(),
        placing: Placing::new(
            limits,
            &args.target_requests,
            &args.target_node_selector,
            &common.tolerations,
        ),
    }
}

fn server(of: &Wanted, pods: &ServerPods, key: &str, backends: &[&BackendPod]) -> Server {
    let Wanted { contender, target, .. } = of;
    let entry = &target.entry;
    Server {
        name: contender.name.clone(),
        url: format!("http://{}", pods.address()),
        deployed: Some(Deployed {
            observers: Observers {
                address: pods.observers(),
                key: key.to_owned(),
                replicas: pods.replicas,
            },
            target: target.name.clone(),
            image: pods.image.clone(),
            server: ServerRecord {
                framework: entry.framework.clone(),
                server: entry.server.clone(),
                language: entry.language.clone(),
                workers: contender.server_workers,
                replicas: Some(pods.replicas),
                packages: BTreeMap::new(),
                differs: entry.differs.clone(),
                git: None,
            },
            limits: record_of(pods),
            backends: backends.iter().map(|of| of.deployed.clone()).collect(),
        }),
    }
}

/// Returns the beginning of a target's name as names in a cluster are written.
fn slug(name: &str) -> String {
    let small = name.to_ascii_lowercase();
    let letters = small.chars().filter(char::is_ascii_alphanumeric);
    letters.take(LONGEST).collect()
}
