//! Tests when the first byte of a response counts as read.

use std::thread::sleep;
use std::time::Duration;

use super::case::{TRANSPORTS, both};
use super::server::{Server, Then};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
const EARLY: &[u8] = b"HTTP/1.1 103 Early Hints\r\n\r\n";

/// Pause of a server within its response.
const PAUSE: Duration = Duration::from_millis(120);

/// Returns the longest time to first byte and the longest latency of three requests to a server that
/// sends these pieces with a pause between them, in ms.
async fn measured(transport: &str, pieces: &'static [&'static [u8]]) -> [u128; 2] {
    let case = both(move || {
        Server::start(move |peer, _| {
            for (number, piece) in pieces.iter().enumerate() {
                if number > 0 {
                    sleep(PAUSE);
                }
                peer.send(piece)?;
            }
            Ok(Then::Next)
        })
    });
    let server = case.start();
    let case = case.times(3);
    let counts = case.counts(transport, &format!("http://{}", server.address)).await;
    assert_eq!((counts.answered.len(), counts.ttfb().len()), (3, 3), "{:?}", counts.examples);
    [counts.ttfb(), &counts.answered]
        .map(|times| Duration::from_micros(times.max().unwrap()).as_millis())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_body_does_not_delay_the_first_byte() {
    for transport in TRANSPORTS {
        let [first, last] = measured(transport, &[HEAD, b"o", b"k"]).await;
        assert!(last >= 240 && last - first >= 200, "{transport}: {first} of {last} ms");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interim_response_is_not_the_first_byte() {
    for transport in TRANSPORTS {
        let [first, last] = measured(transport, &[EARLY, HEAD, b"ok"]).await;
        assert!(first >= 120 && last - first >= 100, "{transport}: {first} of {last} ms");
    }
}
