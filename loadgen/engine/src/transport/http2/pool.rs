//! The connections that users share.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync;
use tokio::task::JoinSet;

use super::shared::{Client, Driver, Shared};
use crate::transport::Failure;
use crate::transport::dialer::{Dialer, Sessions};
use crate::transport::http1::Idle;

/// The connections of a process.
pub(super) struct Pool {
    /// Number of connections that the plan needs.
    connections: u32,
    /// Largest number of users of a connection; `None` for no limit.
    streams: Option<u32>,
    slots: Mutex<Vec<Arc<Slot>>>,
    /// The tasks that drive connections. They end with the pool.
    drivers: Mutex<JoinSet<()>>,
}

/// The place of one connection, which is opened again when it breaks.
pub(super) struct Slot {
    /// Number of the connection within the process.
    pub(super) number: u32,
    state: sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last connection; `None` before the first.
    connection: Option<Arc<Shared>>,
    /// Reason why the last attempt failed.
    failure: Option<Failure>,
    sessions: Sessions,
}

/// Connection that a slot gives to a user.
pub(super) enum Access {
    Shared(Client),
    /// The server has chosen HTTP/1.1, where each user has a connection.
    Http1(Idle),
}

impl Pool {
    /// Creates a pool without open connections. Users beyond `streams` for each of the `connections`
    /// get further connections.
    pub(super) fn new(connections: u32, streams: Option<u32>) -> Self {
        let connections = connections.max(1);
        Self { connections, streams, slots: Mutex::default(), drivers: Mutex::default() }
    }

    /// Returns the place of the connection of the user with the number `local` in this process.
    pub(super) fn slot(&self, local: u32) -> Arc<Slot> {
        let number = match self.streams {
            Some(streams) if local / streams >= self.connections => local / streams,
            _ => local % self.connections,
        };
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        while slots.len() <= number as usize {
            let number = u32::try_from(slots.len()).unwrap_or(u32::MAX);
            slots.push(Arc::new(Slot { number, state: sync::Mutex::default() }));
        }
        slots[number as usize].clone()
    }

    /// Starts a task that drives a connection until it is closed.
    fn drive(&self, driver: Driver) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        while drivers.try_join_next().is_some() {}
        drivers.spawn(driver);
    }
}

impl Slot {
    /// Returns a client of the open connection. Opens the connection first if there is none, for the user
    /// with this global number; users who wait for that meanwhile share its result.
    pub(super) async fn client(
        &self,
        pool: &Pool,
        dialer: &Dialer,
        user: u32,
    ) -> Result<Access, Failure> {
        let has_waited = self.state.try_lock().is_err();
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|it| it.is_open()) {
            return Ok(Access::Shared(Client::new(connection.clone())));
        }
        if state.connection.take().is_some_and(|last| last.end_spent()) {
            dialer.renewed();
        }
        // Another user's attempt was under way when this user came, and has failed since.
        match state.failure.take() {
            Some(failure) if has_waited => return Err(state.failure.insert(failure).clone()),
            _ => {}
        }
        match dialer.connect(user, false, &mut state.sessions).await {
            Ok(stream) if stream.refuses_http2() => {
                Ok(Access::Http1(Idle::new(stream, dialer.life())))
            }
            Ok(stream) => {
                let (connection, driver) = Shared::new(stream, dialer.life());
                pool.drive(driver);
                Ok(Access::Shared(Client::new(state.connection.insert(connection).clone())))
            }
            Err(failure) => Err(state.failure.insert(failure).clone()),
        }
    }
}
