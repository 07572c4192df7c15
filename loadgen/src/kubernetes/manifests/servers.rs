//! Servers under test, and their backends, as a cluster runs them: a Deployment of N pods behind a Service, as users have
//! it.
//!
//! Beside each server runs loadgen itself, which tells the manager what the server uses: their pod shares its process
//! namespace. All servers are up for the whole run, and are loaded in turn.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::pod_template::{apart_from, no_mesh};
use super::{Manifests, RUN, SERVER_OF, Toleration, base64};

/// Port at which loadgen answers beside a server.
pub const OBSERVER_PORT: u16 = 7_448;

/// Name of a server's container.
pub(in crate::kubernetes) const SERVER: &str = "server";

/// Name of loadgen's container beside it.
pub(in crate::kubernetes) const OBSERVER: &str = "observer";

/// Label that names a server.
const NAME: &str = "loadgen/server";

/// Label of a Job that has servers.
pub(in crate::kubernetes) const SERVERS: &str = "loadgen/servers";

/// Key of the observer's key in a server's Secret. No variable can have this name.
pub(super) const KEY: &str = "loadgen.observer-key";

/// Key of the password with which loadgen fills a backend.
pub(super) const FILL_PASSWORD: &str = "loadgen.fill-password";

/// Name of the container that waits for backends.
pub(in crate::kubernetes) const AWAIT: &str = "await";

/// Check that a server must pass before it is ready. There is none later, which would be a load of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// `GET` of this path is answered with a 2xx or 3xx status.
    Path(String),
    /// The health service of gRPC reports that it serves.
    Grpc,
    /// It accepts connections.
    Listens,
}

/// Part of a server in the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is under test.
    Target,
    /// Targets ask it.
    Backend,
}

/// A server under test, or a backend.
#[derive(Debug, Clone)]
pub struct ServerPods {
    /// Its part in the test.
    pub role: Role,
    /// Name of its Deployment, its Service and its Secret.
    pub name: String,
    /// Container image.
    pub image: String,
    /// Words after the program of the image; empty for the image's own.
    pub words: Vec<String>,
    /// Variables of its environment, which may be secret.
    pub variables: BTreeMap<String, String>,
    /// Port on which it listens.
    pub port: u16,
    /// User as whom it runs; `None` for that of the image.
    pub user: Option<u32>,
    /// Number of pods.
    pub replicas: u32,
    /// Check that it must pass before it is ready.
    pub ready: Ready,
    /// Time in which it must become ready.
    pub start_limit: Duration,
    /// Path of an empty folder in its container; `None` if it needs none.
    pub folder: Option<&'static str>,
    /// Files of its container, which may be secret; `None` without files.
    pub files: Option<Files>,
    /// Filling by loadgen beside it; `None` for a server that needs none.
    pub fill: Option<Fill>,
    /// Addresses that must accept connections before it starts.
    pub awaits: Vec<String>,
    /// Where its pods run, and what they get.
    pub placing: Placing,
}

/// Files in a folder of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Path of the folder.
    pub folder: &'static str,
    /// Texts, by the name of the file.
    pub texts: BTreeMap<String, String>,
}

/// Data that loadgen gives a backend before anybody asks the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Name of the file that describes the data.
    pub file: &'static str,
    /// Password of the backend.
    pub password: String,
}

/// Where the pods of a server run, and what they get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placing {
    /// CPU and memory that no pod exceeds.
    pub limits: BTreeMap<String, String>,
    /// CPU, memory and others that each pod gets.
    pub requests: BTreeMap<String, String>,
    /// Labels of the nodes.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that these nodes may have.
    pub tolerations: Vec<Toleration>,
}

impl Placing {
    /// Leaves out the requests of resources with a limit: these are requested as much, and no more could be.
    pub fn new(
        limits: BTreeMap<String, String>,
        requests: &[(String, String)],
        node_selector: &[(String, String)],
        tolerations: &[Toleration],
    ) -> Self {
        let requests = requests.iter().filter(|(name, _)| !limits.contains_key(name));
        Self {
            requests: requests.cloned().collect(),
            node_selector: node_selector.iter().cloned().collect(),
            tolerations: tolerations.to_vec(),
            limits,
        }
    }
}

/// The servers of a run, and all that they have in common.
#[derive(Debug, Clone, Default)]
pub struct Servers {
    /// The servers.
    pub all: Vec<ServerPods>,
    /// Key without which nobody is told what they use.
    pub observer_key: String,
}

impl ServerPods {
    /// Returns the host and port of the server in its namespace.
    pub fn address(&self) -> String {
        format!("{}:{}", self.name, self.port)
    }

