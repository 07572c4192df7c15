//! Tests responses that are refused, reset, broken off or malformed: each fails one request, with a kind
//! and a message that names the reason.

use std::io;
use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::peer::{
    self, CANCEL, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, INITIAL_WINDOW_SIZE,
    NO_CONTENT, NO_ERROR, OK, Peer, REFUSED_STREAM, Server,
};
use super::run::{one_user, run};
use crate::common::dead_address;

/// Runs three requests of one user, each of which the server treats with `treat`. All must fail with an
/// error of this kind, whose message contains `said`. Returns the number of connections.
async fn fails(
    kind: ErrorKind,
    said: &str,
    treat: impl Fn(&mut Peer, u32) -> io::Result<()> + Send + Sync + 'static,
) -> usize {
    fails_each(kind, said, 1, treat).await
}

/// Like [`fails`], if each request comes `times` times.
async fn fails_each(
    kind: ErrorKind,
    said: &str,
    times: usize,
    treat: impl Fn(&mut Peer, u32) -> io::Result<()> + Send + Sync + 'static,
) -> usize {
    let server = Server::start(&[], move |peer, _| {
        loop {
            let stream = peer.request()?;
            treat(peer, stream)?;
        }
    });
    let came = one_user(&server.url(), 3).await;
    assert_eq!((came.answered(), came.errors()), (0, vec![(kind, 3)]), "{:?}", came.counts);
    assert!(came.message(kind).contains(said), "{}", came.message(kind));
    assert_eq!(server.requests(), 3 * times);
    assert_eq!(came.counts.resent, 3 * (times as u64 - 1));
    server.connections()
}

