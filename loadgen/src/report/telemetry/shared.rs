//! State of telemetry, which its thread and the command share.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::known::Known;
use super::spans::Spans;
use crate::record::TelemetryRecord;
use crate::report::progress::Teller;

/// State of telemetry, which its thread and the command share.
pub(super) struct Shared {
    /// Attributes of the command that all metrics have.
    pub(super) resource: Vec<(String, String)>,
    /// When counting began.
    pub(super) start: SystemTime,
    /// Only the thread of telemetry uses it, so that nobody waits.
    known: Mutex<Known>,
    /// What became of the messages to a collector; `None` without a collector.
    exports: Mutex<Option<Exports>>,
    /// Traced requests, which wait to be sent. The command's thread never uses them.
    spans: Mutex<Spans>,
    scrapes: Mutex<Scrapes>,
    /// Cancelled when the measurement has ended and all of it is known.
    pub(super) all_told: CancellationToken,
    note: Teller,
}

/// Messages to a collector.
#[derive(Debug, Clone, Default)]
struct Exports {
    record: TelemetryRecord,
    /// Whether some message was lost whose content no later one has.
    is_something_lost: bool,
    /// Whether the user was told of a message that did not arrive.
    was_told: bool,
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
            start: SystemTime::now(),
            known: Mutex::default(),
            exports: Mutex::default(),
            spans: Mutex::default(),
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
        *lock(&self.exports) = Some(Exports { record, ..Exports::default() });
    }

    /// Returns what became of the messages to a collector; `None` without a collector, and before the end, when it may
    /// still get what it lacks.
    pub(super) fn exports(&self) -> Option<TelemetryRecord> {
        let exports = lock(&self.exports);
        let exports = exports.as_ref().filter(|_| self.all_told.is_cancelled());
        exports.map(|it| TelemetryRecord { spans: self.spans().record(), ..it.record.clone() })
    }

    /// Notes that a message has arrived. Holds the number of values that the collector rejected, with its reason, and
    /// whether the message had all that was measured.
    pub(super) fn delivered(&self, rejected: Option<(u64, String)>, is_all: bool) {
        let mut exports = lock(&self.exports);
        let Some(Exports { record, is_something_lost, .. }) = &mut *exports else { return };
        record.messages += 1;
        record.delivered += 1;
        record.is_complete = is_all && !*is_something_lost;
        let Some((values, why)) = rejected else { return };
        let first = (record.rejected_values == 0).then(|| record.url.clone());
        record.rejected_values = record.rejected_values.saturating_add(values);
        record.last_error = Some(why.clone());
        drop(exports);
        if let Some(url) = first {
            (self.note)(&format!("telemetry: {url} rejects some values: {why}"));
        }
    }

    /// Notes that a message has not arrived, and tells the user if it is the first one. `is_lost` tells whether no later
    /// message has what it had.
    pub(super) fn failed(&self, why: &str, is_lost: bool) {
        let mut exports = lock(&self.exports);
        let Some(Exports { record, is_something_lost, was_told }) = &mut *exports else { return };
        record.messages += 1;
        record.last_error = Some(why.to_owned());
        *is_something_lost |= is_lost;
        let first = (!std::mem::replace(was_told, true)).then(|| record.url.clone());
        drop(exports);
        if let Some(url) = first {
            let rest = "the measurement goes on, and later messages are sent";
            (self.note)(&format!("telemetry: cannot send metrics to {url}: {why}; {rest}"));
        }
    }

    /// Notes that the last message has not arrived in time.
    pub(super) fn overdue(&self) {
        if let Some(Exports { record, .. }) = &mut *lock(&self.exports) {
            record.messages += 1;
            record.last_error.get_or_insert_with(|| "it did not answer in time".to_owned());
        }
    }

    pub(super) fn spans(&self) -> MutexGuard<'_, Spans> {
        lock(&self.spans)
    }

    /// Notes that spans have not arrived, and tells the user if it is the first time.
    pub(super) fn failed_spans(&self, why: &str) {
        let first = self.spans().failed(why);
        if let Some(url) = first {
            let rest = "the measurement goes on, and later spans are sent";
            (self.note)(&format!("telemetry: cannot send spans to {url}: {why}; {rest}"));
        }
    }

    /// Waits for something, at most until all is told.
    pub(super) async fn unless_all_told<T>(&self, something: impl Future<Output = T>) {
        tokio::select! {
            biased;
            () = self.all_told.cancelled() => {}
            _ = something => {}
        }
    }

    /// Notes that Prometheus gets the metrics. `is_all` tells whether those are all that was measured.
    pub(super) fn scraped(&self, now: Instant, is_all: bool) {
        let mut scrapes = lock(&self.scrapes);
        let since = scrapes.last.map(|last| now.saturating_duration_since(last));
        scrapes.longest = scrapes.longest.max(since);
        scrapes.last = Some(now);
        scrapes.has_all |= is_all;
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
