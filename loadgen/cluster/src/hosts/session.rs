//! The connection to a host over which its workers are started, reach the manager, and are ended.

use std::collections::VecDeque;
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
    said: Arc<Mutex<VecDeque<String>>>,
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
        let options = ["-R", &forward, "-o", "ExitOnForwardFailure=yes"];
        let script = format!("exec {FOLDER}/{program} worker --join - --processes {}", joins.len());
        let mut command = ssh::command(&host.name, &options, &script);
        command.stdout(std::process::Stdio::null());
        let mut ssh = command.spawn().map_err(|error| ssh::not_started(&error))?;
        let (stdin, said) = (ssh.stdin.take(), Arc::default());
        let (tell_port, forwarded) = oneshot::channel();
        if let Some(stderr) = ssh.stderr.take() {
            tokio::spawn(listen(stderr, Arc::clone(&said), tell_port));
        }
        let mut session = Self { host, first, ssh, stdin, said };
        let port = tokio::select! {
            port = forwarded => port.ok(),
            // The error follows.
            _ = session.ssh.wait() => None,
            () = tokio::time::sleep(FORWARD_LIMIT) => None,
        };
        let Some(port) = port else {
            return Err(match session.ended().await {
                Some(why) if why.contains("forwarding failed") => {
                    format!("{why}: its sshd must allow it: AllowTcpForwarding remote")
                }
                Some(why) => why,
                None => "it forwarded no port in time".to_owned(),
            });
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

    /// Whether the worker of this number is on the host.
    pub(crate) fn has(&self, worker: u32) -> bool {
        (self.first..self.first + self.host.workers).contains(&worker)
    }

    /// Returns why the session has ended; `None` while it goes on.
    pub(crate) async fn ended(&mut self) -> Option<String> {
        let status = self.ssh.try_wait().ok().flatten()?;
        // What was said last may still be on its way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = said.iter().map(String::as_str).collect();
        Some(ssh::said(&lines.join("\n"), &format!("ssh ended ({status})")))
    }

    /// Ends the workers, and waits for the end of the session, at the latest for this time.
    pub(crate) async fn leave(&mut self, limit: Duration) {
        self.stdin = None;
        if timeout(limit, self.ssh.wait()).await.is_err() {
            let _ = self.ssh.start_kill();
        }
    }
}

/// Keeps what is said, and tells the port that was forwarded.
async fn listen(
    stderr: ChildStderr,
    said: Arc<Mutex<VecDeque<String>>>,
    tell_port: oneshot::Sender<u16>,
) {
    let mut tell_port = Some(tell_port);
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some(port) = allocated(&line) {
            if let Some(tell) = tell_port.take() {
                let _ = tell.send(port);
            }
            continue;
        }
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push_back(line);
        if said.len() > KEPT {
            said.pop_front();
        }
    }
}

/// Returns the port in a line such as `Allocated port 34567 for remote forward to 127.0.0.1:7447`.
fn allocated(line: &str) -> Option<u16> {
    let (port, rest) = line.trim().strip_prefix("Allocated port ")?.split_once(' ')?;
    port.parse().ok().filter(|_| rest.starts_with("for remote forward"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_that_was_forwarded_is_read() {
        let line = "Allocated port 34567 for remote forward to 127.0.0.1:7447\r";
        assert_eq!(allocated(line), Some(34_567));
        assert_eq!(allocated("Warning: Permanently added 'a' to the list of known hosts."), None);
    }
}
