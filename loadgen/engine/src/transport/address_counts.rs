//! Counts the connections to one address of a server, or to its socket.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use loadgen_measure::AddressRecord;

/// Connections and failed attempts to connect in a round.
#[derive(Default)]
pub(super) struct AddressCounts {
    connections: AtomicU64,
    failed: AtomicU64,
    error: OnceLock<String>,
}

impl AddressCounts {
    /// Counts a connection.
    pub(super) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a failed attempt, and keeps the first reason.
    pub(super) fn has_failed(&self, error: &str) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let _ = self.error.set(error.to_owned());
    }

    /// Returns the counts so far as those of `address`.
    pub(super) fn record(&self, address: String) -> AddressRecord {
        AddressRecord {
            address,
            connections: self.connections.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            error: self.error.get().cloned(),
        }
    }
}
