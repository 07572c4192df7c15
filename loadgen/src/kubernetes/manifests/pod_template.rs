//! The pods of a Job: where they run, what they may, and what they get.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{INDEX, JOIN, Manifests, RUN, SCENARIO, SCENARIO_KEY, SERVER_OF};

/// User and group of the pods: nobody, as in the images. No name will do, because the kubelet cannot tell that it is not
/// root.
pub(super) const NOBODY: u32 = 65_534;

/// A taint of nodes that the pods tolerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// Key of the taint.
    pub key: String,
    /// Value of the taint; `None` for any.
    pub value: Option<String>,
    /// Effect of the taint; `None` for all.
    pub effect: Option<String>,
}

/// Where pods run, and what they get.
#[derive(Debug, Clone)]
pub struct Pods {
    /// Name of the Job, of its Service and of its Secret.
    pub name: String,
    /// Container image.
    pub image: String,
    /// When nodes pull the image; `None` for the cluster's own choice.
    pub pull_policy: Option<String>,
    /// Secrets with which nodes pull the image.
    pub pull_secrets: Vec<String>,
    /// CPU, memory and others that each pod gets.
    pub requests: BTreeMap<String, String>,
    /// CPU, memory and others that no pod exceeds.
    pub limits: BTreeMap<String, String>,
    /// Labels of the nodes.
    pub node_selector: BTreeMap<String, String>,
    /// Taints that nodes may have.
    pub tolerations: Vec<Toleration>,
}

impl Manifests {
    /// Returns what all pods have in common.
    pub(super) fn template(&self) -> Value {
        let Pods { name, pull_secrets, node_selector, tolerations, .. } = &self.pods;
        let mut labels = self.labels();
        // A proxy beside the program would add to what is measured, and would go on after the program's end.
        labels.insert("sidecar.istio.io/inject".to_owned(), json!("false"));
        let mut spec = json!({
            "subdomain": name,
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 30,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY, "fsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [self.container()],
            "volumes": [
                {"name": "given", "secret": {"secretName": name, "defaultMode": 0o400}},
                {"name": "tmp", "emptyDir": {}},
            ],
        });
        if self.has_servers() {
            // Up to 99 workers and the manager together weigh no more than one server: a node without servers comes first, and among
            // these the one with the least load. The scheduler adds the weights of the pods of a node.
            let own = (100 / (self.workers + 1)).max(1);
            spec["affinity"] = apart_from(&[(SERVER_OF, &self.id, 100), (RUN, &self.id, own)]);
        } else {
            spec["topologySpreadConstraints"] = json!([{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {RUN: self.id}},
            }]);
        }
        if !pull_secrets.is_empty() {
            let names = pull_secrets.iter().map(|name| json!({"name": name}));
            spec["imagePullSecrets"] = names.collect();
        }
        if !node_selector.is_empty() {
            spec["nodeSelector"] = json!(node_selector);
        }
        if !tolerations.is_empty() {
            spec["tolerations"] = tolerations.iter().map(Toleration::manifest).collect();
        }
        json!({
            "metadata": {
                "labels": labels,
                "annotations": no_mesh(),
            },
            "spec": spec,
        })
    }

    fn container(&self) -> Value {
        let Pods { image, pull_policy, requests, limits, .. } = &self.pods;
        let words: Vec<String> = self.words.iter().map(|word| literal(word)).collect();
        let of_node = json!({"fieldRef": {"fieldPath": "spec.nodeName"}});
        let given = |path: &str, key: &str| json!({"name": "given", "mountPath": path, "subPathExpr": key, "readOnly": true});
        let mut container = json!({
            "name": "loadgen",
            "image": image,
            // Also for the second loadgen that `kubectl exec` starts, which knows no entry point.
            "command": ["loadgen"],
            "args": words,
            "workingDir": "/tmp",
            "env": [
                {"name": "HOME", "value": "/tmp"},
                {"name": "LOADGEN_NODE", "valueFrom": of_node},
            ],
            "resources": {"requests": requests, "limits": limits},
            "securityContext": restricted(),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [
                {"name": "tmp", "mountPath": "/tmp"},
                given(JOIN, INDEX),
                given(SCENARIO, SCENARIO_KEY),
            ],
        });
        if let Some(policy) = pull_policy {
            container["imagePullPolicy"] = json!(policy);
        }
        let mut more: Vec<Value> = Vec::new();
        if let Some(variables) = &self.terminal {
            container["stdin"] = json!(true);
            container["tty"] = json!(true);
            let shown = |(name, value): (&String, &String)| json!({"name": name, "value": value.replace('$', "$$")});
            more.extend(variables.iter().map(shown));
        }
        more.extend(self.variables.keys().map(|name| {
            let of_secret = json!({"name": self.pods.name, "key": name});
            json!({"name": name, "valueFrom": {"secretKeyRef": of_secret}})
        }));
        if let Some(all) = container["env"].as_array_mut() {
            all.extend(more);
        }
        container
    }
}

impl Toleration {
    pub(super) fn manifest(&self) -> Value {
        let Self { key, value, effect } = self;
        let mut manifest = match value {
            Some(value) => json!({"key": key, "operator": "Equal", "value": value}),
            None => json!({"key": key, "operator": "Exists"}),
        };
        if let Some(effect) = effect {
            manifest["effect"] = json!(effect);
        }
        manifest
    }
}

/// Makes a pod prefer nodes without pods that have one of these labels, by a weight of at most 100 for each such pod.
/// Load, servers and backends take each other's CPU.
pub(super) fn apart_from(labels: &[(&str, &str, u32)]) -> Value {
    let terms = labels.iter().map(|(label, value, weight)| {
        json!({
            "weight": weight,
            "podAffinityTerm": {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {*label: value}},
            },
        })
    });
    let terms: Vec<Value> = terms.collect();
    json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}})
}

/// Annotations by which a service mesh leaves pods alone: a proxy beside a program would add to what is measured.
pub(super) fn no_mesh() -> Value {
    json!({"linkerd.io/inject": "disabled", "sidecar.istio.io/inject": "false"})
}

/// Returns the rights of a container of loadgen.
pub(super) fn restricted() -> Value {
    json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// Returns a word of a command so that the kubelet leaves it as it is, except for the number of the pod.
pub(super) fn literal(word: &str) -> String {
    let pieces: Vec<String> = word.split(INDEX).map(|piece| piece.replace('$', "$$")).collect();
    pieces.join(INDEX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        // As kubernetes/third_party/forked/golang/expansion reads them.
        assert_eq!(literal("a $(B) $C $$"), "a $$(B) $$C $$$$");
        assert_eq!(literal("--index=$(JOB_COMPLETION_INDEX)"), "--index=$(JOB_COMPLETION_INDEX)");
    }
}
