//! The services that targets need.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A service that the servers under test (targets) need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A Redis server.
    Redis,
    /// A PostgreSQL server.
    Postgres,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Postgres];

    /// Returns the variable of the environment in which programs expect the URL of the backend.
    #[must_use]
    pub fn url_variable(self) -> &'static str {
        match self {
            Self::Redis => "REDIS_URL",
            Self::Postgres => "DATABASE_URL",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
        })
    }
}
