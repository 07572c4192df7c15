//! Shows how long opening connections took.

use std::collections::BTreeSet;

use crate::measure::{Connections, LatencySummary};
use crate::record::{ConnectionsRecord, RunRecord, TargetRecord};
use crate::report::words::ranked::ranked;
use crate::text::{count, milliseconds};

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 8] =
    ["", "opened", "connect p50", "p99", "max", "TLS p50", "p99", "max"];

/// Returns a row for each target. Returns none if no target needed TLS handshakes or more connections
/// than users: then opening them cost little, and is part of few latencies.
pub(crate) fn rows(record: &RunRecord) -> Vec<Vec<String>> {
    let all = || ranked(record).into_iter().map(|(target, _)| (target, opened(target)));
    let is_shown = |(target, all): (&TargetRecord, ConnectionsRecord)| {
        let users: u64 = target.rounds.iter().map(|round| u64::from(round.users_planned)).sum();
        all.connect_us != LatencySummary::default()
            && (!all.counts.tls_suites.is_empty() || all.counts.opened > users)
    };
    if !all().any(is_shown) {
        return Vec::new();
    }
    all().map(|(target, all)| row(target, &all)).collect()
}

/// Returns the explanation of the columns, with the TLS versions and ciphers of all connections.
pub(crate) fn legend(record: &RunRecord) -> String {
    let targets = || record.targets.iter().map(opened);
    let suites: BTreeSet<String> =
        targets().flat_map(|all| all.counts.tls_suites.into_keys()).collect();
    let resumed: u64 = targets().map(|all| all.counts.tls_resumed).sum();
    let mut text = "connections of all rounds, in ms to connect and then for TLS".to_owned();
    if !suites.is_empty() {
        text += ": ";
        text += &suites.into_iter().collect::<Vec<_>>().join("; ");
    }
    if resumed > 0 {
        text += &format!("; {} TLS handshakes resumed a session", count(resumed));
    }
    let renewed: u64 = targets().map(|all| all.counts.renewed).sum();
    if renewed > 0 {
        text += &format!("; loadgen ended {} at the limit of the scenario", count(renewed));
    }
    text
}

/// Returns the connections of a target over all rounds.
fn opened(target: &TargetRecord) -> ConnectionsRecord {
    let mut all = Connections::default();
    let rounds = target.rounds.iter().filter_map(|round| round.connections.as_ref());
    rounds.for_each(|round| all.merge(&round.counts));
    all.into()
}

fn row(target: &TargetRecord, all: &ConnectionsRecord) -> Vec<String> {
    let of = |it: &LatencySummary| [it.p50, it.p99, it.max].map(milliseconds);
    let cells =
        [vec![count(all.counts.opened)], of(&all.connect_us).into(), of(&all.tls_us).into()];
    std::iter::once(target.name.clone()).chain(cells.concat()).collect()
}
