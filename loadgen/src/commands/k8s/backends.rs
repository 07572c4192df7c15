//! Turns the backends for which servers ask into servers that the cluster runs beside them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::servers::{quantities, random_key, record_of};
use crate::cli::K8sArgs;
use crate::commands::pod::REDIS_PORT;
use crate::experiment::subject::DeployedBackend;
use crate::failure::{Exit, Failure};
use crate::kubernetes::{Ready, Role, ServerPods, Toleration};
use crate::lab::{Contents, DATABASE, Home, Observers, TIMING, most_connections, url_at};
use crate::scenario::{Backend, Existing, Limits};

/// Time in which a backend must be up: PostgreSQL makes its rows before.
const START_LIMIT: Duration = Duration::from_secs(600);

/// Folder whose scripts the image of PostgreSQL carries out in a new database.
const INIT: &str = "/docker-entrypoint-initdb.d";

/// Folder and name of Redis's settings.
const SETTINGS: (&str, &str) = ("/run/loadgen", "redis.conf");

/// Largest script, in bytes: a Secret holds 1 MiB.
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

/// Needs of the servers of a run.
pub(super) struct Needs<'a> {
    /// Project of the servers.
    pub home: &'a Home,
    /// Backends for which they ask.
    pub backends: &'a [Backend],
    /// Data that the backends hold at the beginning.
    pub existing: Existing,
    /// Connections that all servers together may open.
    pub connections: u32,
    /// Limits of each backend.
    pub limits: Limits,
}

/// Returns the backends, whose names begin with that of the run.
pub(super) fn of(
    needs: &Needs<'_>,
    name: &str,
    observer_key: &str,
    args: &K8sArgs,
    tolerations: &[Toleration],
) -> Result<Vec<BackendPod>, Failure> {
    let images = images(args, needs.backends)?;
    if needs.backends.is_empty() {
        return check_unused(args, needs.limits).map(|()| Vec::new());
    }
    let all = needs.backends.iter().map(|&backend| {
        let contents = Contents::of(needs.home, backend, needs.existing)?;
        let password = random_key()?;
        let name = format!("{name}-{backend}");
        let limits = quantities(needs.limits);
        let mut pod = pod(backend, name, &contents, &password, needs.connections)?;
        pod.image.clone_from(&images[&backend]);
        pod.user = args.backend_user;
        let requests = args.backend_requests.iter();
        let requests = requests.filter(|(name, _)| !limits.contains_key(name));
        pod.requests = requests.cloned().collect();
        pod.limits = limits;
        pod.node_selector = args.backend_node_selector.iter().cloned().collect();
        pod.tolerations = tolerations.to_vec();
        let deployed = DeployedBackend {
            backend,
            observers: Observers {
                address: pod.observers(),
                key: observer_key.to_owned(),
                replicas: 1,
            },
            image: pod.image.clone(),
            limits: record_of(&pod),
        };
        let url = url_at(backend, &password, &pod.address());
        Ok(BackendPod { pod, deployed, url })
    });
    all.collect()
}

/// Refuses options of backends for servers that ask for none.
fn check_unused(args: &K8sArgs, limits: Limits) -> Result<(), Failure> {
    let given = [
        ("--backend-cpus", limits.cpus.is_some()),
        ("--backend-memory", limits.memory.is_some()),
        ("--backend-image", !args.backend_image.is_empty()),
        ("--backend-user", args.backend_user.is_some()),
        ("--backend-node-selector", !args.backend_node_selector.is_empty()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!(
                "{option}: no target of the run asks for a backend, with {{postgres}} or {{redis}}"
            );
            Err(Failure::message(Exit::Usage, "unused_option", message, "leave out the option"))
        }
    }
}

/// Returns the image of each backend.
fn images(args: &K8sArgs, used: &[Backend]) -> Result<BTreeMap<Backend, String>, Failure> {
    let mut all = BTreeMap::from([
        (Backend::Redis, "docker.io/library/redis:8".to_owned()),
        (Backend::Postgres, "docker.io/library/postgres:18".to_owned()),
    ]);
    for (name, image) in &args.backend_image {
        let known = Backend::ALL.into_iter().find(|backend| backend.to_string() == *name);
        match known {
            Some(backend) if used.is_empty() || used.contains(&backend) => {
                all.insert(backend, image.clone());
            }
            Some(backend) => {
                let message = format!("--backend-image {name}: no target asks for {backend}");
                let help = "leave it out";
                return Err(Failure::message(Exit::Usage, "unused_option", message, help));
            }
            None => {
                let message =
                    format!("--backend-image {name}: loadgen runs no backend of this name");
                let help = "name postgres or redis: --backend-image postgres=IMAGE";
                return Err(Failure::message(Exit::Usage, "unknown_backend", message, help));
            }
        }
    }
    Ok(all)
}

fn pod(
    backend: Backend,
    name: String,
    contents: &Contents,
    password: &str,
    connections: u32,
) -> Result<ServerPods, Failure> {
    let owned = |all: &[(&str, &str)]| {
        let all = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        all.collect::<BTreeMap<_, _>>()
    };
    let mut pod = ServerPods {
        role: Role::Backend,
        name,
        image: String::new(),
        words: Vec::new(),
        variables: BTreeMap::new(),
        port: 5_432,
        user: None,
        replicas: 1,
        requests: BTreeMap::new(),
        limits: BTreeMap::new(),
        ready: Ready::Listens,
        start_limit: START_LIMIT,
        folder: None,
        files: None,
        awaits: Vec::new(),
        beside: BTreeMap::new(),
        node_selector: BTreeMap::new(),
        tolerations: Vec::new(),
    };
    match backend {
        Backend::Postgres => {
            let settings = TIMING.map(str::to_owned).into_iter();
            let most = format!("max_connections={}", most_connections(connections));
            let settings = settings.chain([most]).flat_map(|of| ["-c".to_owned(), of]);
            pod.words = ["postgres".to_owned()].into_iter().chain(settings).collect();
            pod.variables = owned(&[
                ("POSTGRES_USER", DATABASE),
                ("POSTGRES_PASSWORD", password),
                ("POSTGRES_DB", DATABASE),
                ("POSTGRES_INITDB_ARGS", "--locale=C --encoding=UTF8"),
            ]);
            if let Contents::Postgres(script) = contents {
                pod.files = Some((INIT, owned(&[("loadgen.sql", check_size(script)?)])));
            }
        }
        Backend::Redis => {
            let (folder, file) = SETTINGS;
            pod.port = REDIS_PORT;
            pod.words = vec!["redis-server".to_owned(), format!("{folder}/{file}")];
            // As in the lab: without persistence.
            let settings = format!("requirepass {password}\nsave \"\"\nappendonly no\n");
            pod.files = Some((folder, owned(&[(file, &settings)])));
            let fill = serde_json::to_string(contents)
                .map_err(|error| super::failed("write what redis gets", &error.to_string()))?;
            pod.beside =
                owned(&[("LOADGEN_FILL", check_size(&fill)?), ("LOADGEN_FILL_PASSWORD", password)]);
        }
    }
    Ok(pod)
}

fn check_size(text: &str) -> Result<&str, Failure> {
    if text.len() <= LARGEST {
        return Ok(text);
    }
    let message = format!(
        "k8s: `init` of a backend has {} KB, and a Secret of the cluster holds 1 MiB",
        text.len() / 1_000
    );
    let help = "make the rows in the file instead of listing them, such as with generate_series";
    Err(Failure::message(Exit::Usage, "too_large_for_cluster", message, help))
}
