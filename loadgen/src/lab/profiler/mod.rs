//! Samples the stacks of a target's processes while it is under load.
//!
//! A kernel may allow a process to look only into its own descendants (ptrace(2), "Yama": Ubuntu's default). The
//! sampler is therefore an ancestor of the server: the [`launcher`], a small process between the guard and the server.
//! It samples from the moment at which somebody connects to its socket until they close their half of the connection,
//! and answers with what it saw.

mod command;
pub mod launcher;
mod node;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(target_os = "linux")]
mod stopped;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::measure::Stacks;

/// Most samples per second of each process, on average.
#[cfg(target_os = "linux")]
const SAMPLES_PER_S: f64 = 1_000.0;

/// Longest wait for what a launcher saw, from the end of the sampling on.
const LIMIT: Duration = Duration::from_secs(20);

/// Answer of a launcher: the stacks, or why there are none.
type Answer = Result<Stacks, String>;

/// A launcher with a server of a target.
#[derive(Debug, Clone)]
pub struct Profiler {
    socket: PathBuf,
}

impl Profiler {
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Socket on which the launcher listens.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

/// Sampling in progress, of all servers of a target.
pub struct Sampling(Vec<io::Result<UnixStream>>);

impl Sampling {
    /// Begins to sample the servers of these launchers.
    pub async fn begin(of: &[Profiler]) -> Self {
        let mut streams = Vec::new();
        for profiler in of {
            streams.push(UnixStream::connect(profiler.socket()).await);
        }
        Self(streams)
    }

    /// Ends the sampling, and returns what all launchers saw.
    ///
    /// # Errors
    /// If a server could not be sampled: says why, as a phrase.
    pub async fn end(self) -> Result<Stacks, String> {
        let mut all = Stacks::default();
        let answers = self.0.into_iter().map(|stream| {
            tokio::spawn(async {
                let answer = tokio::time::timeout(LIMIT, answer(stream?)).await;
                answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            })
        });
        // All are asked for the end before the first answer is waited for.
        for answer in answers.collect::<Vec<_>>() {
            let answer = answer.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            all.merge(answer.map_err(|error| format!("the profiler ended: {error}"))??);
        }
        Ok(all)
    }
}

/// Asks for the end, and reads the answer.
async fn answer(mut stream: UnixStream) -> io::Result<Answer> {
    stream.shutdown().await?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await?;
    Ok(serde_json::from_slice(&text)?)
}
