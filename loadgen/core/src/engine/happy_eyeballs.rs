//! Connecting to one of several addresses (Happy Eyeballs, RFC 8305).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long an address is waited for before the next one is tried as well: the Connection Attempt
/// Delay of section 5.
pub const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// What is told of an attempt that another one overtook.
pub const TOO_LATE: &str = "no connection within 250 ms of another address's";

/// Connects to the first of these addresses that answers. Each is tried when the one before it has failed, or
/// has not answered within [`ATTEMPT_DELAY`]. `tell` hears why an address gave no connection.
///
/// # Errors
/// What came of the attempt that failed last, when all have.
pub async fn dial(
    addresses: Vec<SocketAddr>,
    tell: &(dyn Fn(SocketAddr, &str) + Sync),
) -> io::Result<(TcpStream, SocketAddr)> {
    let mut untried = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut waiting = Vec::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.spawn(async move { (address, TcpStream::connect(address).await) });
            waiting.push(address);
        }
        let ended = tokio::select! {
            ended = attempts.join_next() => ended,
            () = sleep(ATTEMPT_DELAY), if untried.len() > 0 => continue,
        };
        // No attempt panics, and none is cancelled.
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
    async fn an_address_that_is_silent_or_refuses_keeps_nobody_from_the_next() {
        // Its queue is full: whoever knocks is not heard.
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
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let open = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open_address = open.local_addr().unwrap();
        let dialing = dial(vec![silent_address, closed, open_address], &|_, _| {});
        let dialed = tokio::time::timeout(Duration::from_secs(5), dialing).await;
        assert_eq!(dialed.unwrap().unwrap().1, open_address);
        let refused = dial(vec![closed, closed], &|_, _| {}).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
