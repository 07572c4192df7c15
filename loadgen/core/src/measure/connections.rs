//! Records the connections of a round's requests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

/// Connections used in one measured round, including connections opened before the round's start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Number of connections opened.
    pub opened: u64,
    /// Number of connections that received a response, by the HTTP version of the connection's
    /// first response, such as `HTTP/1.1`.
    pub versions: BTreeMap<String, u64>,
    /// Addresses that the server's host name resolves to; empty if a proxy looks up the name.
    pub addresses: Vec<AddressRecord>,
}

/// One address that the server's host name resolves to, with the results of connecting to the
/// address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRecord {
    /// IP address and port, such as `127.0.0.1:8000`.
    pub address: String,
    /// Number of connections that requests opened to the address; connections of reachability
    /// checks are not included.
    pub connections: u64,
    /// Number of failed attempts to connect to the address.
    pub failed: u64,
    /// Reason of the first failure; `None` if no attempt failed.
    pub error: Option<String>,
}

impl Connections {
    /// Adds the connections of another process or round. Sums saturate, because the numbers
    /// may come from the network.
    pub fn merge(&mut self, other: &Self) {
        self.opened = self.opened.saturating_add(other.opened);
        for (version, n) in &other.versions {
            match self.versions.entry(version.clone()) {
                Entry::Vacant(free) => drop(free.insert(*n)),
                Entry::Occupied(mut ours) => *ours.get_mut() = ours.get().saturating_add(*n),
            }
        }
        for theirs in &other.addresses {
            match self.addresses.iter_mut().find(|ours| ours.address == theirs.address) {
                None => self.addresses.push(theirs.clone()),
                Some(ours) => {
                    ours.connections = ours.connections.saturating_add(theirs.connections);
                    ours.failed = ours.failed.saturating_add(theirs.failed);
                    ours.error = ours.error.take().or_else(|| theirs.error.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str, connections: u64, error: Option<&str>) -> Connections {
        let error = error.map(str::to_owned);
        let failed = u64::from(error.is_some());
        Connections {
            opened: connections,
            versions: BTreeMap::from([("HTTP/1.1".to_owned(), connections)]),
            addresses: vec![AddressRecord {
                address: address.to_owned(),
                connections,
                failed,
                error,
            }],
        }
    }

    #[test]
    fn connections_of_processes_are_summed() {
        let mut all = Connections::default();
        for one in [of("a:1", 3, None), of("b:1", 0, Some("refused")), of("a:1", u64::MAX, None)] {
            all.merge(&one);
        }
        let [a, b] = &all.addresses[..] else { panic!("{all:?}") };
        assert_eq!((all.opened, all.versions["HTTP/1.1"]), (u64::MAX, u64::MAX));
        assert_eq!((a.connections, a.failed), (u64::MAX, 0));
        assert_eq!((b.connections, b.failed, b.error.as_deref()), (0, 1, Some("refused")));
    }
}
