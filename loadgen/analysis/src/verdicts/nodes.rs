//! Checks whether a target's pods shared their nodes with the load or with backends.

use std::collections::{BTreeMap, BTreeSet};

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_text::listed;

/// Utilization of a node's CPUs, in %, from which its programs take CPU time from each other.
const BUSY_PERCENT: f64 = 50.0;

/// Returns a verdict if several of the target's pods, the backends and the workers ran on a busy node.
pub(super) fn shared_node(target: &TargetRecord) -> Option<Verdict> {
    let mut nodes: BTreeMap<&str, Node<'_>> = BTreeMap::new();
    for round in &target.rounds {
        let of_target = round.target_pods.iter().map(|pods| ("pods of this target", pods));
        let of_backends = round.backend_pods.iter().map(|(name, pods)| (name.as_str(), pods));
        for (who, pods) in of_target.chain(of_backends) {
            for (node, busy) in &pods.nodes_busy_percent {
                let node = nodes.entry(node).or_default();
                node.busy_percent = node.busy_percent.max(*busy);
                node.who.insert(who);
            }
        }
    }
    for (name, node) in &mut nodes {
        let here = format!(" on {name}");
        let mut hosts = target.workers.iter().filter_map(|worker| worker.host.as_deref());
        if hosts.any(|host| host.ends_with(&here)) {
            node.who.insert("workers of the load");
        }
    }
    nodes.retain(|_, node| node.busy_percent >= BUSY_PERCENT && node.who.len() > 1);
    let nodes: Vec<String> = nodes.iter().map(|(name, node)| node.text(name)).collect();
    (!nodes.is_empty()).then(|| {
        let message = format!("parts of the test shared a busy node: {}", listed(&nodes, "; "));
        let advice = "give them nodes of their own: --node-selector, --target-node-selector and --backend-node-selector; \
                      or compare only targets that shared their node in the same way";
        verdict(target, VerdictKind::SharedNode, message, advice)
    })
}

/// A node with pods of the test.
#[derive(Default)]
struct Node<'a> {
    /// Parts of the test that ran on it.
    who: BTreeSet<&'a str>,
    /// Highest utilization of its CPUs in a round, in %.
    busy_percent: f64,
}

impl Node<'_> {
    fn text(&self, name: &str) -> String {
        let who: Vec<&str> = self.who.iter().copied().collect();
        format!("{name} ({:.0} % busy) had {}", self.busy_percent, who.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RoundRecord, WorkerRecord};
    use loadgen_measure::PodsRecord;

    #[test]
    fn busy_nodes_that_parts_of_the_test_share_are_named() {
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
        let one = "node: node-a (80 % busy) had pods of this target and workers of the load";
        assert!(said.ends_with(one), "{said}");
        let on = |node: &str| PodsRecord {
            nodes_busy_percent: [(node.to_owned(), 90.0)].into(),
            ..PodsRecord::default()
        };
        target.rounds[0].backend_pods = [("postgres".to_owned(), on("node-a"))].into();
        let said = shared_node(&target).unwrap().message;
        let all = "node-a (90 % busy) had pods of this target and postgres and workers of the load";
        assert!(said.ends_with(all), "{said}");
        target.workers.clear();
        target.rounds[0].backend_pods = [("postgres".to_owned(), on("node-d"))].into();
        assert_eq!(shared_node(&target), None);
        target.workers = vec![worker("lg-4 on node-d")];
        let said = shared_node(&target).unwrap().message;
        assert!(
            said.ends_with("node-d (90 % busy) had postgres and workers of the load"),
            "{said}"
        );
    }
}
