//! Checks whether connections are as the scenario requests.

use super::verdict;
use crate::record::{RoundRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_measure::{AddressRecord, Connections};
use loadgen_scenario::{Action, HttpVersion, Reuse, Scenario, Step};
use loadgen_text::counted;

/// Returns all verdicts on a target's connections.
pub(super) fn connections(
    target: &TargetRecord,
    record: &RunRecord,
    scenario: &Scenario,
) -> impl Iterator<Item = Verdict> {
    let mut all = Connections::default();
    let rounds = target.rounds.iter().filter_map(|round| round.connections.as_ref());
    rounds.for_each(|round| all.merge(&round.counts));
    let more = match scenario.http.connection {
        Reuse::KeepAlive | Reuse::Until(_) => more_than_needed(target, record, scenario),
        Reuse::PerRequest => None,
    };
    more.into_iter().chain(other_version(target, &all, scenario)).chain(addresses(target))
}

/// Returns a verdict if more connections were opened in a round than its users needed. Users with a
/// WebSocket need a second connection, if they send HTTP requests, too.
fn more_than_needed(
    target: &TargetRecord,
    record: &RunRecord,
    scenario: &Scenario,
) -> Option<Verdict> {
    let connects = |step: &Step| step.action == Action::Connect;
    let start = scenario.start_steps();
    if scenario.steps.iter().enumerate().any(|(at, step)| connects(step) && !start.contains(&at)) {
        // Iterations open WebSockets as often as they are told to.
        return None;
    }
    let closes = |step: &Step| step.expect.stream.as_ref().is_some_and(|stream| stream.closes);
    if scenario.steps.iter().any(closes) {
        // loadgen ends streams with their connections.
        return None;
    }
    let sharing = scenario.http.sharing;
    let of_user = u64::from(scenario.uses_http()) + u64::from(scenario.uses_websocket());
    let most_users = |round: &RoundRecord| {
        let changed = round.changes.iter().filter_map(|change| change.users);
        changed.chain([round.users_planned]).max().unwrap_or_default()
    };
    let more = target.rounds.iter().filter_map(|round| {
        let (counts, users) = (&round.connections.as_ref()?.counts, most_users(round));
        // Without those that replace what loadgen itself has ended.
        let opened = counts.opened.saturating_sub(counts.renewed);
        // Users share connections in HTTP/2 only, and a server may choose HTTP/1.1.
        let needed = match counts.versions.contains_key("HTTP/1.1") {
            true => users,
            false => sharing.connections_of(users, record.load.workers),
        };
        (opened > u64::from(needed) * of_user).then_some((opened, users, needed))
    });
    let more: Vec<(u64, u32, u32)> = more.collect();
    let (opened, users, needed) = more.iter().max()?;
    let round = match record.load.passes() {
        1 => String::new(),
        rounds => format!(", in {} of {rounds} rounds", more.len()),
    };
    let most = users;
    let (opened, users) = (counted(*opened, "connection"), counted((*users).into(), "user"));
    let message = match sharing.is_set() && needed != most {
        false => format!("{opened} were opened for {users}{round}"),
        true => format!("{opened} were opened for {users} who share {needed}{round}"),
    };
    let advice = match scenario.uses_websocket() {
        false => {
            "users connect again after the server closes a connection or sends more than its response, after \
             a failed request, and for redirects to other servers: latencies include the time to connect"
        }
        true => {
            "users have one connection for their WebSocket and one for HTTP requests, and connect again \
             after the server closes a connection and after a failed request"
        }
    };
    Some(verdict(target, VerdictKind::MoreConnections, message, advice))
}

/// Returns a verdict if connections used another HTTP version than the scenario requests.
fn other_version(target: &TargetRecord, all: &Connections, scenario: &Scenario) -> Option<Verdict> {
    let asked = match scenario.http.version {
        HttpVersion::Http11 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
    };
    let others = || all.versions.iter().filter(|(version, _)| *version != asked);
    let used: Vec<String> = others().map(|(version, n)| format!("{n} used {version}")).collect();
    if used.is_empty() {
        return None;
    }
    let answered = all.versions.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let message = format!(
        "the scenario requests {asked}, but of {} {}",
        counted(answered, "connection"),
        used.join(" and ")
    );
    let advice = "configure the server for the requested version, or request the version that the \
                  server uses";
    Some(verdict(target, VerdictKind::OtherVersion, message, advice))
}

/// Returns a verdict if the IP addresses of the server's host name got clearly different numbers of
/// connections, or if connecting to an address failed.
fn addresses(target: &TargetRecord) -> Option<Verdict> {
    let mut all = Connections::default();
    let rounds = target.rounds.iter().filter_map(|round| round.connections.as_ref());
    // loadgen starts a target of the lab afresh in each round, on another port.
    rounds
        .filter(|round| round.counts.addresses.len() > 1)
        .for_each(|round| all.merge(&round.counts));
    let each = || all.addresses.iter().map(|address| address.connections);
    let (least, most) = (each().min()?, each().max()?);
    // An address count need not divide the users evenly, and each round and worker begins anew.
    let uneven =
        most > 1 && (most - least) * 10 > most && most - least > target.rounds.len() as u64;
    let failed = |address: &AddressRecord| address.failed > 0;
    if !uneven && !all.addresses.iter().any(failed) {
        return None;
    }
    let share = |address: &AddressRecord| {
        let why =
            address.error.as_ref().map(|error| format!(" (failed {} ×: {error})", address.failed));
        format!("{} {}{}", address.address, address.connections, why.unwrap_or_default())
    };
    let shares: Vec<String> = all.addresses.iter().map(share).collect();
    let message = format!(
        "the addresses of the server's name got different numbers of connections: {}",
        shares.join(", ")
    );
    let advice = "put one address into the URL, or make the server listen on all addresses";
    Some(verdict(target, VerdictKind::UnevenAddresses, message, advice))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::LoadChangeRecord;
    use loadgen_scenario as scenario;

    fn round(users: u32, opened: u64, version: &str) -> RoundRecord {
        let connections = Connections {
            opened,
            versions: BTreeMap::from([(version.to_owned(), opened)]),
            ..Connections::default()
        };
        RoundRecord {
            users_planned: users,
            connections: Some(connections.into()),
            ..RoundRecord::default()
        }
    }

    fn said(rounds: Vec<RoundRecord>, http: &str) -> Vec<String> {
        let mut record = RunRecord::default();
        record.load.rounds = u32::try_from(rounds.len()).unwrap();
        let target = TargetRecord { rounds, ..TargetRecord::default() };
        let text = format!("{http}\n[[step]]\nget = \"/\"");
        let scenario = scenario::parse("test", "test.toml", &text).unwrap();
        connections(&target, &record, &scenario).map(|verdict| verdict.message).collect()
    }

    #[test]
    fn more_connections_than_users_are_reported() {
        let ok = || round(100, 100, "HTTP/1.1");
        assert_eq!(said(vec![ok(), ok()], ""), [""; 0]);
        assert_eq!(said(vec![RoundRecord::default()], ""), [""; 0], "an earlier version's");
        assert_eq!(
            said(vec![ok(), round(100, 167, "HTTP/1.1")], ""),
            ["167 connections were opened for 100 users, in 1 of 2 rounds"]
        );
        let change = LoadChangeRecord { second: 1, users: Some(200), rate_per_s: None };
        let changed = RoundRecord { changes: vec![change], ..round(100, 167, "HTTP/1.1") };
        assert_eq!(said(vec![changed], ""), [""; 0]);
        let each = "http = { connection = \"per-request\" }";
        assert_eq!(said(vec![round(100, 9_000, "HTTP/1.1")], each), [""; 0]);
    }

    #[test]
    fn more_connections_than_users_share_are_reported() {
        let shared = "http = { version = \"2\", connections = 10 }";
        assert_eq!(said(vec![round(100, 10, "HTTP/2")], shared), [""; 0]);
        assert_eq!(
            said(vec![round(100, 12, "HTTP/2")], shared),
            ["12 connections were opened for 100 users who share 10"]
        );
        let by_streams = "http = { version = \"2\", streams = 10 }";
        assert_eq!(said(vec![round(95, 10, "HTTP/2")], by_streams), [""; 0]);
        assert_eq!(said(vec![round(95, 11, "HTTP/2")], by_streams).len(), 1);
    }

    #[test]
    fn a_websocket_is_a_second_connection() {
        let open = "[[step]]\nwebsocket = \"/\"\n";
        let start = format!("{open}when = \"start\"");
        assert_eq!(said(vec![round(100, 200, "HTTP/1.1")], &start), [""; 0]);
        let more = "201 connections were opened for 100 users";
        assert_eq!(said(vec![round(100, 201, "HTTP/1.1")], &start), [more]);
        assert_eq!(said(vec![round(100, 9_000, "HTTP/1.1")], open), [""; 0]);
    }

    #[test]
    fn another_http_version_than_requested_is_reported() {
        let http2 = "http = { version = \"2\" }";
        assert_eq!(said(vec![round(3, 3, "HTTP/2")], http2), [""; 0]);
        assert_eq!(
            said(vec![round(3, 2, "HTTP/2"), round(3, 3, "HTTP/1.1")], http2),
            ["the scenario requests HTTP/2, but of 5 connections 3 used HTTP/1.1"]
        );
        assert_eq!(
            said(vec![round(3, 3, "HTTP/1.0")], ""),
            ["the scenario requests HTTP/1.1, but of 3 connections 3 used HTTP/1.0"]
        );
    }

    #[test]
    fn addresses_with_fewer_connections_are_reported() {
        let with = |shares: &[(u64, Option<&str>)]| {
            let mut round = round(100, 100, "HTTP/1.1");
            round.connections.as_mut().unwrap().counts.addresses = (1..)
                .zip(shares)
                .map(|(n, (connections, error))| AddressRecord {
                    address: format!("10.0.0.{n}:80"),
                    connections: *connections,
                    failed: u64::from(error.is_some()),
                    error: error.map(str::to_owned),
                })
                .collect();
            said(vec![round], "")
        };
        assert_eq!(with(&[(100, None)]), [""; 0]);
        assert_eq!(with(&[(34, None), (33, None), (33, None)]), [""; 0]);
        let port = |n: u64| {
            let mut round = round(100, 100 * n, "HTTP/1.1");
            round.users_planned *= u32::try_from(n).unwrap();
            round.connections.as_mut().unwrap().counts.addresses = vec![AddressRecord {
                address: format!("127.0.0.1:{n}"),
                connections: 100 * n,
                failed: 0,
                error: None,
            }];
            round
        };
        assert_eq!(said(vec![port(1), port(2)], ""), [""; 0], "one address in each round");
        let begin = "the addresses of the server's name got different numbers of connections: ";
        assert_eq!(
            with(&[(70, None), (30, None)]),
            [format!("{begin}10.0.0.1:80 70, 10.0.0.2:80 30")]
        );
        assert_eq!(
            with(&[(0, Some("refused")), (100, None)]),
            [format!("{begin}10.0.0.1:80 0 (failed 1 ×: refused), 10.0.0.2:80 100")]
        );
    }
}
