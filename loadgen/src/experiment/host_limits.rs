//! Checks the users of workers on other hosts against the limits of these hosts.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use miette::Diagnostic;
use thiserror::Error;

use super::job::Job;
use super::system_limits::RESERVED_FILES;
use crate::cluster::{HostShares, OnLoss};
use crate::engine::Share;
use crate::scenario::{ServerUrl, Sharing};
use crate::text::{count, listed};

/// Hosts of workers, with what the check needs of the load.
#[derive(Debug, Clone, Default)]
pub struct HostLimits {
    hosts: Vec<HostShares>,
    sharing: Sharing,
    on_loss: OnLoss,
    /// Whether the number of ports that the load needs is unknown: a name may have several addresses, each of which has
    /// all ports, and a socket needs none.
    any_ports: bool,
}

/// Hosts whose limits do not carry their shares of the users.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("{} users are too many for their hosts: {}", count((*users).into()), each(lacking))]
#[diagnostic(code(host_limit_too_low), help("{}, or reduce --users", remedies(lacking)))]
pub struct HostLimitError {
    /// Number of users of all workers together.
    pub users: u32,
    /// Names of these hosts, each with what it lacks.
    pub lacking: Vec<(String, Lack)>,
}

/// A limit of a host that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// A worker may open too few files: each connection is an open file.
    Files {
        /// Number of connections of the worker.
        connections: u32,
        /// Greatest number of files that the worker may open.
        limit: u64,
    },
    /// The host has too few local ports: each connection to one server needs a separate port.
    Ports {
        /// Number of connections of all workers of the host.
        connections: u32,
        /// Number of local ports.
        ports: u32,
    },
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { connections, limit } => write!(
                f,
                "a worker with {} connections needs {} open files, {RESERVED_FILES} of them for loadgen, but may open {}",
                count(u64::from(*connections)),
                count(u64::from(*connections) + RESERVED_FILES),
                count(*limit)
            ),
            Self::Ports { connections, ports } => write!(
                f,
                "its {} connections need as many local ports, but the host has {}",
                count(u64::from(*connections)),
                count(u64::from(*ports))
            ),
        }
    }
}

impl Lack {
    /// Returns the remedy.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Files { .. } => {
                "raise the hard limit of open files there (`ulimit -Hn`), start more workers there"
            }
            Self::Ports { .. } => {
                "widen net.ipv4.ip_local_port_range there (sysctl), use more hosts"
            }
        }
    }
}

fn each(lacking: &[(String, Lack)]) -> String {
    let each = lacking.iter().map(|(host, lack)| format!("{host}: {lack}"));
    listed(&each.collect::<Vec<_>>(), "; ")
}

fn remedies(lacking: &[(String, Lack)]) -> String {
    let each: BTreeSet<&str> = lacking.iter().map(|(_, lack)| lack.remedy()).collect();
    each.into_iter().collect::<Vec<_>>().join(", ")
}

impl HostLimits {
    /// Returns the hosts with the load of a job.
    pub fn of(hosts: Vec<HostShares>, job: &Job) -> Self {
        let any_ports = !job.subject.running().iter().all(|server| is_address(&server.url));
        Self { hosts, sharing: job.scenario.http.sharing, on_loss: job.on_loss, any_ports }
    }

    /// Returns the hosts with users that have a connection each.
    pub fn of_users(hosts: Vec<HostShares>) -> Self {
        Self { hosts, ..Self::default() }
    }

    /// Checks that the limits of all hosts allow this number of users of the load.
    ///
    /// # Errors
    /// If a limit is too low.
    pub fn allow(&self, users: u32) -> Result<(), HostLimitError> {
        let lack = |host: &HostShares| Some((host.host.clone(), self.lack(host, users)?));
        let lacking: Vec<_> = self.hosts.iter().filter_map(lack).collect();
        if lacking.is_empty() { Ok(()) } else { Err(HostLimitError { users, lacking }) }
    }

    /// Returns the limit of a host that is too low for its share of the users, if one is.
    fn lack(&self, host: &HostShares, users: u32) -> Option<Lack> {
        let each = host.shares.iter().map(|share| self.connections(*share, users));
        let each: Vec<u32> = each.collect();
        let most = each.iter().copied().max()?;
        // A host on which a worker is lost has fewer to take over its users.
        let all = each.iter().fold(0, |all: u32, more| all.saturating_add(*more)).min(users);
        let limits = host.limits;
        let files = limits.open_files.filter(|limit| u64::from(most) + RESERVED_FILES > *limit);
        let ports = limits.local_ports.filter(|ports| !self.any_ports && all > *ports);
        let files = files.map(|limit| Lack::Files { connections: most, limit });
        files.or(ports.map(|ports| Lack::Ports { connections: all, ports }))
    }

