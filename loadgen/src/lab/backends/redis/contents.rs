//! The keys of Redis before a round.

use std::io;
use std::time::Duration;

use super::client::{Client, command};
use crate::lab::backends::profiles::{self, AT_A_TIME, KEYS_EACH, TOKEN};
use crate::text::count;

/// Timeout for a few short commands to Redis, which usually take far less time.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Keys and values in Redis at the start of every round.
const KEYS: [(&str, &str); 3] =
    [("loadgen:1", "value-1"), ("loadgen:2", "value-2"), ("loadgen:3", "value-3")];

impl Client {
    /// Deletes all keys, and carries out commands, one in each line: words that spaces separate. Lines that
    /// begin with `#` are comments. The error is a sentence.
    pub async fn restore(&self, commands: &str) -> Result<(), String> {
        let mut connection = self.connect().await.map_err(|error| error.to_string())?;
        let lines = commands.lines().map(str::trim).filter(|line| !line.is_empty());
        let commands = lines.filter(|line| !line.starts_with('#'));
        for line in ["FLUSHALL"].into_iter().chain(commands) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let done = within(command(&mut connection, &words)).await;
            done.map_err(|error| format!("`{line}` failed: {error}"))?;
        }
        Ok(())
    }

    /// Deletes all keys, and sets the keys that scenarios read, with this number of profiles.
    /// Profiles that are there stay if there is no other key, because targets only read them.
    /// `progress` is told before a slow step.
    pub async fn fill(&self, profiles: u64, progress: &dyn Fn(&str)) -> io::Result<()> {
        let mut connection = self.connect().await?;
        let keys = KEYS.len() as u64 + 1 + profiles * KEYS_EACH;
        let has = within(command(&mut connection, &["DBSIZE"])).await?;
        let stays = profiles > 0 && has == Some(keys.to_string());
        if !stays {
            within(command(&mut connection, &["FLUSHALL"])).await?;
        }
        for (key, value) in KEYS {
            within(command(&mut connection, &["SET", key, value])).await?;
        }
        if stays || profiles == 0 {
            return Ok(());
        }
        progress(&format!("making {} profiles in redis", count(profiles)));
        within(command(&mut connection, &["SET", "profiles:token", TOKEN])).await?;
        let cities = profiles::cities();
        for first in (1..=profiles).step_by(usize::try_from(AT_A_TIME).unwrap_or(usize::MAX)) {
            let [from, to] = [first, profiles.min(first + AT_A_TIME - 1)].map(|n| n.to_string());
            let words = ["EVAL", profiles::LUA, "0", &from, &to, &cities];
            within(command(&mut connection, &words)).await?;
        }
        Ok(())
    }
}

/// Awaits the reply to a command, or fails after [`COMMAND_TIMEOUT`].
pub(super) async fn within<T>(reply: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(COMMAND_TIMEOUT, reply).await.unwrap_or_else(|late| Err(late.into()))
}
