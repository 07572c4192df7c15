//! How many connections a process opened in a round, and what was spoken over them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::addresses::Addresses;
use crate::measure::Connections;

/// Counts connections: nothing of it happens for each request.
#[derive(Default)]
pub struct Tally {
    opened: AtomicU64,
    /// Those over which an answer came, by the version of the first one.
    versions: Mutex<BTreeMap<&'static str, u64>>,
}

impl Tally {
    /// Counts a connection that was opened.
    pub fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection by the version of its first answer.
    pub fn speaks(&self, version: &'static str) {
        *self
            .versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(version)
            .or_default() += 1;
    }

    /// All of them, with those that each address got, where this process looks them up.
    pub fn connections(&self, addresses: Option<&Addresses>) -> Connections {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        Connections {
            opened: self.opened.load(Ordering::Relaxed),
            versions: versions.iter().map(|(version, n)| ((*version).to_owned(), *n)).collect(),
            addresses: addresses.map(Addresses::records).unwrap_or_default(),
        }
    }
}
