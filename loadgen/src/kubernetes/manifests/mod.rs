//! What a cluster is asked for, as manifests for Kubernetes 1.33 and later.
//!
//! An Indexed Job (GA in 1.24) gives each pod a number and a host name. Success policy and a limit of failures for each
//! index (GA in 1.33) make the manager's end the end of the Job, and start no pod a second time: a load that begins
//! again is another test.

mod pod_template;
mod server_containers;
mod servers;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use self::pod_template::{Pods, Toleration};
pub(super) use self::servers::{AWAIT, OBSERVER, SERVER, SERVERS};
pub use self::servers::{Files, Fill, OBSERVER_PORT, Placing, Ready, Role, ServerPods, Servers};

/// Variable in which the controller of Jobs tells a pod its number. It is known in the words of a command, but not in
/// other variables, because the controller appends it to them.
pub const INDEX: &str = "$(JOB_COMPLETION_INDEX)";

/// Port at which the manager listens in its pod.
pub const MANAGER_PORT: u16 = 7_447;

/// File of what the pod joins its run with: the authority of the manager, the join document of a worker.
pub const JOIN: &str = "/run/loadgen/join";

/// File of what is loaded.
pub const SCENARIO: &str = "/run/loadgen/scenario";

/// Folder of the run in the manager's pod.
pub const RESULT: &str = "/tmp/result";

/// Key of what is loaded in the Secret. The others are the numbers of the pods.
const SCENARIO_KEY: &str = "scenario";

/// Exit codes of a manager that fails.
const FAILED: [u8; 6] = [1, 2, 3, 4, 5, 130];

/// Exit code of a worker that fails, which is none of these: the manager then tells of its loss.
pub const WORKER_FAILED: u8 = 70;

/// Most bytes in a Secret.
const SECRET_LIMIT: usize = 1 << 20;

/// Label of all that belongs to a run.
pub(super) const RUN: &str = "loadgen/run";

/// Label of all that belongs to the servers of a run.
pub(super) const SERVER_OF: &str = "loadgen/server-of";

/// A run in a cluster.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// Random text, by which all that belongs to the run is found.
    pub id: String,
    /// Namespace; `None` for that of `kubectl`'s context.
    pub namespace: Option<String>,
    /// The pods.
    pub pods: Pods,
    /// Servers that the cluster runs for this run; none for servers that run already.
    pub servers: Servers,
    /// Number of workers.
    pub workers: u32,
    /// Words after the program's name, in each pod.
    pub words: Vec<String>,
    /// What each pod joins with: the manager first, then each worker.
    pub joins: Vec<String>,
    /// The packed load.
    pub scenario: Vec<u8>,
    /// Time after which the cluster ends the run, if it goes on.
    pub deadline: Duration,
    /// Time after its end for which the cluster keeps the Job; `None` for ever.
    pub kept: Option<Duration>,
    /// Secret variables of the manager, for its telemetry.
    pub variables: BTreeMap<String, String>,
    /// Variables that describe the terminal that is attached to the manager; `None` without one.
    pub terminal: Option<BTreeMap<String, String>>,
}

impl Manifests {
    /// Returns the name by which the manager is found in its namespace.
    pub fn manager_host(name: &str) -> String {
        format!("{name}-0.{name}")
    }

    fn metadata(&self) -> Value {
        let mut metadata = json!({"name": self.pods.name, "labels": self.labels()});
        if let Some(namespace) = &self.namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }

    fn has_servers(&self) -> bool {
        !self.servers.all.is_empty()
    }

