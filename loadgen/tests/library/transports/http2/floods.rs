//! Tests servers that send far too much: each request ends, with a response or with an error of a kind.

use std::io::{self, Write};
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::peer::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, OK, PING, Peer, SETTINGS, Server,
};
use super::run::{Came, one_user, run};

/// A user's own connection, and one that users share.
const WAYS: [&str; 2] = ["version = \"2\"", "version = \"2\", connections = 1"];

/// Sends `frame` until the client closes the connection.
fn flood(peer: &mut Peer, frame: &[u8]) -> io::Result<()> {
    let many = frame.repeat(1_000);
    loop {
        peer.stream.write_all(&many)?;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_settings_and_pings_delays_a_response_at_most() {
    for (kind, payload) in [(SETTINGS, &[0, 4, 0, 1, 0, 0][..]), (PING, &[0; 8])] {
        let server = Server::start(&[], move |peer, _| {
            loop {
                let id = peer.request()?;
                // Fewer than the client's answers fill the buffers of the connection.
                for _ in 0..2_000 {
                    peer.send(kind, 0, 0, payload)?;
                }
                peer.answer(id)?;
            }
        });
        let came = one_user(&server.url(), 3).await;
        assert_eq!((came.answered(), came.errors()), (3, vec![]), "{:?}", came.counts.examples);
        assert_eq!(server.connections(), 1);
        assert!(kind == SETTINGS || server.pongs() >= 4_000, "{}", server.pongs());
    }
}

/// The server never answers and never reads: its frames end the request at the timeout, not before and
/// not never.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_flood_is_cut_by_the_timeout() {
    let floods = [
        peer::frame(SETTINGS, 0, 0, &[]),
        peer::frame(PING, 0, 0, &[0; 8]),
        peer::frame(0x77, 0, 0, b"unknown"),
    ];
    for frame in floods {
        for http in WAYS {
            let frame = frame.clone();
            let server = Server::start(&[], move |peer, _| {
                peer.request()?;
                flood(peer, &frame)
            });
            let came = four_requests(&server, http).await;
            assert!(came.counts.errors.contains_key(&ErrorKind::Timeout), "{http}: {came:?}");
        }
    }
}

/// The server never reads, so it cannot know how far the client has opened the stream's window: it is at fault
/// as soon as it sends more, which a fast server does before the timeout.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_body_ends_with_its_window_or_at_the_timeout() {
    for http in WAYS {
        let server = Server::start(&[], |peer, _| {
            let id = peer.request()?;
            peer.send_headers(id, OK, &[], 0)?;
            flood(peer, &peer::frame(DATA, 0, id, &[0; 1_000]))
        });
        let came = four_requests(&server, http).await;
        assert!(came.counts.bytes > 0, "bytes of a cut response count");
    }
}

/// Sends four requests of two users to a server that floods. Each one fails.
async fn four_requests(server: &Server, http: &str) -> Came {
    let step = "get = \"/\"\ntimeout = \"300ms\"";
    let came = run(&server.url(), http, "users = 2, iterations = 4", step).await;
    assert_eq!(came.answered(), 0);
    assert_eq!(came.counts.failures(), 4, "{:?}", came.counts.examples);
    let kinds = [ErrorKind::Timeout, ErrorKind::Reset, ErrorKind::Protocol];
    assert!(came.errors().iter().all(|(kind, _)| kinds.contains(kind)), "{http}: {came:?}");
    came
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_bytes_of_headers_are_accepted() {
    let server = Server::start(&[], |peer, _| {
        loop {
            let id = peer.request()?;
            send_long_headers(peer, id, 100_000)?;
        }
    });
    let came = one_user(&server.url(), 3).await;
    assert_eq!((came.answered(), came.errors()), (3, vec![]), "{:?}", came.counts.examples);
    assert_eq!(server.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_beyond_the_limit_are_a_protocol_error() {
    for length in [450_000, 3_000_000] {
        let server = Server::start(&[], move |peer, _| {
            loop {
                let id = peer.request()?;
                send_long_headers(peer, id, length)?;
            }
        });
        let came = one_user(&server.url(), 3).await;
        assert_eq!((came.answered(), came.errors()), (0, vec![(ErrorKind::Protocol, 3)]));
    }
}

/// Answers with headers of slightly more than `length` bytes, in as many frames as needed.
fn send_long_headers(peer: &mut Peer, id: u32, length: usize) -> io::Result<()> {
    let value = "x".repeat(1_000);
    let headers = vec![("x", value.as_str()); length / 1_000];
    let block = [&[OK][..], &peer::block(&headers)].concat();
    let mut parts = block.chunks(16_000).peekable();
    peer.send(HEADERS, END_STREAM, id, parts.next().unwrap_or_default())?;
    while let Some(part) = parts.next() {
        let end = if parts.peek().is_none() { END_HEADERS } else { 0 };
        peer.send(CONTINUATION, end, id, part)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_continuations_is_a_protocol_error() {
    for payload in [&[][..], b"\0\x01x\x01y"] {
        let server = Server::start(&[], move |peer, _| {
            let id = peer.request()?;
            peer.send(HEADERS, END_STREAM, id, &[OK])?;
            flood(peer, &peer::frame(CONTINUATION, 0, id, payload))
        });
        let came = one_user(&server.url(), 2).await;
        assert_eq!(came.errors(), [(ErrorKind::Protocol, 2)], "{:?}", came.counts.examples);
        let said = came.message(ErrorKind::Protocol);
        assert!(said.contains("ENHANCE_YOUR_CALM") || said.contains("COMPRESSION"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_stream_of_bytes_does_not_extend_the_timeout() {
    let server = Server::start(&[], |peer, _| {
        let id = peer.request()?;
        peer.send_headers(id, OK, &[], 0)?;
        loop {
            peer.send(DATA, 0, id, b"x")?;
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let step = "get = \"/\"\ntimeout = \"200ms\"";
    let came = run(&server.url(), "version = \"2\"", "users = 2, iterations = 2", step).await;
    assert_eq!(came.errors(), [(ErrorKind::Timeout, 2)]);
    assert!(came.counts.bytes > 0, "bytes of a cut response count");
}

/// More than a stream's window: the window is opened again as the body is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_is_never_held_back() {
    const FRAMES: usize = 6_000;
    for http in WAYS {
        let server = Server::start(&[], |peer, _| {
            loop {
                let id = peer.request()?;
                peer.send_headers(id, OK, &[], 0)?;
                let (chunk, mut window) = (vec![b'x'; 16_000], 16_usize << 20);
                for number in 1..=FRAMES {
                    while window < chunk.len() {
                        let frame = peer.frame()?;
                        if frame.kind == peer::WINDOW_UPDATE && frame.stream == id {
                            let by = u32::from_be_bytes(frame.payload[..4].try_into().unwrap());
                            window += by as usize;
                        }
                    }
                    window -= chunk.len();
                    let end = if number == FRAMES { END_STREAM } else { 0 };
                    peer.send(DATA, end, id, &chunk)?;
                }
            }
        });
        let step = "get = \"/\"\ntimeout = \"30s\"";
        let came = run(&server.url(), http, "users = 1, iterations = 2", step).await;
        assert_eq!((came.answered(), came.errors()), (2, vec![]), "{:?}", came.counts.examples);
        assert_eq!(came.counts.bytes, 2 * 16_000 * FRAMES as u64);
    }
}
