//! Tests that a tunnel delivers all bytes, and ends when one of its sides ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::Instant;

use super::{Tunnel, TunnelError, accept, connect};
use crate::authority::Authority;
use crate::link::Folder;

/// Number of bytes to send in a test: more than all buffers of a tunnel can hold.
const MUCH: usize = 32 << 20;
const LIMIT: Duration = Duration::from_secs(5);

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Returns both ends of a connection through a tunnel, and the tunnel's two sides.
async fn pair() -> (UnixStream, UnixStream, [Tunnel; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::of(folder.path()).unwrap();
    let (outer, address) = listener().await;
    let private = Folder::new().unwrap();
    let inner = UnixListener::bind(private.socket()).unwrap();
    let behind = Arc::new(private.bound().unwrap());
    let manager = accept(outer, &authority.manager("127.0.0.1").unwrap(), behind).unwrap();
    let worker = authority.worker("worker-0").unwrap();
    let (tunnel, here) =
        connect(&address.to_string(), &worker, Instant::now() + LIMIT).await.unwrap();
    let near = UnixStream::connect(here.path()).await.unwrap();
    let (far, _) = inner.accept().await.unwrap();
    (near, far, [manager, tunnel])
}

/// Sends `MUCH` bytes and receives as many from the other side, at the same time.
async fn talk(stream: UnixStream, mine: u8, other: u8) {
    let (mut from, mut to) = stream.into_split();
    let saying = async {
        to.write_all(&vec![mine; MUCH]).await?;
        to.shutdown().await
    };
    let hearing = async {
        let mut heard = Vec::new();
        from.read_to_end(&mut heard).await?;
        io::Result::Ok(heard)
    };
    let (said, heard) = tokio::join!(saying, hearing);
    said.unwrap();
    assert!(heard.unwrap() == vec![other; MUCH], "it arrived otherwise than it was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_can_send_at_once_without_loss() {
    let (near, far, _tunnels) = pair().await;
    tokio::join!(talk(near, 1, 2), talk(far, 2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_one_side_reaches_the_other() {
    for end in [true, false] {
        let (near, far, _tunnels) = pair().await;
        let (gone, mut other) = if end { (near, far) } else { (far, near) };
        drop(gone);
        let seen = tokio::time::timeout(LIMIT, other.read_u8()).await;
        assert_eq!(seen.unwrap().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
    for end in [0, 1] {
        let (mut near, mut far, tunnels) = pair().await;
        tunnels[end].close().await;
        for side in [&mut near, &mut far] {
            assert!(tokio::time::timeout(LIMIT, side.read_u8()).await.unwrap().is_err());
        }
    }
}

#[tokio::test]
async fn a_silent_peer_is_awaited_only_until_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Authority::of(folder.path()).unwrap().worker("worker-0").unwrap();
    let (silent, address) = listener().await;
    let address = address.to_string();
    let refusal = async || {
        let deadline = Instant::now() + Duration::from_millis(300);
        let connecting = connect(&address, &worker, deadline);
        match tokio::time::timeout(LIMIT, connecting).await.unwrap() {
            Err(TunnelError::Silence(why)) => why,
            other => panic!("{:?}", other.err()),
        }
    };
    assert_eq!(refusal().await, "the manager does not answer");
    drop(silent);
    assert!(refusal().await.contains("refused"));
}

/// Checks the worker's error if a stranger listens at the port of a manager that is
/// away: anyone can send these bytes.
#[tokio::test]
async fn bytes_from_a_stranger_are_not_a_refusal_by_the_manager() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Authority::of(folder.path()).unwrap().worker("worker-0").unwrap();
    // A handshake-failure alert, a web server's response, and an end without data.
    let alert: &[u8] = &[0x15, 3, 3, 0, 2, 2, 0x28];
    for (says, expected) in [
        (alert, "NotTheManager(\"received fatal alert: HandshakeFailure"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "NotTheManager(\"received corrupt message"),
        (b"", "Silence("),
    ] {
        let (stranger, address) = listener().await;
        let lies = tokio::spawn(async move {
            while let Ok((mut worker, _)) = stranger.accept().await {
                let mut hello = [0; 4096];
                let _ = worker.read(&mut hello).await;
                let _ = worker.write_all(says).await;
            }
        });
        let deadline = Instant::now() + Duration::from_millis(500);
        let refusal = connect(&address.to_string(), &worker, deadline).await.err();
        let refusal = format!("{:?}", refusal.unwrap());
        assert!(refusal.starts_with(expected), "{refusal}");
        lies.abort();
    }
}
