//! Tests that first bytes and streams of events are measured over HTTP/2 as over HTTP/1.1.

use std::thread::sleep;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::peer::{DATA, END_STREAM, OK, Server};
use super::run::run;

const PAUSE: Duration = Duration::from_millis(30);
const STREAM: &str = "get = \"/\"\nexpect.stream = { events = 3, end = \"[DONE]\" }";

/// Starts a server that answers each request with these parts of a body, and pauses after each part.
fn server(parts: &'static [&str]) -> Server {
    Server::start(&[], move |peer, _| {
        loop {
            let stream = peer.request()?;
            let head = [("content-type", "text/event-stream")];
            peer.send_headers(stream, OK, &head, 0)?;
            for part in parts {
                peer.send(DATA, 0, stream, part.as_bytes())?;
                sleep(PAUSE);
            }
            peer.send(DATA, END_STREAM, stream, b"")?;
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn events_and_first_bytes_are_timed_over_own_and_shared_connections() {
    for http in ["version = \"2\"", "version = \"2\", connections = 1"] {
        // The second part completes an event and begins another.
        let server = server(&["data: 1\n\n", "data: 2\n\ndata", ": 3\n\n", "data: [DONE]\n\n"]);
        let came = run(&server.url(), http, "users = 1, iterations = 2", STREAM).await;
        let counts = &came.counts;
        assert_eq!((came.answered(), counts.failures()), (2, 0), "{http}: {:?}", counts.examples);
        let stream = counts.stream.as_deref().unwrap();
        assert_eq!((stream.events, stream.first_event.len(), stream.gaps.len()), (6, 2, 4));
        let least = |pauses: u32| u64::try_from((PAUSE * pauses).as_micros()).unwrap();
        assert!(stream.gaps.min() >= Some(least(1) - 5_000), "{http}: {:?}", stream.gaps.min());
        let (ttfb, latency) = (counts.ttfb().min().unwrap(), counts.answered.min().unwrap());
        assert!(ttfb + least(3) < latency, "{http}: {ttfb} {latency}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_early_is_an_error_of_its_own_kind() {
    let server = server(&["data: 1\n\n", "data: [DONE]\n\n"]);
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 2", STREAM).await;
    assert_eq!((came.answered(), came.errors()), (0, vec![(ErrorKind::Stream, 2)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_an_end_is_cancelled_at_an_event() {
    const CANCEL: u32 = 8;
    for http in ["version = \"2\"", "version = \"2\", connections = 1"] {
        // Sends no end, and reads the next request, or the reset, after three events.
        let server = Server::start(&[], |peer, _| {
            loop {
                let stream = peer.request()?;
                peer.send_headers(stream, OK, &[("content-type", "text/event-stream")], 0)?;
                for number in 1..=3 {
                    peer.send(DATA, 0, stream, format!("data: {number}\n\n").as_bytes())?;
                    sleep(Duration::from_millis(2));
                }
            }
        });
        let step = "get = \"/\"\nexpect.stream = { events = 3, close = true }";
        let came = run(&server.url(), http, "users = 1, iterations = 4", step).await;
        assert_eq!((came.answered(), came.errors()), (4, vec![]), "{http}");
        let stream = came.counts.stream.as_deref().unwrap();
        assert_eq!((stream.events, stream.closed), (12, 4), "{http}");
        // The connection stays.
        assert_eq!(server.connections(), 1, "{http}");
        let resets = server.resets(4);
        assert!(resets.len() == 4 && resets.iter().all(|(_, code)| *code == CANCEL), "{resets:?}");
    }
}
