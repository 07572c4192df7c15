//! Turns targets of the user's project into servers that the cluster runs.

use std::collections::BTreeMap;

use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::cli::K8sArgs;
use crate::experiment::contender::{Contender, Numbers, product};
use crate::experiment::job::{Job, Method};
use crate::experiment::run::Run;
use crate::experiment::subject::{Deployed, Server, Subject};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{OBSERVER_PORT, Ready, ServerPods, Servers};
use crate::lab::{CONTAINER_FOLDER, Observers, Ready as Check, TargetSpec, start_limit};
use crate::record::{LimitsRecord, ServerRecord};
use crate::scenario::{Cpus, Memory};

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
    let Subject::Lab { targets, .. } = &job.subject else {
        return Ok((Servers::default(), Vec::new()));
    };
    check_run(run)?;
    let observer_key = random_key()?;
    let (mut all, mut running) = (Vec::new(), Vec::new());
    for (number, contender) in (1..).zip(distinct(job, args)) {
        let target = &targets[contender.index];
        check(target)?;
        let name = format!("{name}-{}-{number}", slug(&target.name));
        let pods = pods(job, &contender, target, name, &args.target_requests);
        running.push(server(&contender, target, &pods, &observer_key));
        all.push(pods);
    }
    if all.len() > MOST {
        let message = format!("k8s: {} servers are more than {MOST}", all.len());
        return Err(Failure::message(
            Exit::Usage,
            "not_for_cluster",
            message,
            "compare fewer numbers in one run",
        ));
    }
    let tolerations = args.target_toleration.iter().map(|text| super::toleration(text));
    let servers = Servers {
        all,
        observer_key,
        node_selector: args.target_node_selector.iter().cloned().collect(),
        tolerations: tolerations.collect::<Result<_, _>>()?,
    };
    Ok((servers, running))
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
    if let Some(backend) = target.backends().first() {
        return refused(
            &format!("asks for the URL of {backend}, but loadgen runs no backends in a cluster"),
            &format!(
                "write the URL of a {backend} that the cluster runs, instead of {{{backend}}}"
            ),
        );
    }
    Ok(())
}

fn pods(
    job: &Job,
    contender: &Contender,
    target: &TargetSpec,
    name: String,
    requests: &[(String, String)],
) -> ServerPods {
    let entry = &target.entry;
    let limits = job.runtime.target_limits(contender.limits, entry.limits());
    let cpus = limits.cpus.map(|cpus: Cpus| ("cpu".to_owned(), f64::from(cpus).to_string()));
    let memory =
        limits.memory.map(|memory: Memory| ("memory".to_owned(), memory.bytes().to_string()));
    let limits: BTreeMap<String, String> = cpus.into_iter().chain(memory).collect();
    // No pool of connections: loadgen runs no backends in a cluster.
    let (words, variables) = target.clone().running_in(CONTAINER_FOLDER).filled(
        "0.0.0.0",
        entry.port,
        contender.server_workers,
        1,
    );
    let replicas = contender.replicas.or(entry.replicas).unwrap_or(1);
    ServerPods {
        name,
        image: entry.image.clone().unwrap_or_default(),
        words,
        variables,
        port: entry.port,
        user: entry.user,
        replicas,
        // A resource with a limit is requested as much, and no more could be.
        requests: requests.iter().filter(|(name, _)| !limits.contains_key(name)).cloned().collect(),
        limits,
        ready: match &entry.ready {
            Check::Path(path) => Ready::Path(path.clone()),
            Check::Grpc => Ready::Grpc,
            Check::Listens => Ready::Listens,
        },
        start_limit: start_limit(target, replicas),
        folder: target.needs_folder().then_some(CONTAINER_FOLDER),
    }
}

fn server(contender: &Contender, target: &TargetSpec, pods: &ServerPods, key: &str) -> Server {
    let entry = &target.entry;
    let quantity = |name: &str| pods.limits.get(name);
    Server {
        name: contender.name.clone(),
        url: pods.url(),
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
            limits: LimitsRecord {
                cpus: quantity("cpu").and_then(|cpus| cpus.parse().ok()),
                memory_bytes: quantity("memory").and_then(|bytes| bytes.parse().ok()),
            },
        }),
    }
}

/// Returns the beginning of a target's name as names in a cluster are written.
fn slug(name: &str) -> String {
    let small = name.to_ascii_lowercase();
    let letters = small.chars().filter(char::is_ascii_alphanumeric);
    letters.take(LONGEST).collect()
}

fn random_key() -> Result<String, Failure> {
    let mut bytes = [0; KEY_LENGTH];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| super::failed("make a key", &error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