    /// Returns the Job. If `is_suspended`, it is suspended until all it needs is there, and then begins with the manager
    /// alone if there are servers, which choose their nodes before the workers do.
    pub fn job(&self, is_suspended: bool) -> Value {
        let count = self.workers + 1;
        let at_first = if is_suspended && self.has_servers() { 1 } else { count };
        // All of these are the manager's alone: the Job then ends, and tells the code.
        let policy = json!({"rules": [
            {"action": "FailIndex", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"containerName": "loadgen", "operator": "In", "values": FAILED}},
        ]});
        let mut job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.metadata(),
            "spec": {
                "suspend": is_suspended,
                "completionMode": "Indexed",
                "completions": count,
                "parallelism": at_first,
                "backoffLimitPerIndex": 0,
                "podFailurePolicy": policy,
                "podReplacementPolicy": "Failed",
                "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
                "activeDeadlineSeconds": self.deadline.as_secs(),
                "template": self.template(),
            },
        });
        if self.has_servers() {
            job["metadata"]["labels"][SERVERS] = json!(self.servers.all.len().to_string());
        }
        if let Some(kept) = self.kept {
            job["spec"]["ttlSecondsAfterFinished"] = json!(kept.as_secs());
        }
        job
    }

    /// Returns the Service by which the workers find the manager, before it is ready.
    pub fn service(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(),
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": true,
                "selector": {RUN: self.id},
                "ports": [{"name": "manager", "port": MANAGER_PORT}],
            },
        })
    }

    /// Returns the Secret.
    ///
    /// # Errors
    /// Returns a sentence if it is too large for a cluster.
    pub fn secret(&self) -> Result<Value, String> {
        let joins = self.joins.iter().map(|join| join.as_bytes());
        let of_joins: usize = joins.clone().map(<[u8]>::len).sum();
        let size = of_joins + self.scenario.len();
        if size > SECRET_LIMIT {
            let kib = |bytes: usize| bytes.div_ceil(1 << 10);
            return Err(format!(
                "the run needs a Secret of {} KiB ({} KiB for the scenario with its rows and files, {} KiB for {} \
                 workers), and Kubernetes accepts 1024 KiB",
                kib(size),
                kib(self.scenario.len()),
                kib(of_joins),
                self.workers
            ));
        }
        let joins = joins.enumerate().map(|(index, join)| (index.to_string(), base64(join)));
        let scenario = (SCENARIO_KEY.to_owned(), base64(&self.scenario));
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| (name.clone(), base64(value.as_bytes())));
        let data: BTreeMap<String, String> = joins.chain(variables).chain([scenario]).collect();
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata(),
            "type": "Opaque",
            "immutable": true,
            "data": data,
        }))
    }

    fn labels(&self) -> Map<String, Value> {
        let mut labels = Map::new();
        labels.insert("app.kubernetes.io/name".to_owned(), json!("loadgen"));
        labels.insert("app.kubernetes.io/instance".to_owned(), json!(self.pods.name));
        labels.insert(RUN.to_owned(), json!(self.id));
        labels
    }
}

