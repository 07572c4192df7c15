//! Connects to a server on a Unix domain socket, and counts the connections.

use std::io;
use std::time::Duration;

use loadgen_measure::AddressRecord;
use tokio::net::UnixStream;
use tokio::time::sleep;

use super::address_counts::AddressCounts;

/// Times between attempts to connect while the server's queue of connections is full: the first one, and the longest,
/// with which thousands of waiting users take a fraction of a CPU.
const FIRST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// The socket of a server, with counts of its connections in a round.
pub(super) struct UnixSocket {
    path: String,
    counts: AddressCounts,
}

impl UnixSocket {
    /// Creates the counts for the socket at `path`, without opening a connection.
    pub(super) fn new(path: String) -> Self {
        Self { path, counts: AddressCounts::default() }
    }

    /// Connects. Waits while the server's queue of connections is full: the system does so for TCP, but refuses a
    /// socket with EAGAIN (unix(7)) unless the program blocks.
    pub(super) async fn connect(&self) -> io::Result<UnixStream> {
        let mut wait = FIRST_WAIT;
        loop {
            match UnixStream::connect(&self.path).await {
                Ok(stream) => {
                    self.counts.connected();
                    return Ok(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(wait).await,
                Err(error) => {
                    self.counts.has_failed(&error.to_string());
                    return Err(error);
                }
            }
            wait = (2 * wait).min(LONGEST_WAIT);
        }
    }

    /// Returns the connections and failures.
    pub(super) fn record(&self) -> AddressRecord {
        self.counts.record(format!("unix:{}", self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tokio::time::timeout;

    use super::*;

    /// The queue of Rust's listeners takes 128 connections, or what the system allows.
    #[tokio::test]
    async fn a_full_queue_is_waited_for_and_a_missing_server_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.sock");
        let socket = UnixSocket::new(path.to_str().unwrap().to_owned());
        assert_eq!(socket.connect().await.unwrap_err().kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        let mut waiting = Vec::new();
        let short = Duration::from_millis(200);
        while let Ok(connected) = timeout(short, socket.connect()).await {
            waiting.push(connected.unwrap());
            assert!(waiting.len() < 10_000, "the queue has an end");
        }
        let (connected, ()) = tokio::join!(socket.connect(), async {
            sleep(short).await;
            drop(listener.accept().unwrap());
        });
        connected.unwrap();
        let record = socket.record();
        assert_eq!((record.connections, record.failed), (waiting.len() as u64 + 1, 1));
        assert!(record.error.unwrap().contains("No such file"));
    }
}
