//! Samples the stacks of Node.js by its own profiler, that of V8: a script that each thread of Node.js loads before the
//! program itself connects to the launcher, begins when it is asked to, and answers with what was seen.

mod profile;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use self::profile::Answered;
use crate::measure::{Process, Stacks};

/// Script that each thread of Node.js loads.
const HOOK: &str = include_str!("hook.cjs");

/// Longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Most bytes of an answer that are read.
const MOST: u64 = 64 << 20;

/// Environment variable with the socket to which the script connects.
const SOCKET: &str = "LOADGEN_NODE_PROFILER";

/// The threads of Node.js below a launcher.
#[derive(Debug, Clone)]
pub(super) struct Node {
    socket: PathBuf,
    hook: PathBuf,
    threads: Arc<Mutex<Vec<BufReader<UnixStream>>>>,
}

impl Node {
    /// Begins to accept the connections of Node.js. Creates a socket and the script in `folder`.
    pub(super) fn listen(folder: &Path) -> io::Result<Self> {
        let (socket, hook) = (folder.join("node.sock"), folder.join("profiler.cjs"));
        std::fs::write(&hook, HOOK)?;
        let listener = UnixListener::bind(&socket)?;
        let threads = Arc::<Mutex<Vec<_>>>::default();
        let of_node = threads.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut threads = of_node.lock().unwrap_or_else(PoisonError::into_inner);
                threads.push(BufReader::new(stream));
            }
        });
        Ok(Self { socket, hook, threads })
    }

    /// Returns the environment variables with which a program, and all that it starts, loads the script.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut options = std::env::var_os("NODE_OPTIONS").unwrap_or_default();
        options.push(" --require \"");
        // Node.js takes a backslash for the beginning of an escape.
        let hook = self.hook.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        options.push(hook);
        options.push("\"");
        [("NODE_OPTIONS", options), (SOCKET, self.socket.clone().into())]
    }

    /// Asks all threads that have connected to begin, and takes them.
    pub(super) async fn begin(&self) -> Vec<BufReader<UnixStream>> {
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let mut begun = Vec::new();
        for mut thread in threads {
            // A thread that has ended is none.
            if thread.write_all(b"begin\n").await.is_ok() {
                begun.push(thread);
            }
        }
        begun
    }

    /// Asks these threads for what they saw.
    ///
    /// # Errors
    /// If there are some, and none of them answers: says why, as a phrase.
    pub(super) async fn end(begun: Vec<BufReader<UnixStream>>) -> Result<Stacks, String> {
        if begun.is_empty() {
            return Ok(Stacks::default());
        }
        let answers = begun.into_iter().map(|thread| tokio::spawn(answer(thread)));
        let (mut all, mut unread, mut why) = (Stacks::default(), Stacks::default(), None);
        // All are asked before the first answer is waited for.
        for answer in answers.collect::<Vec<_>>() {
            let answered = tokio::time::timeout(LIMIT, answer).await;
            match answered.map(|joined| joined.unwrap_or_else(|error| Err(io::Error::other(error))))
            {
                Ok(Ok(answered)) => match answered.stacks() {
                    Ok(stacks) => all.merge(stacks),
                    Err(error) => drop(why.replace(error)),
                },
                // It has ended, or does not come to it.
                Ok(Err(_)) | Err(_) => {
                    unread.merge(Process { missed: 1, ..Process::default() }.into())
                }
            }
        }
        if all.processes.is_empty() {
            return Err(why.unwrap_or_else(|| "no thread of Node.js answered in time".to_owned()));
        }
        all.merge(unread);
        Ok(all)
    }
}

async fn answer(mut thread: BufReader<UnixStream>) -> io::Result<Answered> {
    thread.write_all(b"end\n").await?;
    let mut line = String::new();
    thread.take(MOST).read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}
