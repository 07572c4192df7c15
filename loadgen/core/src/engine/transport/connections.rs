//! Counts the connections that a process opened in a round, and their HTTP versions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::addresses::Addresses;
use crate::measure::Connections;

/// Counts the connections of all users of a process. A request on an open connection changes no
/// count, and costs nothing here.
#[derive(Default)]
pub(super) struct Tally {
    opened: AtomicU64,
    /// Number of connections that got an answer, by the HTTP version of the first answer.
    versions: Mutex<BTreeMap<&'static str, u64>>,
}

impl Tally {
    /// Counts an opened connection.
    pub(super) fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection by the HTTP version of its first answer.
    pub(super) fn speaks(&self, version: &'static str) {
        *self
            .versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(version)
            .or_default() += 1;
    }

    /// Returns all counts so far. `addresses` is `None` if a proxy looks up the server's name.
    pub(super) fn connections(&self, addresses: Option<&Addresses>) -> Connections {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        Connections {
            opened: self.opened.load(Ordering::Relaxed),
            versions: versions.iter().map(|(version, n)| ((*version).to_owned(), *n)).collect(),
            addresses: addresses.map(Addresses::records).unwrap_or_default(),
        }
    }
}
