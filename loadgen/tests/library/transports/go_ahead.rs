//! Tests bodies that wait for the server's word (`expect: 100-continue`).

use std::io;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::http2::run::{Came, run};
use super::server::{Peer, Server, Then};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Sends one upload to a server that looks at the connection before it answers.
async fn upload(
    answer: impl Fn(&mut Peer) -> io::Result<Then> + Send + Sync + 'static,
) -> (Came, Vec<Vec<u8>>) {
    let server = Server::unread(move |peer, _| answer(peer));
    let url = format!("http://{}", server.address);
    let step =
        "put = \"/\"\nbody = { text = \"{{ user }}23\" }\nheaders = { expect = \"100-Continue\" }";
    let came = run(&url, "", "users = 1, iterations = 2", step).await;
    let bodies = server.requests().into_iter().map(|request| request.body).collect();
    (came, bodies)
}

fn least_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_follows_the_servers_word() {
    let (came, bodies) = upload(|peer| {
        peer.send("HTTP/1.1 103 Early Hints\r\n\r\n")?;
        assert!(peer.is_silent()?);
        peer.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        peer.read_body()?;
        peer.send(OK)?;
        Ok(Then::Next)
    })
    .await;
    assert_eq!((came.answered(), came.errors()), (2, vec![]), "{:?}", came.counts.examples);
    assert_eq!(bodies, [b"023", b"023"]);
    assert_eq!(came.connections.opened, 1);
    assert!(came.counts.answered.max().unwrap() < least_us(Duration::from_secs(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_body_is_not_sent() {
    let (came, bodies) = upload(|peer| {
        peer.send("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n")?;
        assert!(peer.is_silent()?);
        Ok(Then::Close)
    })
    .await;
    assert_eq!((came.answered(), came.errors()), (0, vec![(ErrorKind::Status, 2)]));
    assert!(bodies.iter().all(Vec::is_empty), "{bodies:?}");
    // A connection on which a body is still owed carries no other request.
    assert_eq!(came.connections.opened, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_gets_the_body_after_a_second() {
    let (came, bodies) = upload(|peer| {
        peer.read_body()?;
        peer.send(OK)?;
        Ok(Then::Next)
    })
    .await;
    assert_eq!((came.answered(), came.errors()), (2, vec![]), "{:?}", came.counts.examples);
    assert_eq!(bodies, [b"023", b"023"]);
    assert!(came.counts.answered.min().unwrap() >= least_us(Duration::from_millis(990)));
}