    /// Returns where its pods are observed.
    pub fn observers(&self) -> String {
        format!("{}:{OBSERVER_PORT}", self.observers_name())
    }

    fn observers_name(&self) -> String {
        format!("{}-obs", self.name)
    }
}

impl Manifests {
    /// Returns what the servers of the run need.
    pub fn servers(&self) -> Vec<Value> {
        let of = |server| {
            let all = [self.secret_of(server), self.service_of(server), self.observers_of(server)];
            all.into_iter().chain([self.deployment_of(server)])
        };
        self.servers.all.iter().flat_map(of).collect()
    }

    fn metadata_of(&self, server: &ServerPods, name: &str) -> Value {
        let mut metadata = self.metadata();
        metadata["name"] = json!(name);
        metadata["labels"][SERVER_OF] = json!(self.id);
        metadata["labels"][NAME] = json!(server.name);
        metadata
    }

    /// Labels of a server's pods. They lack that of the run's own pods, to which the manager's Service leads.
    fn pod_labels(&self, server: &ServerPods) -> Value {
        json!({
            "app.kubernetes.io/name": match server.role {
                Role::Target => "loadgen-target",
                Role::Backend => "loadgen-backend",
            },
            "app.kubernetes.io/instance": self.pods.name,
            SERVER_OF: self.id,
            NAME: server.name,
        })
    }

    fn secret_of(&self, server: &ServerPods) -> Value {
        let files = server.files.iter().flat_map(|files| &files.texts);
        let all = server.variables.iter().chain(files);
        let all = all.map(|(name, value)| (name.as_str(), value));
        let password = server.fill.iter().map(|fill| (FILL_PASSWORD, &fill.password));
        let all = all.chain([(KEY, &self.servers.observer_key)]).chain(password);
        let data: BTreeMap<&str, String> =
            all.map(|(name, value)| (name, base64(value.as_bytes()))).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata_of(server, &server.name),
            "type": "Opaque",
            "immutable": true,
            "data": data,
        })
    }

    /// The Service through which the load comes: its address is one, and each connection goes to one of the pods.
    fn service_of(&self, server: &ServerPods) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata_of(server, &server.name),
            "spec": {
                "selector": {SERVER_OF: self.id, NAME: server.name},
                "ports": [{"name": "load", "port": server.port}],
            },
        })
    }

    /// The Service whose name has the addresses of all pods that are ready.
    fn observers_of(&self, server: &ServerPods) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata_of(server, &server.observers_name()),
            "spec": {
                "clusterIP": "None",
                "selector": {SERVER_OF: self.id, NAME: server.name},
                "ports": [{"name": "observer", "port": OBSERVER_PORT}],
            },
        })
    }

    fn deployment_of(&self, server: &ServerPods) -> Value {
        let mut spec = json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // Beside the server, loadgen sees its processes.
            "shareProcessNamespace": true,
            "terminationGracePeriodSeconds": 10,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "affinity": match server.role {
                Role::Target => apart_from(&[(RUN, &self.id, 100)]),
                // Other servers than itself: it has one pod.
                Role::Backend => apart_from(&[(RUN, &self.id, 100), (SERVER_OF, &self.id, 100)]),
            },
            "containers": [self.server_container(server), self.observer(server)],
        });
        let mut volumes = Vec::new();
        if server.folder.is_some() {
            volumes.push(json!({"name": "folder", "emptyDir": {"medium": "Memory"}}));
        }
        if let Some(files) = &server.files {
            let items = files.texts.keys().map(|name| json!({"key": name, "path": name}));
            volumes.push(json!({"name": "files", "secret": {
                "secretName": server.name, "items": items.collect::<Vec<_>>(),
            }}));
        }
        if !volumes.is_empty() {
            spec["volumes"] = json!(volumes);
        }
        if !server.awaits.is_empty() {
            spec["initContainers"] = json!([self.waiting(server)]);
        }
        if !self.pods.pull_secrets.is_empty() {
            let names = self.pods.pull_secrets.iter().map(|name| json!({"name": name}));
            spec["imagePullSecrets"] = names.collect();
        }
        let Placing { node_selector, tolerations, .. } = &server.placing;
        if !node_selector.is_empty() {
            spec["nodeSelector"] = json!(node_selector);
        }
        if !tolerations.is_empty() {
            spec["tolerations"] = tolerations.iter().map(Toleration::manifest).collect();
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self.metadata_of(server, &server.name),
            "spec": {
                "replicas": server.replicas,
                "revisionHistoryLimit": 0,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {SERVER_OF: self.id, NAME: server.name}},
                "template": {
                    "metadata": {"labels": self.pod_labels(server), "annotations": no_mesh()},
                    "spec": spec,
                },
            },
        })
    }
}