    /// Returns the number of connections of a worker at most.
    fn connections(&self, share: Share, users: u32) -> u32 {
        // The others have the users of a host that is lost, or of one worker where there is one host.
        if self.on_loss == OnLoss::Redistribute && share.of > 1 {
            let most = self.hosts.iter().map(|host| host.shares.len()).max().unwrap_or(0);
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            let lost = if most < share.of { most.max(1) } else { 1 };
            return users.div_ceil(share.of - lost);
        }
        // Shares that the connections do not fit are refused elsewhere.
        let shared = share.connections(self.sharing, users).ok().flatten();
        let own = share.users(users);
        shared.map_or(own, |shared| shared.min(own))
    }
}

/// Returns whether the host of a URL is an address, and no name or socket.
fn is_address(url: &str) -> bool {
    let url = ServerUrl::parse(url).ok();
    let host = url.as_ref().and_then(|server| server.url.host_str());
    host.is_some_and(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::SystemLimits;

    fn host(name: &str, workers: std::ops::Range<u32>, files: u64, ports: u32) -> HostShares {
        HostShares {
            host: name.to_owned(),
            shares: workers.map(|index| Share { index, of: 3 }).collect(),
            limits: SystemLimits { open_files: Some(files), local_ports: Some(ports) },
        }
    }

    #[test]
    fn each_host_carries_its_share_or_is_named() {
        let limits =
            HostLimits::of_users(vec![host("a", 0..2, 200, 150), host("b", 2..3, 180, 90)]);
        assert_eq!(limits.allow(225), Ok(()), "75 for each worker");
        // The first worker of `a` has one more.
        let ports = ("a".to_owned(), Lack::Ports { connections: 151, ports: 150 });
        assert_eq!(
            limits.allow(226),
            Err(HostLimitError { users: 226, lacking: vec![ports.clone()] })
        );
        let files = ("b".to_owned(), Lack::Files { connections: 81, limit: 180 });
        let error = limits.allow(243).unwrap_err();
        assert_eq!(error.lacking[1], files, "files come first");
        assert_eq!(
            format!("{error}; help: {}", error.help().unwrap()),
            "243 users are too many for their hosts: a: its 162 connections need as many local ports, but the host has 150; \
             b: a worker with 81 connections needs 181 open files, 100 of them for loadgen, but may open 180; help: raise \
             the hard limit of open files there (`ulimit -Hn`), start more workers there, widen \
             net.ipv4.ip_local_port_range there (sysctl), use more hosts, or reduce --users"
        );
    }

    #[test]
    fn shared_connections_and_unknown_limits_need_nothing() {
        let hosts = vec![host("a", 0..3, 120, 10)];
        let two = Sharing { connections: Some(6), streams: None };
        let sharing = HostLimits { sharing: two, ..HostLimits::of_users(hosts.clone()) };
        assert_eq!(sharing.allow(1_000_000), Ok(()));
        let unknown = HostShares { limits: SystemLimits::default(), ..hosts[0].clone() };
        assert_eq!(HostLimits::of_users(vec![unknown]).allow(1_000_000), Ok(()));
    }

    #[test]
    fn the_users_of_a_lost_worker_need_room_on_the_others() {
        let hosts = vec![host("a", 0..3, 150, 10_000)];
        assert_eq!(HostLimits::of_users(hosts.clone()).allow(150), Ok(()));
        let lost = HostLimits { on_loss: OnLoss::Redistribute, ..HostLimits::of_users(hosts) };
        assert_eq!(lost.allow(100), Ok(()));
        let narrow = HostLimits { hosts: vec![host("a", 0..3, 10_000, 100)], ..lost.clone() };
        assert_eq!(narrow.allow(100), Ok(()), "no host has more than all users");
        assert!(narrow.allow(101).is_err());
        let files = Lack::Files { connections: 51, limit: 150 };
        assert_eq!(lost.allow(101).unwrap_err().lacking, [("a".to_owned(), files)]);
        let two = vec![host("a", 0..2, 200, 10_000), host("b", 2..3, 200, 10_000)];
        let lost = HostLimits { hosts: two, ..lost };
        assert_eq!(lost.allow(100), Ok(()));
        assert!(lost.allow(101).is_err(), "b alone has the users of a");
    }

    #[test]
    fn ports_count_for_one_address_only() {
        let is = |url: &str| is_address(url);
        assert!(is("http://10.0.0.1:8000") && is("https://[::1]:8000"));
        assert!(!is("http://app:8000") && !is("http+unix://%2Frun%2Fapp.sock"));
        let hosts = vec![host("a", 0..3, 10_000, 100)];
        let named = HostLimits { any_ports: true, ..HostLimits::of_users(hosts) };
        assert_eq!(named.allow(300), Ok(()), "a name may have several addresses");
    }
}
