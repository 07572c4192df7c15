//! Connecting to a host that has several addresses.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long an address that does not answer holds up the next one (RFC 8305, section 5).
const HOLDUP: Duration = Duration::from_millis(250);

/// Connects to the first address of `HOST:PORT` that answers.
///
/// # Errors
/// What came of the attempt that failed last, when all have.
pub async fn dial(address: &str) -> io::Result<TcpStream> {
    dial_any(lookup_host(address).await?.collect()).await
}

async fn dial_any(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut untried = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.spawn(TcpStream::connect(address));
        } else if attempts.is_empty() {
            return Err(failed);
        }
        tokio::select! {
            Some(Ok(connected)) = attempts.join_next() => match connected {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            },
            () = sleep(HOLDUP), if untried.len() > 0 => {}
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
            match tokio::time::timeout(HOLDUP, TcpStream::connect(silent_address)).await {
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
        let dialing = dial_any(vec![silent_address, closed, open_address]);
        let dialed = tokio::time::timeout(Duration::from_secs(5), dialing).await;
        assert_eq!(dialed.unwrap().unwrap().peer_addr().unwrap(), open_address);
        let refused = dial_any(vec![closed, closed]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
