//! Opens the first connections of users before the start.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;

use crate::plan::Number;

/// Number of connections opened concurrently. Stays below the shortest usual backlog of a listening
/// server (128).
const AT_ONCE: usize = 100;

/// Connections opened before the start and still unused, by their user's number within the process.
pub(super) struct Ahead<C>(Mutex<HashMap<u32, C>>);

impl<C: Send + 'static> Ahead<C> {
    /// Opens a connection for each of these users with `connect`. Stops at the first user without one:
    /// the remaining users connect when they send, and count the error.
    pub(super) async fn open<F>(
        &self,
        users: impl Iterator<Item = Number>,
        connect: impl Fn(Number) -> F,
    ) where
        F: Future<Output = Option<C>> + Send + 'static,
    {
        let mut opening = JoinSet::new();
        for user in users {
            if opening.len() >= AT_ONCE && !self.keep(opening.join_next().await) {
                return;
            }
            let connecting = connect(user);
            opening.spawn(async move { (user, connecting.await) });
        }
        while self.keep(opening.join_next().await) {}
    }

    /// Stores an opened connection for its user. Returns `false` if `opened` contains no connection.
    fn keep<E>(&self, opened: Option<Result<(Number, Option<C>), E>>) -> bool {
        let Some(Ok((user, Some(connection)))) = opened else { return false };
        self.insert(user.local, connection);
        true
    }

    /// Stores a connection for the user with this number within the process.
    pub(super) fn insert(&self, local: u32, connection: C) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(local, connection);
    }

    /// Returns the connection of the user with this number within the process; `None` if there is none.
    pub(super) fn take(&self, local: u32) -> Option<C> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&local)
    }
}

impl<C> Default for Ahead<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
