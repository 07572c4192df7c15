//! Holds the connections of a round, with the percentiles of the times in which they were opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use loadgen_measure::{Connections, LatencySummary};

/// The connections of one round, including those opened before the round's start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionsRecord {
    /// Numbers of connections, and histograms of the times in which they were opened.
    #[serde(flatten)]
    pub counts: Connections,
    /// Time to open a connection of TCP or to a socket, without the lookup of the server's name, and with what a proxy
    /// takes to let it pass; empty with the transport `reqwest`, and in documents of earlier
    /// versions.
    #[serde(default)]
    pub connect_us: LatencySummary,
    /// Time of a TLS handshake; empty without TLS, with `reqwest`, and in documents of earlier
    /// versions.
    #[serde(default)]
    pub tls_us: LatencySummary,
}

impl From<Connections> for ConnectionsRecord {
    fn from(counts: Connections) -> Self {
        let connect_us = counts.connect_histogram.latencies().into();
        let tls_us = counts.tls_histogram.latencies().into();
        Self { counts, connect_us, tls_us }
    }
}
