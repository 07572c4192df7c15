//! Records the connections of a round's requests, and how long opening them took.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::handshake::Handshake;
use super::latencies::Distribution;

/// Connections used in one measured round, including connections opened before the round's start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections opened.
    pub opened: u64,
    /// Connections that loadgen ended because of `connection` in `[http]`: after a number of requests, or a time.
    #[serde(default)]
    pub renewed: u64,
    /// Connections over which a response came, by the HTTP version of the first response, such as
    /// `HTTP/1.1`.
    pub versions: BTreeMap<String, u64>,
    /// Addresses of the server's name, or its socket; empty if a proxy looks the name up, and for a socket with the
    /// transport `reqwest`.
    pub addresses: Vec<AddressRecord>,
    /// TLS handshakes, by TLS version and cipher suite, such as `TLS 1.3, AES_256_GCM_SHA384`;
    /// empty if `tls_us` is.
    #[serde(default)]
    pub tls_suites: BTreeMap<String, u64>,
    /// TLS handshakes that resumed an earlier session of the same user.
    #[serde(default)]
    pub tls_resumed: u64,
    /// All times of `connect_us`, in µs, encoded like `latency_histograms`.
    #[serde(default)]
    pub connect_histogram: Distribution,
    /// All times of `tls_us`, in µs, encoded like `latency_histograms`.
    #[serde(default)]
    pub tls_histogram: Distribution,
}

/// One address that the server's host name resolves to, with the results of connecting to the
/// address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressRecord {
    /// Address and port, such as `127.0.0.1:8000`; or `unix:` and the path of a socket.
    pub address: String,
    /// Connections made to the address for requests, without reachability checks.
    pub connections: u64,
    /// Failed attempts to connect to the address.
    pub failed: u64,
    /// Reason of the first failure; `None` if no attempt failed.
    pub error: Option<String>,
}

impl Connections {
    /// Counts a connection that took `connect` to open, and then a TLS handshake; `None` without TLS.
    pub fn opened(&mut self, connect: Duration, tls: Option<Handshake>) {
        self.opened += 1;
        self.connect_histogram.record(connect);
        let Some(Handshake { time, suite, is_resumed }) = tls else { return };
        self.tls_histogram.record(time);
        *self.tls_suites.entry(suite).or_default() += 1;
        self.tls_resumed += u64::from(is_resumed);
    }

    /// Adds the connections of another process or round. Sums saturate, because the numbers
    /// may come from the network.
    pub fn merge(&mut self, other: &Self) {
        self.opened = self.opened.saturating_add(other.opened);
        self.renewed = self.renewed.saturating_add(other.renewed);
        add(&mut self.versions, &other.versions);
        add(&mut self.tls_suites, &other.tls_suites);
        self.tls_resumed = self.tls_resumed.saturating_add(other.tls_resumed);
        self.connect_histogram.merge(&other.connect_histogram);
        self.tls_histogram.merge(&other.tls_histogram);
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

fn add(ours: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (name, n) in theirs {
        match ours.entry(name.clone()) {
            Entry::Vacant(free) => drop(free.insert(*n)),
            Entry::Occupied(mut ours) => *ours.get_mut() = ours.get().saturating_add(*n),
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
            ..Connections::default()
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

    #[test]
    fn the_times_of_handshakes_are_merged() {
        let (ms, suite) = (Duration::from_millis(1), "TLS 1.3, AES_128_GCM_SHA256".to_owned());
        let handshake =
            |time, is_resumed| Some(Handshake { time, suite: suite.clone(), is_resumed });
        let mut all = Connections::default();
        let mut other = Connections::default();
        all.opened(ms, handshake(3 * ms, false));
        other.opened(ms, handshake(5 * ms, true));
        other.opened(7 * ms, None);
        all.merge(&other);
        assert_eq!((all.opened, all.tls_resumed, all.tls_suites[&suite]), (3, 1, 2));
        let [connect, tls] = [&all.connect_histogram, &all.tls_histogram].map(|it| it.latencies());
        assert_eq!((connect.len(), connect.max(), tls.len()), (3, Some(7_003), 2));
        assert_eq!((tls.min(), tls.max()), (Some(3_000), Some(5_003)));
    }
}
