//! Counts users down as they come to an end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// How many users are still at it, however they end.
pub struct Countdown {
    left: AtomicU32,
    /// Set when nobody is left.
    over: CancellationToken,
    over_at: OnceLock<Instant>,
    panicked: AtomicBool,
}

impl Countdown {
    /// Of `users` users.
    #[must_use]
    pub fn new(users: u32) -> Self {
        Self {
            left: AtomicU32::new(users),
            over: CancellationToken::new(),
            over_at: OnceLock::new(),
            panicked: AtomicBool::new(false),
        }
    }

    /// Takes in `more` users. Only who is counted itself may call it, so that it is not over yet.
    pub fn add(&self, more: u32) {
        self.left.fetch_add(more, Ordering::AcqRel);
    }

    /// Waits until nobody is left.
    pub async fn wait(&self) {
        self.over.cancelled().await;
    }

    /// When the last one ended; `None` as long as one is left, or where there was none.
    #[must_use]
    pub fn over_at(&self) -> Option<Instant> {
        self.over_at.get().copied()
    }

    /// Whether one ended in a panic.
    #[must_use]
    pub fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }
}

/// One user less when it is dropped, so that it counts also where a user's task panics.
pub struct OneLess<'a>(pub &'a Countdown);

impl Drop for OneLess<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.panicked.store(true, Ordering::Relaxed);
        }
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Only one is the last, so nobody has set it before.
            let _ = self.0.over_at.set(Instant::now());
            self.0.over.cancel();
        }
    }
}
