//! The machine, which a test has for itself or shares with others.

use std::sync::{Arc, Weak};

use tokio::sync::{Mutex, MutexGuard};

type Held = MutexGuard<'static, ()>;

static MACHINE: Mutex<()> = Mutex::const_new(());
static SHARED: Mutex<Weak<Held>> = Mutex::const_new(Weak::new());

/// Waits until no other test has the machine. For a test that measures, asserts a deadline or is a
/// burden to others.
pub async fn alone() -> Held {
    MACHINE.lock().await
}

/// Waits until no test has the machine for itself. For a test that mostly waits, and counts.
/// It passes those that want to be alone: so all of its kind run together.
pub async fn beside() -> Arc<Held> {
    let mut shared = SHARED.lock().await;
    if let Some(held) = shared.upgrade() {
        return held;
    }
    let held = Arc::new(alone().await);
    *shared = Arc::downgrade(&held);
    held
}

/// Like [`alone`], for a test without a runtime.
pub fn alone_now() -> Held {
    MACHINE.blocking_lock()
}

/// Like [`beside`], for a test without a runtime.
pub fn beside_now() -> Arc<Held> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(beside())
}
