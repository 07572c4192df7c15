//! The containers in the pods of a server: the server, and loadgen before and beside it.

use serde_json::{Value, json};

use super::Manifests;
use super::pod_template::{NOBODY, literal, restricted};
use super::servers::{
    AWAIT, FILL_PASSWORD, Files, KEY, OBSERVER, OBSERVER_PORT, Ready, SERVER, ServerPods,
};

/// Time for a server to answer when it is asked whether it is ready, in seconds.
const PROBE_S: u32 = 10;

impl Manifests {
    pub(super) fn server_container(&self, server: &ServerPods) -> Value {
        let variables = server.variables.keys().map(|name| of_secret(name, &server.name, name));
        let check = match &server.ready {
            // Some frameworks refuse another host than the one by which the load comes.
            Ready::Path(path) => json!({"httpGet": {
                "path": path, "port": server.port, "httpHeaders": [{"name": "Host", "value": server.name}],
            }}),
            Ready::Grpc => json!({"grpc": {"port": server.port}}),
            Ready::Listens => json!({"tcpSocket": {"port": server.port}}),
        };
        let mut container = json!({
            "name": SERVER,
            "image": server.image,
            "env": variables.collect::<Vec<_>>(),
            "ports": [{"containerPort": server.port}],
            "resources": {"requests": server.placing.requests, "limits": server.placing.limits},
            "securityContext": {"allowPrivilegeEscalation": false},
            "startupProbe": check,
            "terminationMessagePolicy": "FallbackToLogsOnError",
        });
        container["startupProbe"]["periodSeconds"] = json!(1);
        container["startupProbe"]["timeoutSeconds"] = json!(PROBE_S);
        container["startupProbe"]["failureThreshold"] = json!(server.start_limit.as_secs().max(1));
        if !server.words.is_empty() {
            container["args"] = server.words.iter().map(|word| json!(literal(word))).collect();
        }
        if let Some(user) = server.user {
            container["securityContext"] = json!({
                "allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": user,
                "capabilities": {"drop": ["ALL"]},
            });
        }
        let folder = server.folder.map(|path| json!({"name": "folder", "mountPath": path}));
        let files = server.files.as_ref().map(mount);
        let mounts: Vec<Value> = folder.into_iter().chain(files).collect();
        if !mounts.is_empty() {
            container["volumeMounts"] = json!(mounts);
        }
        container
    }

    /// loadgen before a server: a server that finds no backend may end.
    pub(super) fn waiting(&self, server: &ServerPods) -> Value {
        let words = ["await-backends"].into_iter().chain(server.awaits.iter().map(String::as_str));
        self.of_loadgen(AWAIT, &words.collect::<Vec<_>>())
    }

    /// loadgen beside a server.
    pub(super) fn observer(&self, server: &ServerPods) -> Value {
        let of_pod = |field: &str| json!({"fieldRef": {"fieldPath": field}});
        let port = format!("--port={OBSERVER_PORT}");
        let mut container = self.of_loadgen(OBSERVER, &["observe", &port]);
        let mut variables = vec![
            json!({"name": "LOADGEN_POD", "valueFrom": of_pod("metadata.name")}),
            json!({"name": "LOADGEN_NODE", "valueFrom": of_pod("spec.nodeName")}),
            of_secret("LOADGEN_OBSERVER_KEY", &server.name, KEY),
            // The limit in force, which may be the namespace's, or else the CPUs of the node.
            json!({"name": "LOADGEN_SERVER_CPU", "valueFrom": {"resourceFieldRef": {
                "containerName": SERVER, "resource": "limits.cpu", "divisor": "1m",
            }}}),
        ];
        if let (Some(fill), Some(files)) = (&server.fill, &server.files) {
            variables.push(of_secret("LOADGEN_FILL_PASSWORD", &server.name, FILL_PASSWORD));
            container["args"] =
                json!(["observe", port, format!("--fill={}/{}", files.folder, fill.file)]);
            container["volumeMounts"] = json!([mount(files)]);
            // Once it answers, the backend has all data.
            container["startupProbe"] = json!({
                "tcpSocket": {"port": OBSERVER_PORT}, "periodSeconds": 1,
                "failureThreshold": server.start_limit.as_secs().max(1),
            });
        }
        container["env"] = json!(variables);
        container
    }

    /// A container of loadgen in a server's pod.
    fn of_loadgen(&self, name: &str, words: &[&str]) -> Value {
        let mut container = json!({
            "name": name,
            "image": self.pods.image,
            "command": ["loadgen"],
            "args": words,
            // It reads a few files once a second.
            "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
            "securityContext": restricted(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
        });
        container["securityContext"]["runAsNonRoot"] = json!(true);
        container["securityContext"]["runAsUser"] = json!(NOBODY);
        if let Some(policy) = &self.pods.pull_policy {
            container["imagePullPolicy"] = json!(policy);
        }
        container
    }
}

fn mount(files: &Files) -> Value {
    json!({"name": "files", "mountPath": files.folder, "readOnly": true})
}

fn of_secret(variable: &str, secret: &str, key: &str) -> Value {
    json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
}
