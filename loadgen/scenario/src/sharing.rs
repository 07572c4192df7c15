//! How users of HTTP/2 share connections.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Keys of `[http]` by which users of HTTP/2 share connections. Without them, each user has its own
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sharing {
    /// Number of connections over all workers, to which users are assigned evenly; at least 1.
    pub connections: Option<u32>,
    /// Largest number of users of a connection, and thus of its concurrent requests; at least 1.
    pub streams: Option<u32>,
}

/// All connections together carry fewer concurrent requests than there are users: some requests would
/// wait in loadgen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "connections = {connections} with streams = {streams} carries {} requests at a time, fewer than \
     {users} users send",
    u64::from(*connections) * u64::from(*streams)
)]
pub struct TooFewStreams {
    /// Number of connections.
    pub connections: u32,
    /// Largest number of users of a connection.
    pub streams: u32,
    /// Number of users.
    pub users: u32,
}

impl Sharing {
    /// Returns whether users share connections.
    #[must_use]
    pub fn is_set(self) -> bool {
        self != Self::default()
    }

    /// Checks that the connections carry the requests of `users` users at the same time.
    ///
    /// # Errors
    /// If they don't.
    pub fn check(self, users: u32) -> Result<(), TooFewStreams> {
        let Self { connections: Some(connections), streams: Some(streams) } = self else {
            return Ok(());
        };
        match u64::from(connections) * u64::from(streams) < u64::from(users) {
            true => Err(TooFewStreams { connections, streams, users }),
            false => Ok(()),
        }
    }

    /// Returns the largest number of connections that `users` users have open at the same time, if
    /// `workers` workers divide the users evenly. Each worker opens its own connections.
    ///
    /// ```
    /// use loadgen_scenario::Sharing;
    ///
    /// let ten_each = Sharing { connections: None, streams: Some(10) };
    /// assert_eq!(ten_each.connections_of(100, 1), 10);
    /// // Three workers with 34, 33 and 33 users.
    /// assert_eq!(ten_each.connections_of(100, 3), 12);
    /// ```
    #[must_use]
    pub fn connections_of(self, users: u32, workers: u32) -> u32 {
        match self {
            Self { connections: Some(connections), .. } => connections.min(users),
            Self { streams: Some(streams), .. } => {
                let workers = workers.max(1);
                let (each, more) = (users / workers, users % workers);
                let (most, least) = ((each + 1).div_ceil(streams), each.div_ceil(streams));
                more * most + (workers - more) * least
            }
            _ => users,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_connection_unless_they_share() {
        let own = Sharing::default();
        assert_eq!(
            (own.is_set(), own.check(1_000_000), own.connections_of(7, 2)),
            (false, Ok(()), 7)
        );
        let two = Sharing { connections: Some(2), streams: None };
        assert_eq!((two.check(1_000), two.connections_of(1_000, 2)), (Ok(()), 2));
        assert_eq!(two.connections_of(1, 1), 1, "a user has one connection");
    }

    #[test]
    fn more_users_than_streams_are_refused() {
        let both = Sharing { connections: Some(2), streams: Some(10) };
        assert_eq!(both.check(20), Ok(()));
        let error = both.check(21).unwrap_err();
        assert_eq!(
            error.to_string(),
            "connections = 2 with streams = 10 carries 20 requests at a time, fewer than 21 users send"
        );
    }
}