/// Returns the manifests as YAML documents.
///
/// # Errors
/// Returns the reason if a manifest cannot be written as YAML.
pub fn yaml(manifests: &[Value]) -> Result<String, String> {
    let mut text = String::new();
    for manifest in manifests {
        text += "---\n";
        text += &serde_saphyr::to_string(manifest).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

/// Returns the name if it can be that of a Job and its pods: a label of DNS (RFC 1123), short enough for the numbers of
/// pods behind it.
///
/// # Errors
/// Returns what is wrong with it.
pub fn checked_name(name: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte != b'-');
    let bytes = name.as_bytes();
    // The name of a Service begins with a letter (RFC 1035).
    let is_name = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && is_edge(bytes.last().copied())
        && bytes.iter().copied().all(is_allowed);
    match is_name {
        true if bytes.len() <= 50 => Ok(name.to_owned()),
        true => Err("expected at most 50 characters".to_owned()),
        false => {
            Err("expected small letters, digits and hyphens, and a letter first, such as load-1"
                .to_owned())
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(words: &[(&str, &str)]) -> BTreeMap<String, String> {
        words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn manifests() -> Manifests {
        let tolerations = [
            Toleration { key: "load".to_owned(), value: None, effect: None },
            Toleration {
                key: "for".to_owned(),
                value: Some("tests".to_owned()),
                effect: Some("NoSchedule".to_owned()),
            },
        ];
        Manifests {
            id: "1a2b".to_owned(),
            namespace: Some("load".to_owned()),
            pods: Pods {
                name: "lg".to_owned(),
                image: "registry/loadgen:0.1.0".to_owned(),
                pull_policy: Some("Never".to_owned()),
                pull_secrets: vec!["registry".to_owned()],
                requests: map(&[("cpu", "1"), ("memory", "512Mi")]),
                limits: map(&[("memory", "1Gi")]),
                node_selector: map(&[("pool", "load")]),
                tolerations: tolerations.to_vec(),
            },
            servers: Servers::default(),
            workers: 2,
            words: ["pod", "--index", INDEX, "--", "--header=x: $(HOME) $5"]
                .map(str::to_owned)
                .to_vec(),
            joins: ["authority", "first", "second"].map(str::to_owned).to_vec(),
            scenario: b"packed".to_vec(),
            deadline: Duration::from_secs(1_000),
            kept: Some(Duration::from_secs(600)),
            variables: map(&[("OTEL_EXPORTER_OTLP_HEADERS", "api-key=x")]),
            terminal: Some(map(&[("TERM", "xterm"), ("LC_ALL", "C.UTF-8")])),
        }
    }

    #[test]
    fn manifests_as_people_read_them() {
        let of = manifests();
        let all = [of.secret().unwrap(), of.service(), of.job(false)];
        insta::assert_snapshot!(yaml(&all).unwrap());
    }

    #[test]
    fn servers_as_people_read_them() {
        let mut of = manifests();
        let limits = [("cpu", "500m"), ("memory", "64Mi")];
        let shop = ServerPods {
            name: "lg-shop-1".to_owned(),
            image: "registry/shop:1".to_owned(),
            words: ["--port=80", "$(HOME)"].map(str::to_owned).to_vec(),
            variables: [("DATABASE_URL".to_owned(), "secret".to_owned())].into(),
            port: 80,
            user: Some(1000),
            replicas: 4,
            ready: Ready::Path("/healthz".to_owned()),
            start_limit: Duration::from_secs(30),
            folder: Some("/loadgen-folder"),
            role: Role::Target,
            files: None,
            fill: None,
            awaits: vec!["lg-redis:6379".to_owned()],
            placing: Placing::new(
                map(&limits),
                &[("cpu", "2"), ("example.com/gpu", "1")].map(|(key, n)| (key.into(), n.into())),
                &[("pool".to_owned(), "app".to_owned())],
                &of.pods.tolerations,
            ),
        };
        of.servers = Servers { all: vec![shop], observer_key: "key".to_owned() };
        let [job, held] = [false, true].map(|is_suspended| of.job(is_suspended));
        assert_eq!(job["metadata"]["labels"][SERVERS], "1");
        let numbers = [&job, &held].map(|job| job["spec"]["parallelism"].as_u64());
        assert_eq!(numbers, [Some(u64::from(of.workers) + 1), Some(1)]);
        let apart = &job["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"];
        let apart = &apart["preferredDuringSchedulingIgnoredDuringExecution"];
        let weights = [0, 1].map(|n: usize| apart[n]["weight"].as_u64().unwrap());
        assert!(weights[1] * u64::from(of.workers + 1) <= weights[0], "{weights:?}");
        insta::assert_snapshot!(yaml(&of.servers()).unwrap());
        let server = &mut of.servers.all[0];
        (server.user, server.folder, server.ready) = (None, None, Ready::Grpc);
        server.words.clear();
        server.awaits.clear();
        let container = &of.servers()[3]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(["args", "volumeMounts"].map(|key| &container[key]), [&Value::Null; 2]);
        assert_eq!(container["startupProbe"]["grpc"]["port"], 80);
    }

    #[test]
    fn a_backend_as_people_read_it() {
        let mut of = manifests();
        let redis = ServerPods {
            role: Role::Backend,
            name: "lg-redis".to_owned(),
            image: "docker.io/library/redis:8".to_owned(),
            words: vec!["redis-server".to_owned(), "/run/loadgen/redis.conf".to_owned()],
            variables: BTreeMap::new(),
            port: 6_379,
            user: None,
            replicas: 1,
            ready: Ready::Listens,
            start_limit: Duration::from_secs(120),
            folder: None,
            files: Some(Files {
                folder: "/run/loadgen",
                texts: map(&[("redis.conf", "secret"), ("fill", "keys")]),
            }),
            fill: Some(Fill { file: "fill", password: "secret".to_owned() }),
            awaits: Vec::new(),
            placing: Placing::default(),
        };
        of.servers = Servers { all: vec![redis], observer_key: "key".to_owned() };
        insta::assert_snapshot!(yaml(&of.servers()).unwrap());
    }

    #[test]
    fn what_was_not_asked_for_is_left_out() {
        let mut of = manifests();
        (of.terminal, of.kept, of.namespace) = (None, None, None);
        of.pods = Pods {
            pull_policy: None,
            pull_secrets: Vec::new(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            ..of.pods
        };
        let job = of.job(true);
        assert_eq!(job["spec"]["suspend"], json!(true));
        let left_out = [&job["spec"]["ttlSecondsAfterFinished"], &job["metadata"]["namespace"]];
        assert_eq!(left_out, [&Value::Null; 2]);
        let spec = &job["spec"]["template"]["spec"];
        let left_out = ["imagePullSecrets", "nodeSelector", "tolerations"].map(|key| &spec[key]);
        assert_eq!(left_out, [&Value::Null; 3]);
        let container = &spec["containers"][0];
        assert_eq!(
            ["stdin", "tty", "imagePullPolicy"].map(|key| &container[key]),
            [&Value::Null; 3]
        );
    }

    #[test]
    fn a_secret_that_is_too_large_is_refused() {
        let of = Manifests { scenario: vec![0; SECRET_LIMIT], ..manifests() };
        let why = of.secret().unwrap_err();
        assert!(why.contains("a Secret of 1025 KiB") && why.contains("accepts 1024 KiB"), "{why}");
    }

    #[test]
    fn names_are_those_of_dns() {
        for name in ["lg", "load-1", "a"] {
            assert_eq!(checked_name(name), Ok(name.to_owned()));
        }
        for name in ["", "1a", "-a", "a-", "A", "a.b", "a_b", &"a".repeat(51)] {
            assert!(checked_name(name).is_err(), "{name}");
        }
    }
}
