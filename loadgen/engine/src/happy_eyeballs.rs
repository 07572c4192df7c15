//! Connects to one of several addresses (Happy Eyeballs, RFC 8305).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::local_ports::{LocalPorts, connect};

/// Time after which the next address is tried as well, if an attempt is not yet complete: the
/// Connection Attempt Delay of RFC 8305, section 5.
pub(super) const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Reason reported for an address if a later address connected first.
pub(super) const TOO_LATE: &str = "no connection within 250 ms of another address's";

/// Connects to the first of `addresses` that answers. Tries the next address when an attempt has
/// failed, or when `ATTEMPT_DELAY` has passed since the latest attempt began. Calls `tell` with the
/// address and the reason for each failed attempt, and for each attempt that a later one overtook. The local port is one of
/// `ports`, or the system's choice.
///
/// # Errors
/// Returns the error of the last failed attempt if all attempts failed.
pub async fn dial(
    addresses: Vec<SocketAddr>,
    ports: Option<&Arc<LocalPorts>>,
    tell: &(dyn Fn(SocketAddr, &str) + Sync),
) -> io::Result<(TcpStream, SocketAddr)> {
    let mut untried = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut waiting = Vec::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            let ports = ports.cloned();
            attempts.spawn(async move { (address, connect(address, ports.as_deref()).await) });
            waiting.push(address);
        }
        let ended = tokio::select! {
            ended = attempts.join_next() => ended,
            () = sleep(ATTEMPT_DELAY), if untried.len() > 0 => continue,
        };
        // No attempt panics or is cancelled, so all attempts have failed here.
        let Some(Ok((address, connected))) = ended else { return Err(failed) };
        let at = waiting.iter().position(|waits| *waits == address).unwrap_or(waiting.len());
        match connected {
            Ok(stream) => {
                waiting.iter().take(at).for_each(|slow| tell(*slow, TOO_LATE));
                return Ok((stream, address));
            }
            Err(error) => {
                waiting.retain(|waits| *waits != address);
                tell(address, &error.to_string());
                failed = error;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[tokio::test]
    async fn a_silent_or_refusing_address_does_not_block_the_next() {
        // The queue of this listener is filled below: further connection attempts get no answer.
        let silent = TcpSocket::new_v4().unwrap();
        silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = silent.listen(1).unwrap();
        let silent_address = silent.local_addr().unwrap();
        let mut waiting = Vec::new();
        let is_full = loop {
            match tokio::time::timeout(ATTEMPT_DELAY, TcpStream::connect(silent_address)).await {
                Ok(connected) => waiting.push(connected.unwrap()),
                Err(_) => break true,
            }
            if waiting.len() > 100 {
                break false;
            }
        };
        assert!(is_full, "the queue of a listener has an end");
        // Bound, so that nobody else listens there.
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let closed = bound.local_addr().unwrap();
        let open = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open_address = open.local_addr().unwrap();
        let dialing = dial(vec![silent_address, closed, open_address], None, &|_, _| {});
        let dialed = tokio::time::timeout(Duration::from_secs(5), dialing).await;
        assert_eq!(dialed.unwrap().unwrap().1, open_address);
        let refused = dial(vec![closed, closed], None, &|_, _| {}).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
