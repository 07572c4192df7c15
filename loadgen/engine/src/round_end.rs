//! Tells each user whether the round was ended early, and wakes the users that wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// The end of a round, shared by the users of a process.
#[derive(Default)]
pub(super) struct RoundEnd {
    /// Moment at which requests still in flight are given up; `None` unless time ends the round.
    cut_at: Option<Instant>,
    /// Whether no shared iteration or no data row is left, so
    /// that no user has to wait for its turn.
    spent: AtomicBool,
    /// Whether the round was ended early. Users read this flag at each request, without a lock.
    halted: AtomicBool,
    /// Wakers of the users. Called when `spent` or `halted` is set, or when the load is changed.
    users: Mutex<Vec<Waker>>,
}

impl RoundEnd {
    /// Creates the end of a round. `cut_at` is the moment at which requests still in flight are
    /// given up, if time ends the round.
    #[must_use]
    pub(super) fn new(cut_at: Option<Instant>) -> Self {
        Self { cut_at, ..Self::default() }
    }

    /// Ends the round now.
    pub(super) fn halt(&self) {
        self.set(&self.halted);
    }

    /// Ends the iterations of all users, because no iteration or no data row is left.
    pub(super) fn spend(&self) {
        self.set(&self.spent);
    }

    /// Whether the round was ended early.
    #[must_use]
    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Whether no iteration is left to begin, so that no user has to wait for its turn.
    #[must_use]
    pub(super) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Acquire)
    }

    /// Returns when requests still in flight are given up: at the end of
    /// the drain. `None` unless time ends the round.
    #[must_use]
    pub(super) fn cut_at(&self) -> Option<Instant> {
        self.cut_at
    }

    /// Registers a user to be woken when the round is halted, its iterations are used up, or the
    /// load is changed. A user must check for these events after the registration: a user that
    /// checks before may miss an event.
    pub(super) fn register(&self, user: Waker) {
        self.users().push(user);
    }

    /// Wakes all registered users.
    pub(super) fn wake(&self) {
        self.users().iter().for_each(Waker::wake_by_ref);
    }

    fn set(&self, flag: &AtomicBool) {
        if !flag.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    fn users(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
