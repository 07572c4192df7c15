//! Asks a cluster how many CPUs its nodes have for servers under test.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::KubernetesError;
use super::kubectl::Kubectl;
use super::manifests::Toleration;

/// Effects of a taint that keep pods away.
const REPELLING: [&str; 2] = ["NoSchedule", "NoExecute"];

/// Returns the whole CPUs that all nodes together have for pods with this node selector and these tolerations; `None` if
/// the user may not know, because nodes belong to no namespace.
///
/// # Errors
/// If the cluster does not answer, or with what cannot be read.
pub async fn cpus_of_nodes(
    kubectl: &Kubectl,
    selector: &BTreeMap<String, String>,
    tolerations: &[Toleration],
) -> Result<Option<u32>, KubernetesError> {
    let labels: Vec<String> =
        selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let selector = format!("--selector={}", labels.join(","));
    match kubectl.json(&["get", "nodes", &selector], "").await {
        Ok(nodes) => Ok(cpus(&nodes, tolerations)),
        Err(KubernetesError::Refused { why, .. }) if why.contains("Forbidden") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the whole CPUs of the nodes of a list on which such pods may run; `None` if a node does not tell its own.
fn cpus(nodes: &Value, tolerations: &[Toleration]) -> Option<u32> {
    let all = nodes["items"].as_array().into_iter().flatten();
    let of = all.filter(|node| may_run(node, tolerations)).map(|node| {
        let cpus = node["status"]["allocatable"]["cpu"].as_str()?;
        thousandths(cpus)
    });
    let sum: Option<u64> = of.sum();
    u32::try_from(sum? / 1_000).ok()
}

fn may_run(node: &Value, tolerations: &[Toleration]) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let mut repelling = taints
        .filter(|taint| taint["effect"].as_str().is_some_and(|effect| REPELLING.contains(&effect)));
    is_ready
        && node["spec"]["unschedulable"] != true
        && repelling.all(|taint| tolerations.iter().any(|of| is_tolerated(taint, of)))
}

fn is_tolerated(taint: &Value, Toleration { key, value, effect }: &Toleration) -> bool {
    let is = |what: &str, of: &Option<String>| {
        of.as_deref().is_none_or(|of| taint[what].as_str().unwrap_or_default() == of)
    };
    taint["key"] == key.as_str() && is("value", value) && is("effect", effect)
}

/// Reads a quantity of CPUs, such as `4` or `3920m`, in thousandths.
fn thousandths(text: &str) -> Option<u64> {
    match text.strip_suffix('m') {
        Some(thousandths) => thousandths.parse().ok(),
        None => text.parse::<u64>().ok()?.checked_mul(1_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(cpu: &str, spec: Value) -> Value {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        json!({"spec": spec, "status": {"allocatable": {"cpu": cpu}, "conditions": ready}})
    }

    #[test]
    fn nodes_that_take_no_servers_do_not_count() {
        let taint = |effect: &str| json!({"key": "load", "value": "only", "effect": effect});
        let mut gone = node("64", json!({}));
        gone["status"]["conditions"][0]["status"] = json!("Unknown");
        let nodes = json!({"items": [
            node("4", json!({})),
            node("3920m", json!({"taints": [taint("PreferNoSchedule")]})),
            node("8", json!({"taints": [taint("NoSchedule")]})),
            node("16", json!({"unschedulable": true})),
            gone,
        ]});
        let toleration = |value: &str, effect: Option<&str>| Toleration {
            key: "load".to_owned(),
            value: Some(value.to_owned()),
            effect: effect.map(str::to_owned),
        };
        assert_eq!(cpus(&nodes, &[]), Some(7), "4 and 3.92");
        assert_eq!(cpus(&nodes, &[toleration("only", None)]), Some(15));
        assert_eq!(cpus(&nodes, &[toleration("other", None)]), Some(7));
        assert_eq!(cpus(&nodes, &[toleration("only", Some("NoExecute"))]), Some(7));
    }

    #[test]
    fn a_node_that_does_not_tell_its_cpus_makes_the_sum_unknown() {
        let nodes = json!({"items": [node("4", json!({})), node("many", json!({}))]});
        assert_eq!(cpus(&nodes, &[]), None);
        assert_eq!(cpus(&json!({"items": []}), &[]), Some(0));
    }
}
