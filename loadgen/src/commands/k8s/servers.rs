//! Turns targets of the user's project into servers that the cluster runs.

use std::collections::BTreeMap;

use rand::TryRng as _;
use rand::rngs::SysRng;

use super::backends::{self, BackendPod, Needs};
use crate::cli::K8sArgs;
use crate::experiment::contender::{Contender, Numbers, product};
use crate::experiment::job::{Job, Method};
use crate::experiment::run::Run;
use crate::experiment::subject::{Deployed, Server, Subject};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{OBSERVER_PORT, Ready, Role, ServerPods, Servers, Toleration};
use crate::lab::{CONTAINER_FOLDER, Observers, Ready as Check, Size, TargetSpec, start_limit};
use crate::record::{LimitsRecord, ServerRecord};
use crate::scenario::{Cpus, Limits, Memory};

/// Number of bytes of the observers' key.
const KEY_LENGTH: usize = 16;

/// Most servers of a run: their numbers have two digits in the names of what belongs to them.
const MOST: usize = 99;

/// Most characters of a target's name in the names of what belongs to it: names in a cluster have 63, and that of the run up
/// to 50 of them.
const LONGEST: usize = 4;

/// Returns the servers of a job: for the cluster, and for the manager. None for servers that run already.
pub(super) fn of(run: &Run, name: &str, args: &K8sArgs) -> Result<(Servers, Vec<Server>), Failure> {
    let job = &run.job;
    let Subject::Lab { home, targets, .. } = &job.subject else {
        return Ok((Servers::default(), Vec::new()));
    };
    check_run(run)?;
    let observer_key = random_key()?;
    let tolerations = args.target_toleration.iter().map(|text| super::toleration(text));
    let tolerations: Vec<Toleration> = tolerations.collect::<Result<_, _>>()?;
    let contenders = distinct(job, args);
    for contender in &contenders {
        check(&targets[contender.index])?;
    }
    let sizes = contenders.iter().map(|of| size(of, &targets[of.index]).connections());
    let needs = Needs {
        home,
        backends: &job.scenario.backends,
        existing: job.scenario.existing,
        connections: sizes.sum(),
        limits: job.runtime.backend_limits(),
    };
    let backends = backends::of(&needs, name, &observer_key, args, &tolerations)?;
    let (mut all, mut running) = (Vec::new(), Vec::new());
    for (number, contender) in (1..).zip(contenders) {
        let target = &targets[contender.index];
        let name = format!("{name}-{}-{number}", slug(&target.name));
        let asked = target.backends();
        let used: Vec<&BackendPod> =
            backends.iter().filter(|of| asked.contains(&of.deployed.backend)).collect();
        let mut pods = pods(job, &contender, target, name, &used);
        let requests = args.target_requests.iter();
        // A resource with a limit is requested as much, and no more could be.
        let requests = requests.filter(|(name, _)| !pods.limits.contains_key(name));
        pods.requests = requests.cloned().collect();
        pods.node_selector = args.target_node_selector.iter().cloned().collect();
        pods.tolerations.clone_from(&tolerations);
        running.push(server(&contender, target, &pods, &observer_key, &used));
        all.push(pods);
    }
    let all: Vec<ServerPods> = backends.into_iter().map(|of| of.pod).chain(all).collect();
    if all.len() > MOST {
        let message = format!("k8s: {} servers are more than {MOST}", all.len());
        return Err(Failure::message(
            Exit::Usage,
            "not_for_cluster",
            message,
            "compare fewer numbers in one run",
        ));
    }
    Ok((Servers { all, observer_key }, running))
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
    let refused = |what: &str, help: &str| {
        let message = format!("k8s: target \"{}\" {what}", target.name);
        Err(Failure::message(Exit::Usage, "not_for_cluster", message, help))
    };
    if target.entry.image.is_none() {
        return refused(
            "has no image, which the nodes of a cluster could pull",
            "add `image` to its table in loadgen.toml, with a registry that the nodes reach",
        );
    }
    if target.entry.port == OBSERVER_PORT {
        return refused(
            &format!("listens on {OBSERVER_PORT}, where loadgen answers beside it"),
            "choose another `port`",
        );
    }
    Ok(())
}

/// Returns the size of a target in the pods of a contender.
fn size(contender: &Contender, target: &TargetSpec) -> Size<'static> {
    let replicas = contender.replicas.or(target.entry.replicas);
    Size { replicas, ..Size::of_workers(contender.server_workers) }
}

fn pods(
    job: &Job,
    contender: &Contender,
    target: &TargetSpec,
    name: String,
    backends: &[&BackendPod],
) -> ServerPods {
    let entry = &target.entry;
    let limits = quantities(job.runtime.target_limits(contender.limits, entry.limits()));
    let over = backends
        .iter()
        .fold(target.clone(), |target, of| target.over(of.deployed.backend, &of.url));
    let size = size(contender, target);
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
        requests: BTreeMap::new(),
        limits,
        ready: match &entry.ready {
            Check::Path(path) => Ready::Path(path.clone()),
            Check::Grpc => Ready::Grpc,
            Check::Listens => Ready::Listens,
        },
        start_limit: start_limit(target, replicas),
        folder: target.needs_folder().then_some(CONTAINER_FOLDER),
        files: None,
        awaits: backends.iter().map(|of| of.pod.address()).collect(),
        beside: BTreeMap::new(),
        node_selector: BTreeMap::new(),
        tolerations: Vec::new(),
    }
}

/// Returns limits as a cluster takes them.
pub(super) fn quantities(limits: Limits) -> BTreeMap<String, String> {
    let cpus = limits.cpus.map(|cpus: Cpus| ("cpu".to_owned(), f64::from(cpus).to_string()));
    let memory =
        limits.memory.map(|memory: Memory| ("memory".to_owned(), memory.bytes().to_string()));
    cpus.into_iter().chain(memory).collect()
}

/// Returns the limits of a pod, for the record.
pub(super) fn record_of(pods: &ServerPods) -> LimitsRecord {
    let quantity = |name: &str| pods.limits.get(name);
    LimitsRecord {
        cpus: quantity("cpu").and_then(|cpus| cpus.parse().ok()),
        memory_bytes: quantity("memory").and_then(|bytes| bytes.parse().ok()),
    }
}

fn server(
    contender: &Contender,
    target: &TargetSpec,
    pods: &ServerPods,
    key: &str,
    backends: &[&BackendPod],
) -> Server {
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

pub(super) fn random_key() -> Result<String, Failure> {
    let mut bytes = [0; KEY_LENGTH];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| super::failed("make a key", &error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
