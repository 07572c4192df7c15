//! Turns the backends for which servers ask into servers that the cluster runs beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::common::{Common, quantities, random_key, record_of};
use crate::cli::K8sPodArgs;
use crate::experiment::subject::DeployedBackend;
use crate::failure::{Exit, Failure};
use crate::kubernetes::{Files, Fill, Placing, Ready, Role, ServerPods};
use crate::lab::{BackendImage, Manifest, Observers, url_at};
use crate::scenario::{Backend, Limits};

/// Time in which a backend must be up: PostgreSQL makes its rows before.
const START_LIMIT: Duration = Duration::from_secs(600);

/// Largest text of a file, in bytes: a Secret holds 1 MiB.
const LARGEST: usize = 1_000_000;

/// A backend of a run.
pub(super) struct BackendPod {
    /// As the cluster runs it.
    pub pod: ServerPods,
    /// As the manager finds it.
    pub deployed: DeployedBackend,
    /// Its URL, for servers.
    pub url: String,
}

/// Returns the backends for which the servers of a run ask. `connections` is the number that all servers together may open
/// to each.
pub(super) fn of(
    asked: &[Backend],
    connections: u32,
    common: &Common<'_>,
) -> Result<Vec<BackendPod>, Failure> {
    let images = images(common.args)?;
    let all = asked.iter().map(|&backend| {
        let password = random_key()?;
        let pod = ServerPods {
            image: images[&backend].clone(),
            ..pod(backend, connections, &password, common)?
        };
        let deployed = DeployedBackend {
            backend,
            observers: Observers {
                address: pod.observers(),
                key: common.observer_key.clone(),
                replicas: pod.replicas,
            },
            image: pod.image.clone(),
            limits: record_of(&pod),
        };
        let url = url_at(backend, &password, &pod.address());
        Ok(BackendPod { pod, deployed, url })
    });
    all.collect()
}

/// Returns the first option of backends that was given.
pub(super) fn options(args: &K8sPodArgs) -> Option<&'static str> {
    let given = [
        ("--backend-image", !args.backend_image.is_empty()),
        ("--backend-user", args.backend_user.is_some()),
        ("--backend-node-selector", !args.backend_node_selector.is_empty()),
    ];
    given.into_iter().find_map(|(option, given)| given.then_some(option))
}

/// Refuses options for backends for which no target asks. `limits` are those of the command line.
pub(super) fn check(
    args: &K8sPodArgs,
    limits: Limits,
    asked: &BTreeSet<Backend>,
) -> Result<(), Failure> {
    let unused = |message: String| {
        let help = "leave out the option, or give a target the URL: env = { DATABASE_URL = \"{postgres}\" }";
        Err(Failure::message(Exit::Usage, "unused_option", message, help))
    };
    let limits = (limits != Limits::default()).then_some("--backend-cpus and --backend-memory");
    if let (Some(option), true) = (options(args).or(limits), asked.is_empty()) {
        return unused(format!("{option}: no target asks for a backend"));
    }
    images(args)?;
    let names = args.backend_image.iter().map(|(name, _)| name);
    let mut idle = names.filter(|name| !asked.iter().any(|backend| backend.to_string() == **name));
    match idle.next() {
        Some(name) => unused(format!("--backend-image {name}: no target asks for {name}")),
        None => Ok(()),
    }
}

/// Returns the image of each backend.
fn images(args: &K8sPodArgs) -> Result<BTreeMap<Backend, String>, Failure> {
    let all = Backend::ALL.map(|backend| (backend, BackendImage::public(backend).to_owned()));
    let mut all = BTreeMap::from(all);
    for (name, image) in &args.backend_image {
        let known = Backend::ALL.into_iter().find(|backend| backend.to_string() == *name);
        let Some(backend) = known else {
            let message = format!("--backend-image {name}: loadgen runs no backend of this name");
            let help = "name postgres or redis: --backend-image postgres=IMAGE";
            return Err(Failure::message(Exit::Usage, "unknown_backend", message, help));
        };
        all.insert(backend, image.clone());
    }
    Ok(all)
}

/// Returns a backend without its image.
fn pod(
    backend: Backend,
    connections: u32,
    password: &str,
    common: &Common<'_>,
) -> Result<ServerPods, Failure> {
    refuse_command(backend, common)?;
    let Common { home, existing, name, args, .. } = *common;
    let BackendImage { words, variables, port, folder, texts, fill } =
        BackendImage::of(home, backend, existing, password, connections)?;
    if let Some(text) = texts.values().find(|text| text.len() > LARGEST) {
        let size = text.len() / 1_000;
        let message = format!(
            "k8s: {backend} would get a file of {size} KB, and a Secret of the cluster holds 1 MiB"
        );
        let help = "make rows in `init` instead of listing them, such as with generate_series";
        return Err(Failure::message(Exit::Usage, "too_large_for_cluster", message, help));
    }
    Ok(ServerPods {
        role: Role::Backend,
        name: format!("{name}-{backend}"),
        image: String::new(),
        words,
        variables,
        port,
        user: args.backend_user,
        replicas: 1,
        ready: Ready::Listens,
        start_limit: START_LIMIT,
        folder: None,
        files: Some(Files { folder, texts }),
        fill: fill.map(|file| Fill { file, password: password.to_owned() }),
        awaits: Vec::new(),
        placing: Placing::new(
            quantities(common.runtime.backend_limits()),
            &args.backend_requests,
            &args.backend_node_selector,
            &common.tolerations,
        ),
    })
}

/// Refuses a backend that only a command of the user's fills.
fn refuse_command(backend: Backend, common: &Common<'_>) -> Result<(), Failure> {
    if Manifest::of(common.home)?.init(backend).fill.is_none() {
        return Ok(());
    }
    let message = format!(
        "k8s: `fill` of [backend.{backend}] runs a command on this machine, from which the backend in the cluster cannot \
         be reached"
    );
    let help = format!("write what it does into a file: [backend.{backend}] init = \"FILE\"");
    Err(Failure::message(Exit::Usage, "not_for_cluster", message, &help))
}
