//! How long to wait for a collector: after a message that did not arrive, and at the end.

use std::time::Duration;

use tokio::time::sleep;

use crate::report::telemetry::shared::Shared;

/// Time in which the last message must arrive, after the end of the measurement.
const PATIENCE: Duration = Duration::from_secs(5);

const FIRST_WAIT: Duration = Duration::from_millis(200);

/// Longest wait after several messages that did not arrive, or that a collector may ask for.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Sends with `all` until the end of the measurement, and for some seconds more. Returns whether `all` has ended.
pub(super) async fn in_time(shared: &Shared, all: impl Future<Output = ()>) -> bool {
    let overdue = async {
        shared.all_told.cancelled().await;
        sleep(PATIENCE).await;
    };
    tokio::select! {
        biased;
        () = all => true,
        () = overdue => false,
    }
}

/// Waits after messages that did not arrive, each time twice as long.
pub(super) struct Waits {
    next: Duration,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self { next: FIRST_WAIT }
    }

    /// Waits, for as long as the collector asked for if that is longer. Ends when the measurement does, after which
    /// each wait is as short as the first.
    pub(super) async fn wait(&mut self, shared: &Shared, asked: Option<Duration>) {
        let asked = asked.unwrap_or_default();
        match shared.all_told.is_cancelled() {
            true => sleep(asked.max(FIRST_WAIT)).await,
            false => shared.unless_all_told(sleep(asked.max(self.next))).await,
        }
        self.next = (self.next * 2).min(LONGEST_WAIT);
    }
}