/// Function with which a server treats a request on the stream with this number.
type Treat = fn(&mut Peer, u32) -> io::Result<()>;

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_stream_fails_one_request_and_keeps_the_connection() {
    for (code, name, times) in [
        (CANCEL, "the server sent RST_STREAM: CANCEL", 1),
        // The server promises that it has not processed the request.
        (REFUSED_STREAM, "the server sent RST_STREAM: REFUSED_STREAM", 2),
        (NO_ERROR, "the server sent RST_STREAM: NO_ERROR", 1),
        (0x77, "the server sent RST_STREAM: error code 0x77", 1),
    ] {
        let reset = move |peer: &mut Peer, id| peer.reset(id, code);
        assert_eq!(fails_each(ErrorKind::Reset, name, times, reset).await, 1);
    }
    let late = |peer: &mut Peer, id| {
        peer.send_headers(id, OK, &[], 0)?;
        peer.send(DATA, 0, id, b"hel")?;
        peer.reset(id, CANCEL)
    };
    assert_eq!(fails(ErrorKind::Reset, "RST_STREAM: CANCEL", late).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn goaway_fails_requests_that_the_server_does_not_process_a_second_time_either() {
    let unprocessed = |peer: &mut Peer, _| {
        peer.go_away(0, ENHANCE_YOUR_CALM, b"too many")?;
        peer.outlast()
    };
    let said = "the server sent GOAWAY: ENHANCE_YOUR_CALM (too many)";
    assert_eq!(fails_each(ErrorKind::Reset, said, 2, unprocessed).await, 6);
    let in_the_middle = |peer: &mut Peer, id| {
        peer.send_headers(id, OK, &[], 0)?;
        peer.send(DATA, 0, id, b"hel")?;
        peer.go_away(0, NO_ERROR, b"")?;
        peer.outlast()
    };
    let said = "the server sent GOAWAY: NO_ERROR";
    assert_eq!(fails(ErrorKind::Reset, said, in_the_middle).await, 3);
}

/// Number of requests in [`renewed`].
const RENEWED: u64 = 2_000;

/// Returns the outcome of POSTs and then of GETs of users of two connections, of which each carries a hundred requests:
/// the server answers `processed` of them, and ends with `end`. A request that is sent again is then not among the last
/// of the next connection, even if its user is held up.
async fn renewed(
    users: u32,
    processed: u32,
    end: fn(&mut Peer, u32) -> io::Result<()>,
) -> [(u64, Vec<(ErrorKind, u64)>, u64); 2] {
    let mut came = Vec::new();
    for method in ["post", "get"] {
        let server = Server::start(&[], move |peer, _| {
            let mut last = 0;
            for number in 0..100 {
                let stream = peer.request()?;
                if number < processed {
                    peer.answer(stream)?;
                    last = stream;
                }
            }
            end(peer, last)
        });
        let load = format!("users = {users}, iterations = {RENEWED}");
        let http = "version = \"2\", connections = 2";
        let one = run(&server.url(), http, &load, &format!("{method} = \"/\"")).await;
        came.push((one.answered(), one.errors(), one.counts.resent));
    }
    came.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_a_renewed_connection_has_not_processed_are_sent_again() {
    let [post, get] = renewed(6, 99, |peer, last| {
        peer.go_away(last, NO_ERROR, b"")?;
        peer.outlast()
    })
    .await;
    for (answered, errors, resent) in [post, get] {
        assert_eq!((answered, errors), (RENEWED, vec![]), "{resent}");
        assert!(resent >= 10, "{resent}");
    }
}

/// The connection ends without a GOAWAY: what the server has done is not known. Each user has its connection to
/// itself, so that the next connection begins with the request that is sent again, and does not end before it.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_sudden_end_only_idempotent_requests_are_sent_again() {
    let [(posted, failed, resent), (got, errors, again)] =
        renewed(2, 99, |peer, _| peer.half_close()).await;
    assert!(posted < RENEWED && failed.len() == 1 && failed[0].0 == ErrorKind::Reset, "{failed:?}");
    assert_eq!(resent, 0);
    assert_eq!((got, errors), (RENEWED, vec![]));
    assert!(again >= 10, "{again}");
}

/// A graceful end: the server finishes what it has begun, and the next request takes a new connection.
#[tokio::test(flavor = "multi_thread")]
async fn goaway_lets_a_processed_request_end() {
    let server = Server::start(&[], |peer, _| {
        let stream = peer.request()?;
        peer.go_away(stream, NO_ERROR, b"")?;
        thread::sleep(Duration::from_millis(20));
        peer.answer(stream)?;
        peer.outlast()
    });
    let came = one_user(&server.url(), 5).await;
    assert_eq!((came.answered(), came.errors()), (5, vec![]), "{:?}", came.counts);
    assert_eq!((server.requests(), server.connections()), (5, 5));
    assert_eq!((came.connections.opened, came.counts.bytes), (5, 25));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_fails_the_request() {
    let closed = "the server closed the connection";
    let shut = |peer: &mut Peer, _| peer.half_close();
    assert_eq!(fails(ErrorKind::Reset, closed, shut).await, 3);
    let midway = |peer: &mut Peer, id| {
        peer.send_headers(id, OK, &[("content-length", "9")], 0)?;
        peer.send(DATA, 0, id, b"short")?;
        peer.half_close()
    };
    assert_eq!(fails(ErrorKind::Reset, closed, midway).await, 3);
    let torn = |peer: &mut Peer, id| {
        use std::io::Write;
        peer.send_headers(id, OK, &[], 0)?;
        let whole = peer::frame(DATA, END_STREAM, id, b"hello");
        peer.stream.write_all(&whole[..11])?;
        peer.half_close()
    };
    assert_eq!(fails(ErrorKind::Reset, closed, torn).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_cut_by_the_timeout() {
    let server = Server::start(&[], |peer, _| peer.outlast());
    let step = "get = \"/\"\ntimeout = \"100ms\"";
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 3", step).await;
    assert_eq!(came.errors(), [(ErrorKind::Timeout, 3)]);
    assert_eq!((server.requests(), server.connections()), (3, 1), "the connection stays usable");
    assert_eq!(server.resets(3), [(1, CANCEL), (3, CANCEL), (5, CANCEL)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_response_to_an_abandoned_request_is_ignored() {
    let server = Server::start(&[], |peer, _| {
        let first = peer.request()?;
        let second = peer.request()?;
        peer.answer(first)?;
        peer.answer(second)?;
        peer.outlast()
    });
    let step = "get = \"/\"\ntimeout = \"300ms\"";
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 2", step).await;
    assert_eq!((came.answered(), came.errors()), (1, vec![(ErrorKind::Timeout, 1)]));
    assert_eq!((server.connections(), came.counts.bytes), (1, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_response_is_a_protocol_error() {
    let said = "the server breaks HTTP/2: PROTOCOL_ERROR";
    let of_one_stream: [fn(&mut Peer, u32) -> io::Result<()>; 6] = [
        // Bodies that are not as long as announced.
        |peer, id| {
            peer.send_headers(id, OK, &[("content-length", "9")], 0)?;
            peer.send(DATA, END_STREAM, id, b"short")
        },
        |peer, id| {
            peer.send_headers(id, OK, &[("content-length", "4")], 0)?;
            peer.send(DATA, END_STREAM, id, b"hello")
        },
        |peer, id| peer.send_headers(id, OK, &[("content-length", "9")], END_STREAM),
        |peer, id| peer.send_headers(id, OK, &[("content-length", "x")], END_STREAM),
        // Headers that HTTP/2 does not have.
        |peer, id| peer.send_headers(id, OK, &[("connection", "close")], END_STREAM),
        // No status.
        |peer, id| {
            let block = peer::block(&[("server", "test")]);
            peer.send(HEADERS, END_HEADERS | END_STREAM, id, &block)
        },
    ];
    for treat in of_one_stream {
        assert_eq!(fails(ErrorKind::Protocol, said, treat).await, 1, "the connection is kept");
    }
    let of_the_connection: [(Treat, &str); 5] = [
        // A frame for a stream that was never opened.
        (|peer, id| peer.send(DATA, END_STREAM, id + 100, b"hello"), "PROTOCOL_ERROR"),
        (|peer, id| peer.send(HEADERS, END_HEADERS, id, &[0xff; 20]), "COMPRESSION_ERROR"),
        (|peer, id| peer.send(peer::CONTINUATION, END_HEADERS, id, &[]), "PROTOCOL_ERROR"),
        (|peer, id| peer.send(DATA, END_STREAM, id, &[0; 20_000]), "FRAME_SIZE_ERROR"),
        (|peer, _| peer.send(peer::SETTINGS, 0, 0, &[0; 5]), "FRAME_SIZE_ERROR"),
    ];
    for (treat, code) in of_the_connection {
        let treat_and_wait = move |peer: &mut Peer, id| {
            treat(peer, id)?;
            peer.outlast()
        };
        assert_eq!(fails(ErrorKind::Protocol, code, treat_and_wait).await, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_http_2_is_named() {
    let http1 = Server::raw(|peer, _| {
        use std::io::Write;
        peer.read_preface()?;
        peer.stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")?;
        peer.half_close()
    });
    let came = one_user(&http1.url(), 2).await;
    assert_eq!(came.errors(), [(ErrorKind::Protocol, 2)], "{:?}", came.counts.examples);
    let said = came.message(ErrorKind::Protocol);
    assert!(said.contains("the server answers in HTTP/1.1: it does not speak HTTP/2"), "{said}");

    let closing = Server::raw(|peer, _| peer.read_preface());
    let came = one_user(&closing.url(), 2).await;
    assert_eq!(came.errors(), [(ErrorKind::Reset, 2)]);
    let other = Server::raw(|peer, _| {
        use std::io::Write;
        peer.stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n")?;
        peer.outlast()
    });
    let came = one_user(&other.url(), 2).await;
    assert_eq!(came.errors(), [(ErrorKind::Protocol, 2)], "{:?}", came.counts.examples);

    let nowhere = dead_address();
    let came = one_user(&format!("http://{nowhere}"), 2).await;
    assert_eq!(came.errors(), [(ErrorKind::Connect, 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_but_valid_responses_are_accepted() {
    let server = Server::start(&[], |peer, _| {
        for way in (0..4).cycle() {
            let id = peer.request()?;
            match way {
                0 => {
                    // `:status: 103`, then the response.
                    let early = [&[0x08, 3][..], b"103"].concat();
                    peer.send(HEADERS, END_HEADERS, id, &early)?;
                    peer.answer(id)?;
                }
                1 => peer.send_headers(id, NO_CONTENT, &[("content-length", "5")], END_STREAM)?,
                2 => {
                    peer.send_headers(id, OK, &[("x-a", "1"), ("x-a", "2")], 0)?;
                    peer.send(DATA, 0, id, b"")?;
                    // Padding of three bytes.
                    peer.send(DATA, 8, id, b"\x03hello\0\0\0")?;
                    let trailers = peer::block(&[("x-sum", "9")]);
                    peer.send(HEADERS, END_HEADERS | END_STREAM, id, &trailers)?;
                }
                _ => {
                    peer.send(0x77, 0xff, id, b"a frame of an unknown type")?;
                    peer.send_headers(id, OK, &[], 0)?;
                    for byte in b"hello" {
                        peer.send(DATA, 0, id, &[*byte])?;
                    }
                    peer.send(DATA, END_STREAM, id, b"")?;
                }
            }
        }
        Ok(())
    });
    let step = "get = \"/\"\nexpect = { status = [200, 204] }";
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 8", step).await;
    assert_eq!((came.answered(), came.errors()), (8, vec![]), "{:?}", came.counts.examples);
    assert_eq!(server.connections(), 1);
}

/// The server opens its windows byte by byte.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_one_byte_lets_a_body_arrive() {
    let server = Server::start(&[(INITIAL_WINDOW_SIZE, 1)], |peer, _| {
        loop {
            let id = peer.request()?;
            let mut ended = false;
            while !ended {
                let frame = peer.frame()?;
                assert!(frame.kind != DATA || frame.payload.len() <= 1);
                ended = frame.kind == DATA && frame.flags & END_STREAM != 0;
                if frame.kind == DATA && !ended {
                    peer.open_window(id, 1)?;
                }
            }
            assert_eq!(peer.bodies[&id], 300);
            peer.answer(id)?;
        }
    });
    let step = format!("post = \"/\"\nbody = {{ text = \"{}\" }}", "x".repeat(300));
    let came = run(&server.url(), "version = \"2\"", "users = 2, iterations = 4", &step).await;
    assert_eq!((came.answered(), came.errors()), (4, vec![]), "{:?}", came.counts.examples);
}

/// The window is never opened again: the request cannot end, and the timeout cuts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_stays_closed_is_cut_by_the_timeout() {
    let server = Server::start(&[(INITIAL_WINDOW_SIZE, 1)], |peer, _| peer.outlast());
    let step = "post = \"/\"\nbody = { text = \"hello\" }\ntimeout = \"200ms\"";
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 2", step).await;
    assert_eq!(came.errors(), [(ErrorKind::Timeout, 2)]);
    assert_eq!(server.connections(), 1);
}

/// The server refuses a body before it has read the body.
#[tokio::test(flavor = "multi_thread")]
async fn a_response_before_the_end_of_the_body_is_accepted() {
    let server = Server::start(&[], |peer, _| {
        loop {
            let id = peer.request()?;
            // `:status: 404`.
            peer.send_headers(id, 0x8d, &[], 0)?;
            peer.send(DATA, END_STREAM, id, b"no")?;
            peer.reset(id, NO_ERROR)?;
        }
    });
    let step = format!("post = \"/\"\nbody = {{ text = \"{}\" }}", "x".repeat(500_000));
    let came = run(&server.url(), "version = \"2\"", "users = 1, iterations = 3", &step).await;
    assert_eq!((came.errors(), came.counts.bytes), (vec![(ErrorKind::Status, 3)], 6));
    assert_eq!(server.connections(), 1);
}

/// A response that began proves that the server processed the request, also if it says later that it did not.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_response_has_begun_is_not_sent_again() {
    let refused = |peer: &mut Peer, id| {
        peer.send_headers(id, OK, &[], 0)?;
        peer.reset(id, REFUSED_STREAM)
    };
    let said = "the server sent RST_STREAM: REFUSED_STREAM";
    assert_eq!(fails(ErrorKind::Reset, said, refused).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_ends_is_reset_with_each_transport() {
    let treats: [Treat; 3] = [
        |peer, id| peer.reset(id, REFUSED_STREAM),
        |peer, id| peer.reset(id, ENHANCE_YOUR_CALM),
        |peer, _| {
            peer.go_away(0, ENHANCE_YOUR_CALM, b"")?;
            peer.outlast()
        },
    ];
    for (index, treat) in treats.into_iter().enumerate() {
        for transport in ["http2", "reqwest"] {
            let server = Server::start(&[], move |peer, _| {
                loop {
                    let stream = peer.request()?;
                    treat(peer, stream)?;
                }
            });
            let http = format!("version = \"2\", resend = false, transport = \"{transport}\"");
            let load = "users = 1, iterations = 3";
            let came = run(&server.url(), &http, load, "post = \"/\"\ntimeout = \"2s\"").await;
            let counts = &came.counts;
            assert_eq!(came.errors(), [(ErrorKind::Reset, 3)], "{index}, {transport}: {counts:?}");
        }
    }
}
