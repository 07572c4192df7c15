//! What backends hold that the lab does not start itself, such as those in the pods of a cluster.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::fill::refuse_existing;
use super::{postgres, redis};
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::manifest::Manifest;
use crate::scenario::{Backend, Existing};

/// Time for a Redis that has just been started to answer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Time between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(200);

/// What a backend holds when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// A script for psql, which makes the tables and their rows.
    Postgres(String),
    /// The keys that scenarios read, and this number of profiles.
    Keys(u64),
    /// Commands of the user's own for Redis, one in each line.
    Commands(String),
}

impl Contents {
    /// Reads what a backend of this project holds.
    ///
    /// # Errors
    /// If a file cannot be read, if only a command of the user's could fill the backend, or if the scenario asks for
    /// data that is not the project's.
    pub fn of(home: &Home, backend: Backend, existing: Existing) -> Result<Self, LabError> {
        let read =
            |path: &std::path::Path| fs::read_to_string(path).map_err(LabError::file("read", path));
        if !home.is_own() {
            return Ok(match backend {
                Backend::Redis => Self::Keys(existing.profiles),
                Backend::Postgres => {
                    Self::Postgres(postgres::script(&read(&home.schema())?, existing))
                }
            });
        }
        refuse_existing(existing)?;
        let inits = Manifest::of(home)?.inits;
        let init = match backend {
            Backend::Redis => inits.redis,
            Backend::Postgres => inits.postgres,
        };
        if init.fill.is_some() {
            return Err(LabError::Missing {
                service: backend.to_string(),
                what: "`fill` runs a command on this machine, from which the backend in a cluster cannot be reached"
                    .to_owned(),
                help: format!("write what it does into a file: [backend.{backend}] init = \"FILE\""),
            });
        }
        let text = init.file.map(|file| read(&home.root().join(file))).transpose()?;
        let text = text.unwrap_or_default();
        Ok(match backend {
            Backend::Redis => Self::Commands(text),
            Backend::Postgres => Self::Postgres(text),
        })
    }
}

/// Fills the Redis that listens on this port of loopback, as soon as it answers. PostgreSQL carries out its script itself.
///
/// # Errors
/// Returns a sentence if it does not answer within a minute, or refuses a command.
pub async fn fill_redis(port: u16, password: &str, contents: &Contents) -> Result<(), String> {
    let client = redis::Client::new(port, password);
    let until = Instant::now() + START_LIMIT;
    while let Err(error) = client.connect().await {
        if Instant::now() >= until {
            return Err(format!("redis does not answer: {error}"));
        }
        sleep(AGAIN).await;
    }
    match contents {
        Contents::Keys(profiles) => {
            client.fill(*profiles, &|_| {}).await.map_err(|error| error.to_string())
        }
        Contents::Commands(commands) => client.restore(commands).await,
        Contents::Postgres(_) => Ok(()),
    }
}
