//! Tests which connection the next request uses, and what happens on it between two requests.

use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::peer::{ACK, END_STREAM, MAX_CONCURRENT_STREAMS, NO_ERROR, OK, PING, Server};
use super::run::{one_user, run};

#[tokio::test(flavor = "multi_thread")]
async fn each_user_has_a_connection() {
    let server = Server::answering(&[]);
    let load = "users = 7, iterations_per_user = 30";
    let came = run(&server.url(), "version = \"2\"", load, "get = \"/\"").await;
    assert_eq!((came.answered(), came.errors()), (210, vec![]), "{:?}", came.counts.examples);
    assert_eq!((server.requests(), server.connections()), (210, 7));
    assert_eq!((came.connections.opened, came.counts.bytes), (7, 5 * 210));
    assert_eq!(came.connections.versions, [("HTTP/2".to_owned(), 7)].into());
}

/// The server ends the connection in one of two ways while the user thinks.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_server_ended_costs_no_request() {
    for is_graceful in [false, true] {
        let server = Server::start(&[], move |peer, _| {
            let stream = peer.request()?;
            peer.answer(stream)?;
            thread::sleep(Duration::from_millis(20));
            if is_graceful {
                peer.go_away(stream, NO_ERROR, b"")?;
                return peer.outlast();
            }
            peer.half_close()
        });
        let load = "users = 2, iterations_per_user = 4, think_time = \"100ms\"";
        let came = run(&server.url(), "version = \"2\"", load, "get = \"/\"").await;
        assert_eq!((came.answered(), came.errors()), (8, vec![]), "{:?}", came.counts.examples);
        assert_eq!((server.requests(), server.connections()), (8, 8));
    }
}

/// Each request has a connection of its own, also after one that was never answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_for_one_request_is_used_once() {
    let server = Server::start(&[], |peer, number| {
        let stream = peer.request()?;
        if number != 1 {
            peer.answer(stream)?;
        }
        peer.outlast()
    });
    let http = "version = \"2\", connection = \"per-request\"";
    let step = "get = \"/\"\ntimeout = \"200ms\"";
    let came = run(&server.url(), http, "users = 1, iterations = 4", step).await;
    assert_eq!((came.answered(), came.errors()), (3, vec![(ErrorKind::Timeout, 1)]));
    assert_eq!((server.requests(), server.connections()), (4, 4));
}

/// The server ends the connection while a user waits for a slower one, before the stop steps.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ended_before_the_stop_steps_costs_no_request() {
    let server = Server::start(&[], |peer, number| {
        if number == 1 {
            loop {
                let stream = peer.request()?;
                thread::sleep(Duration::from_millis(500));
                peer.answer(stream)?;
            }
        }
        let stream = peer.request()?;
        peer.answer(stream)?;
        thread::sleep(Duration::from_millis(20));
        peer.half_close()
    });
    let steps = "get = \"/\"\n[[step]]\nget = \"/stop\"\nwhen = \"stop\"";
    let load = "users = 2, iterations_per_user = 1";
    let came = run(&server.url(), "version = \"2\"", load, steps).await;
    // Stop steps are counted apart. One of them took a third connection.
    assert_eq!((came.answered(), came.errors()), (2, vec![]), "{:?}", came.counts.examples);
    assert_eq!((server.requests(), server.connections()), (4, 3));
}

/// A server that closes connections whose PINGs stay unanswered, as some do with idle clients.
#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_while_a_user_thinks() {
    let server = Server::start(&[], |peer, _| {
        loop {
            let stream = peer.request()?;
            peer.answer(stream)?;
            for _ in 0..3 {
                peer.send(PING, 0, 0, &[7; 8])?;
                peer.stream.set_read_timeout(Some(Duration::from_millis(400)))?;
                let mut frame = peer.frame()?;
                while frame.kind != PING {
                    frame = peer.frame()?;
                }
                assert_eq!((frame.flags, frame.payload), (ACK, vec![7; 8]));
            }
            peer.stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        }
    });
    let load = "users = 2, iterations_per_user = 3, think_time = \"1s\"";
    let came = run(&server.url(), "version = \"2\"", load, "get = \"/\"").await;
    assert_eq!((came.answered(), came.errors()), (6, vec![]), "{:?}", came.counts.examples);
    assert_eq!(server.connections(), 2);
    // After the last request of a user nobody answers any more.
    assert!(server.pongs() >= 12, "{}", server.pongs());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_after_an_unexpected_response_uses_the_same_connection() {
    let server = Server::start(&[], |peer, _| {
        loop {
            let stream = peer.request()?;
            // `:status: 500`.
            peer.send_headers(stream, 0x8e, &[], END_STREAM)?;
        }
    });
    let came = one_user(&server.url(), 3).await;
    assert_eq!(came.errors(), [(ErrorKind::Status, 3)]);
    assert_eq!(server.connections(), 1);
}

/// The server allows one request at a time, and answers each after 20 ms: users of the same connection
/// wait for each other, and the wait is part of their latency.
#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_the_limit_of_the_server_wait() {
    let server = Server::start(&[(MAX_CONCURRENT_STREAMS, 1)], |peer, _| {
        loop {
            let stream = peer.request()?;
            thread::sleep(Duration::from_millis(20));
            peer.send_headers(stream, OK, &[], END_STREAM)?;
        }
    });
    let http = "version = \"2\", connections = 1";
    let load = "users = 5, iterations_per_user = 4";
    let came = run(&server.url(), http, load, "get = \"/\"").await;
    assert_eq!((came.answered(), came.errors()), (20, vec![]), "{:?}", came.counts.examples);
    assert_eq!((server.requests(), server.connections()), (20, 1));
    // In µs; in the long run, four requests of others come before each.
    let median = came.counts.answered.quantile(0.5).unwrap();
    assert!(median > 60_000, "{median}");
}
