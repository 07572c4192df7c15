//! The end of a round, as each user sees it: whether it was ended early, and who is to be woken then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// The end of a round.
#[derive(Default)]
pub struct RoundEnd {
    /// When requests that are still in flight are given up.
    cut_at: Option<Instant>,
    /// Whether no shared iteration, or no row, is left: nobody need wait for its turn any more.
    spent: AtomicBool,
    /// Whether the round was ended early. Users look at it at each request: a flag, and no lock.
    halted: AtomicBool,
    /// Wakes the users that wait, when one of these flags is set or the load is changed.
    users: Mutex<Vec<Waker>>,
}

impl RoundEnd {
    /// Of a round whose requests are given up then, where time ends it.
    #[must_use]
    pub fn new(cut_at: Option<Instant>) -> Self {
        Self { cut_at, ..Self::default() }
    }

    /// Ends the round now.
    pub fn halt(&self) {
        self.set(&self.halted);
    }

    /// Ends the iterations of all users.
    pub fn spend(&self) {
        self.set(&self.spent);
    }

    /// Whether the round was ended early.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Whether no iteration is left to begin, so that nobody need wait for its turn.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Acquire)
    }

    /// When requests that are still in flight are given up: when the drain is over.
    #[must_use]
    pub fn cut_at(&self) -> Option<Instant> {
        self.cut_at
    }

    /// Has a user woken when the round is halted, its iterations are spent, or the load is changed. It
    /// looks whether that has happened already after this, not before.
    pub fn register(&self, user: Waker) {
        self.users().push(user);
    }

    /// Wakes all users.
    pub fn wake(&self) {
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
