//! Counts down users as they end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// Number of users that have not ended yet. A user whose task panics has ended, too.
pub(super) struct Countdown {
    left: AtomicU32,
    /// Cancelled when no user is left.
    over: CancellationToken,
    over_at: OnceLock<Instant>,
    panicked: AtomicBool,
}

impl Countdown {
    /// Counts down from `users`.
    #[must_use]
    pub(super) fn new(users: u32) -> Self {
        Self {
            left: AtomicU32::new(users),
            over: CancellationToken::new(),
            over_at: OnceLock::new(),
            panicked: AtomicBool::new(false),
        }
    }

    /// Adds `more` users. The caller must itself be counted, so that
    /// the count is not zero before the call.
    pub(super) fn add(&self, more: u32) {
        self.left.fetch_add(more, Ordering::AcqRel);
    }

    /// Waits until no user is left.
    pub(super) async fn wait(&self) {
        self.over.cancelled().await;
    }

    /// Returns when the last user ended; `None` while a user is left, or if there were no users.
    #[must_use]
    pub(super) fn over_at(&self) -> Option<Instant> {
        self.over_at.get().copied()
    }

    /// Whether a user's task panicked.
    #[must_use]
    pub(super) fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }
}

/// Counts one user down when dropped, so that a user whose task panics counts too.
pub(super) struct OneLess<'a>(pub &'a Countdown);

impl Drop for OneLess<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.panicked.store(true, Ordering::Relaxed);
        }
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Only one user is the last, so `over_at` is not set yet.
            let _ = self.0.over_at.set(Instant::now());
            self.0.over.cancel();
        }
    }
}
