//! Checks whether a target's pods shared their nodes with the load.

use std::collections::BTreeMap;

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_text::listed;

/// Utilization of a node's CPUs, in %, from which its programs take CPU time from each other.
const BUSY_PERCENT: f64 = 50.0;

/// Returns a verdict if workers ran on a busy node of the target's pods.
pub(super) fn shared_node(target: &TargetRecord) -> Option<Verdict> {
    let mut busiest: BTreeMap<&str, f64> = BTreeMap::new();
    let pods = target.rounds.iter().filter_map(|round| round.target_pods.as_ref());
    for (node, busy) in pods.flat_map(|pods| &pods.nodes_busy_percent) {
        let most = busiest.entry(node).or_default();
        *most = most.max(*busy);
    }
    let has_workers = |node: &str| {
        let here = format!(" on {node}");
        let mut hosts = target.workers.iter().filter_map(|worker| worker.host.as_deref());
        hosts.any(|host| host.ends_with(&here))
    };
    busiest.retain(|node, busy| *busy >= BUSY_PERCENT && has_workers(node));
    let nodes: Vec<String> =
        busiest.iter().map(|(node, busy)| format!("{node} ({busy:.0} % busy)")).collect();
    (!nodes.is_empty()).then(|| {
        let message = format!(
            "pods of this target and workers of the load ran on the same node: {}",
            listed(&nodes, ", ")
        );
        let advice = "give them nodes of their own: --node-selector and --target-node-selector; \
                      or compare only targets that shared their node in the same way";
        verdict(target, VerdictKind::SharedNode, message, advice)
    })
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
        target.workers.clear();
        assert_eq!(shared_node(&target), None);
    }
}
