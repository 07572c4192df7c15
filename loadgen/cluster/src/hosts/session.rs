//! The connection to a host over which its workers are started, reach the manager, and are ended.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::LOOPBACK;
use super::WorkerHost;
use super::program::FOLDER;
use super::ssh;
use crate::join::Join;

/// Time limit for a host to forward a port.
const FORWARD_LIMIT: Duration = Duration::from_secs(30);

/// Reason of a host that forwards no port, with who may have forbidden it.
const NO_FORWARDING: &str = "it does not forward ports, which its sshd must allow (AllowTcpForwarding, PermitListen and \
    DisableForwarding of its sshd_config), and the key, too (authorized_keys without no-port-forwarding and restrict)";

/// Most lines of the host's output of errors that are kept.
const KEPT: usize = 20;

/// Workers on a host, as long as this value exists.
pub struct Session {
    host: WorkerHost,
    /// Number of the host's first worker.
    first: u32,
    ssh: Child,
    /// The workers leave when it is closed, as it is when this process ends for any reason.
    stdin: Option<ChildStdin>,
    said: Said,
}

impl Session {
    /// Starts a worker for each join document, of which `first` is the number of the first. The workers find the manager
    /// at a port of their host that leads to `port` of this one. `program` is the name of the program there.
    pub(super) async fn start(
        host: WorkerHost,
        first: u32,
        joins: Vec<Join>,
        port: u16,
        program: &str,
    ) -> Result<Self, String> {
        let forward = format!("{LOOPBACK}:0:{LOOPBACK}:{port}");
        let script = format!("exec {FOLDER}/{program} worker --join - --processes {}", joins.len());
        let mut command = ssh::command(&host.name, &["-R", &forward], &script);
        command.stdout(Stdio::null());
        let mut ssh = command.spawn().map_err(|error| ssh::not_started(&error))?;
        let stdin = ssh.stdin.take();
        let (said, forwarded) = forwarded(&mut ssh, port).await;
        let mut session = Self { host, first, ssh, stdin, said };
        let port = match forwarded {
            Ok(port) => port,
            Err(Unforwarded::Refused(why)) => return Err(why),
            Err(Unforwarded::Ended) => {
                let _ = timeout(FORWARD_LIMIT, session.ssh.wait()).await;
                let why = session.ended().await;
                return Err(why.unwrap_or_else(|| "ssh closed its output".to_owned()));
            }
        };
        if let Some(pipe) = &mut session.stdin {
            for join in joins {
                let mut document = serde_json::to_vec(&join.at(format!("{LOOPBACK}:{port}")))
                    .map_err(|error| error.to_string())?;
                document.push(b'\n');
                // If this fails, the command has ended, which is noticed.
                let _ = pipe.write_all(&document).await;
            }
        }
        Ok(session)
    }

    /// Returns the destination of the host.
    pub(crate) fn host(&self) -> &str {
        &self.host.name
    }

    /// Returns the name of the host, as the user calls it, without the user there.
    pub(crate) fn machine(&self) -> &str {
        self.host.machine()
    }

    /// Whether the worker of this number is on the host.
    pub(crate) fn has(&self, worker: u32) -> bool {
        (self.first..self.first + self.host.workers).contains(&worker)
    }

    /// Returns why the session has ended; `None` while it goes on.
    pub(crate) async fn ended(&mut self) -> Option<String> {
        let status = self.ssh.try_wait().ok().flatten()?;
        Some(last_words(&self.said).await.unwrap_or_else(|| format!("ssh ended ({status})")))
    }

    /// Returns what the host, or ssh, said last; `None` if neither said anything.
    pub(crate) fn said(&self) -> Option<String> {
        last(&self.said)
    }

    /// Tells the workers to leave.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the session, at the latest for this time.
    pub(crate) async fn end(&mut self, limit: Duration) {
        if timeout(limit, self.ssh.wait()).await.is_err() {
            let _ = self.ssh.start_kill();
        }
    }
}

/// Last lines that a host, or ssh, has said.
pub(super) type Said = Arc<Mutex<VecDeque<String>>>;

/// Returns the last of these lines after the end of their program; `None` if there are none.
pub(super) async fn last_words(said: &Said) -> Option<String> {
    // They may still be on their way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    last(said)
}

/// Returns the last of these lines; `None` if there are none.
fn last(said: &Said) -> Option<String> {
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<&str> = said.iter().map(String::as_str).collect();
    Some(ssh::said(&lines.join("\n"), "")).filter(|said| !said.is_empty())
}

/// Why a host forwards no port.
pub(super) enum Unforwarded {
    /// It refuses, or does not answer.
    Refused(String),
    /// The output of errors has ended.
    Ended,
}

/// Waits until the host forwards a port to `port` of this one. Returns the port there, and what the host says.
pub(super) async fn forwarded(ssh: &mut Child, port: u16) -> (Said, Result<u16, Unforwarded>) {
    let said = Said::default();
    let (tell, forwarded) = oneshot::channel();
    if let Some(stderr) = ssh.stderr.take() {
        tokio::spawn(listen(stderr, port, Arc::clone(&said), tell));
    }
    let refused = |why: &str| Err(Unforwarded::Refused(why.to_owned()));
    let port = match timeout(FORWARD_LIMIT, forwarded).await {
        Ok(Ok(Some(port))) => Ok(port),
        Ok(Ok(None)) => refused(NO_FORWARDING),
        Ok(Err(_)) => Err(Unforwarded::Ended),
        Err(_) => refused("it forwarded no port in time"),
    };
    (said, port)
}

/// Keeps what is said, and tells the port that was forwarded to `port`; `None` if it was refused.
async fn listen(stderr: ChildStderr, port: u16, said: Said, tell: oneshot::Sender<Option<u16>>) {
    let mut tell = Some(tell);
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        let forwarded = allocated(&line, port);
        let is_refused = line.contains("remote port forwarding failed for listen port 0");
        if forwarded.is_none() {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_back(line);
            if said.len() > KEPT {
                said.pop_front();
            }
        }
        if (forwarded.is_some() || is_refused)
            && let Some(tell) = tell.take()
        {
            let _ = tell.send(forwarded);
        }
    }
}

/// Returns the port in a line such as `Allocated port 34567 for remote forward to 127.0.0.1:7447`, if it leads to `to`.
fn allocated(line: &str, to: u16) -> Option<u16> {
    let (port, rest) = line.trim().strip_prefix("Allocated port ")?.split_once(' ')?;
    let is_ours = rest == format!("for remote forward to {LOOPBACK}:{to}");
    port.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_that_was_forwarded_is_read() {
        let line = "Allocated port 34567 for remote forward to 127.0.0.1:7447\r";
        assert_eq!(allocated(line, 7_447), Some(34_567));
        assert_eq!(allocated(line, 7_448), None, "one of the user's own");
        let other = "Warning: Permanently added 'a' to the list of known hosts.";
        assert_eq!(allocated(other, 7_447), None);
    }
}
