//! State of telemetry, which its thread and the command share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::known::Known;
use crate::record::TelemetryRecord;

/// Function that shows a message to the user, from any thread.
pub(super) type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// State of telemetry, which its thread and the command share.
pub(super) struct Shared {
    /// Attributes of the command that all metrics have.
    pub(super) resource: Vec<(String, String)>,
    /// Only the thread of telemetry uses it, so that nobody waits.
    known: Mutex<Known>,
    /// What became of the messages to a collector; `None` without a collector.
    exports: Mutex<Option<TelemetryRecord>>,
    scrapes: Mutex<Scrapes>,
    /// Cancelled when the measurement has ended and all of it is known.
    pub(super) all_told: CancellationToken,
    note: Teller,
}

/// When Prometheus asked for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scrapes {
    pub(super) last: Option<Instant>,
    /// Longest time between two scrapes so far.
    pub(super) longest: Option<Duration>,
    /// Whether Prometheus has all that was measured.
    pub(super) has_all: bool,
}

impl Shared {
    pub(super) fn new(resource: Vec<(String, String)>, note: Teller) -> Self {
        Self {
            resource,
            known: Mutex::default(),
            exports: Mutex::default(),
            scrapes: Mutex::default(),
            all_told: CancellationToken::new(),
            note,
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    /// Notes that messages are sent to a collector at this URL.
    pub(super) fn exports_to(&self, url: &str) {
        let record = TelemetryRecord { url: url.to_owned(), ..TelemetryRecord::default() };
        *lock(&self.exports) = Some(record);
    }

    /// Returns what became of the messages to a collector so far; `None` without a collector.
    pub(super) fn exports(&self) -> Option<TelemetryRecord> {
        lock(&self.exports).clone()
    }

    /// Notes that a message is sent.
    pub(super) fn attempted(&self) {
        if let Some(exports) = &mut *lock(&self.exports) {
            exports.messages += 1;
        }
    }

    /// Notes that a message has arrived. Holds the number of values that the collector rejected, with its reason, and
    /// whether the message had all that was measured.
    pub(super) fn delivered(&self, rejected: Option<(u64, String)>, is_all: bool) {
        let mut exports = lock(&self.exports);
        let Some(of) = &mut *exports else { return };
        of.delivered += 1;
        of.is_complete = is_all;
        let Some((values, why)) = rejected else { return };
        let first = (of.rejected_values == 0).then(|| of.url.clone());
        of.rejected_values = of.rejected_values.saturating_add(values);
        of.last_error = Some(why.clone());
        drop(exports);
        if let Some(url) = first {
            (self.note)(&format!("telemetry: {url} rejects some values: {why}"));
        }
    }

    /// Notes that a message has not arrived, and tells the user if it is the first one.
    pub(super) fn failed(&self, why: &str) {
        let mut exports = lock(&self.exports);
        let Some(of) = &mut *exports else { return };
        let first = of.last_error.is_none().then(|| of.url.clone());
        of.last_error = Some(why.to_owned());
        drop(exports);
        if let Some(url) = first {
            let rest = "the measurement goes on, and loadgen tries again";
            (self.note)(&format!("telemetry: cannot send metrics to {url}: {why}; {rest}"));
        }
    }

    /// Notes that the last message has not arrived in time.
    pub(super) fn overdue(&self) {
        if let Some(of) = &mut *lock(&self.exports) {
            of.last_error.get_or_insert_with(|| "it did not answer in time".to_owned());
        }
    }

    /// Waits for something, at most until all is told.
    pub(super) async fn until_told<T>(&self, something: impl Future<Output = T>) {
        tokio::select! {
            biased;
            () = self.all_told.cancelled() => {}
            _ = something => {}
        }
    }

    /// Notes that Prometheus asked for the metrics.
    pub(super) fn scraped(&self, now: Instant) {
        let mut scrapes = lock(&self.scrapes);
        let since = scrapes.last.map(|last| now.saturating_duration_since(last));
        scrapes.longest = scrapes.longest.max(since);
        scrapes.last = Some(now);
        scrapes.has_all |= self.all_told.is_cancelled();
    }

    pub(super) fn scrapes(&self) -> Scrapes {
        *lock(&self.scrapes)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("resource", &self.resource).finish_non_exhaustive()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
