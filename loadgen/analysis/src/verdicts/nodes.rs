//! Checks whether a target's pods shared their nodes with the load or with backends.

use std::collections::{BTreeMap, BTreeSet};

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_text::listed;

/// Utilization of a node's CPUs, in %, from which its programs take CPU time from each other.
const BUSY_PERCENT: f64 = 50.0;

/// Returns a verdict if workers or backends ran on a busy node of the target's pods.
pub(super) fn shared_node(target: &TargetRecord) -> Option<Verdict> {
    let mut busiest: BTreeMap<&str, f64> = BTreeMap::new();
    let pods = target.rounds.iter().filter_map(|round| round.target_pods.as_ref());
    for (node, busy) in pods.flat_map(|pods| &pods.nodes_busy_percent) {
        let most = busiest.entry(node).or_default();
        *most = most.max(*busy);
    }
    busiest.retain(|_, busy| *busy >= BUSY_PERCENT);
    let others: BTreeMap<&str, BTreeSet<&str>> =
        busiest.keys().map(|node| (*node, others(target, node))).collect();
    busiest.retain(|node, _| !others[node].is_empty());
    let nodes: Vec<String> =
        busiest.iter().map(|(node, busy)| format!("{node} ({busy:.0} % busy)")).collect();
    (!nodes.is_empty()).then(|| {
        let others: BTreeSet<&str> = others.into_values().flatten().collect();
        let others: Vec<&str> = others.into_iter().collect();
        let message = format!(
            "pods of this target and {} ran on the same node: {}",
            others.join(" and "),
            listed(&nodes, ", ")
        );
        let advice = "give them nodes of their own: --node-selector, --target-node-selector and --backend-node-selector; \
                      or compare only targets that shared their node in the same way";
        verdict(target, VerdictKind::SharedNode, message, advice)
    })
}

/// Returns the other parties of the test that ran on a node.
fn others<'a>(target: &'a TargetRecord, node: &str) -> BTreeSet<&'a str> {
    let here = format!(" on {node}");
    let mut hosts = target.workers.iter().filter_map(|worker| worker.host.as_deref());
    let workers = hosts.any(|host| host.ends_with(&here)).then_some("workers of the load");
    let backends = target.rounds.iter().flat_map(|round| &round.backend_pods);
    let backends = backends.filter(|(_, pods)| pods.nodes_busy_percent.contains_key(node));
    backends.map(|(name, _)| name.as_str()).chain(workers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RoundRecord, WorkerRecord};
    use loadgen_measure::PodsRecord;

    #[test]
    fn only_busy_nodes_with_workers_are_named() {
        let nodes = [("node-a", 80.0), ("node-b", 90.0), ("node-c", 20.0)];
        let nodes_busy_percent = nodes.map(|(node, busy)| (node.to_owned(), busy)).into();
        let target_pods = Some(PodsRecord { nodes_busy_percent, ..PodsRecord::default() });
        let worker =
            |host: &str| WorkerRecord { host: Some(host.to_owned()), ..WorkerRecord::default() };
        let mut target = TargetRecord {
            rounds: vec![RoundRecord { target_pods, ..RoundRecord::default() }],
            workers: vec![
                worker("lg-1 on node-a"),
                worker("lg-2 on node-c"),
                worker("lg-3 on other-node-b"),
            ],
            ..TargetRecord::default()
        };
        let said = shared_node(&target).unwrap().message;
        assert!(said.ends_with("on the same node: node-a (80 % busy)"), "{said}");
        let on = |node: &str| PodsRecord {
            nodes_busy_percent: [(node.to_owned(), 90.0)].into(),
            ..PodsRecord::default()
        };
        target.rounds[0].backend_pods = [("postgres".to_owned(), on("node-a"))].into();
        let said = shared_node(&target).unwrap().message;
        let all = "pods of this target and postgres and workers of the load ran on the same node: ";
        assert!(said.contains(all), "{said}");
        target.workers.clear();
        target.rounds[0].backend_pods = [("postgres".to_owned(), on("node-d"))].into();
        assert_eq!(shared_node(&target), None);
    }
}
