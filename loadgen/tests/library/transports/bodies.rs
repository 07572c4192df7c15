//! Tests that bodies of all sizes are read to the last byte.

use std::io::{self, Write};
use std::sync::Arc;

use loadgen::measure::ErrorKind;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Peer, Server, Then};

const MEGABYTE: usize = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Framing {
    Plain,
    Chunked,
    UntilClose,
}

const FRAMINGS: [Framing; 3] = [Framing::Plain, Framing::Chunked, Framing::UntilClose];

/// Returns `count` sizes: first those at which the behaviour changes, then
/// random sizes, as many small ones as large ones (uniform in the logarithm).
fn sizes(count: usize, random: &mut impl Rng) -> Vec<usize> {
    let edges = [0, 1, 2, 4_096, 65_400, 65_535, 65_536, 65_537, 131_072, MEGABYTE - 1, MEGABYTE];
    let mut any = || (random.random_range(0.0..=(MEGABYTE as f64).ln())).exp() as usize;
    let any = (edges.len()..count).map(|_| any());
    edges.into_iter().chain(any).take(count).collect()
}

/// Sends an answer with this body, cut into pieces at random.
fn send(peer: &mut Peer, framing: Framing, body: &[u8], seed: u64) -> io::Result<Then> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut message = b"HTTP/1.1 200 OK\r\n".to_vec();
    match framing {
        Framing::Plain => message.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes()),
        Framing::Chunked => message.extend(b"transfer-encoding: chunked\r\n\r\n"),
        Framing::UntilClose => message.extend(b"\r\n"),
    }
    if framing == Framing::Chunked {
        for chunk in pieces(body, &mut random) {
            message.extend(format!("{:x}\r\n", chunk.len()).bytes());
            message.extend(chunk);
            message.extend(b"\r\n");
        }
        message.extend(b"0\r\n\r\n");
    } else {
        message.extend(body);
    }
    pieces(&message, &mut random).try_for_each(|piece| peer.send(piece))?;
    Ok(if framing == Framing::UntilClose { Then::Close } else { Then::Next })
}

/// Cuts `bytes` at random into up to six pieces, none of them empty.
fn pieces<'a>(bytes: &'a [u8], random: &mut impl Rng) -> impl Iterator<Item = &'a [u8]> {
    let cuts = random.random_range(0..6);
    let mut at: Vec<usize> = (0..cuts).map(|_| random.random_range(0..=bytes.len())).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.dedup();
    let ends: Vec<_> = at.iter().copied().zip(at.iter().copied().skip(1)).collect();
    ends.into_iter().map(|(from, to)| &bytes[from..to])
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_bodies_of_up_to_a_megabyte_are_read_to_the_last_byte() {
    let sizes: Arc<[usize]> = sizes(10_000, &mut ChaCha8Rng::seed_from_u64(1)).into();
    let total: usize = sizes.iter().sum();
    let text: Arc<[u8]> = vec![b'x'; MEGABYTE].into();
    for framing in FRAMINGS {
        let server = || {
            let (sizes, text) = (sizes.clone(), text.clone());
            Server::start(move |peer, number| {
                send(peer, framing, &text[..sizes[number]], number as u64)
            })
        };
        let case = both(server).load("users = 8, iterations = 10_000");
        let servers = case.gives(answered(10_000).bytes(total as u64)).await;
        assert!(servers.iter().all(|server| server.requests().len() == 10_000));
    }
}

/// Each body ends with a number for the counter and a text for the expectations.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_each_body_is_read() {
    let sizes: Arc<[usize]> = sizes(300, &mut ChaCha8Rng::seed_from_u64(2)).into();
    let bodies: Arc<[String]> = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| {
            let pad = "0123456789 ".repeat(size / 11 + 1);
            format!("{{\"pad\": \"{}\", \"number\": {number}, \"end\": \"marker\"}}", &pad[..*size])
        })
        .collect();
    let total: usize = bodies.iter().map(String::len).sum();
    for framing in FRAMINGS {
        let server = || {
            let bodies = bodies.clone();
            Server::start(move |peer, number| {
                send(peer, framing, bodies[number].as_bytes(), number as u64)
            })
        };
        let step = "get = \"/\"\ncounters = { number = \"/number\" }\n\
                    expect = { body = '\"end\": \"marker\"}', json = { \"/end\" = \"marker\" } }";
        let case = both(server).load("users = 3, iterations = 300").step(step);
        case.gives(answered(300).bytes(total as u64).counters(&[299 * 300 / 2])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_too_long_to_keep_fails_its_expectation() {
    let longest = 16 << 20;
    for framing in FRAMINGS {
        let server = |length| {
            move || {
                let body = vec![b'x'; length];
                Server::start(move |peer, number| send(peer, framing, &body, number as u64))
            }
        };
        let step = "get = \"/\"\nexpect = { body = \"xxx\" }";
        both(server(longest)).step(step).gives(answered(1).bytes(longest as u64)).await;
        let case = both(server(longest + 1)).times(2).step(step);
        case.gives(failed(ErrorKind::Expectation, 2)).await;
        // A body that nothing checks may have any length.
        both(server(longest + 1)).gives(answered(1).bytes(longest as u64 + 1)).await;
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(text).and_then(|()| to.finish()).unwrap()
}

/// Returns a server whose body has this content-encoding.
fn encoded(status: u16, encoding: &str, body: &[u8]) -> Server {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nContent-Encoding: {encoding}\r\n\r\n"
    );
    Server::always([head.as_bytes(), body].concat(), || Then::Next)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_body_is_decompressed_only_to_be_read() {
    let text = format!("{{\"n\": 7, \"pad\": \"{}\"}}", "x".repeat(100_000));
    let body = gzip(text.as_bytes());
    let wire = 3 * body.len() as u64;
    let server = || encoded(200, "gzip", &body);
    let step = "get = \"/\"\ncapture = { pad = { json = \"/pad\" } }\ncounters = { n = \"/n\" }\n\
                expect = { body = \"xxx\", json = { \"/n\" = 7 } }";
    let servers =
        both(server).times(3).step(step).gives(answered(3).bytes(wire).counters(&[21])).await;
    for server in servers {
        let asked = server.requests().remove(0).headers;
        assert!(asked.iter().all(|(name, _)| name != "accept-encoding"), "{asked:?}");
    }
    let asking = "get = \"/\"\nheaders = { accept-encoding = \"gzip, br\" }";
    both(server).times(3).step(asking).gives(answered(3).bytes(wire)).await;
    // Nothing reads these bodies.
    for encoding in ["gzip", "compress"] {
        both(|| encoded(200, encoding, b"corrupt")).gives(answered(1).bytes(7)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_cannot_be_decompressed_fails_its_expectation() {
    let bomb = gzip(&vec![b'x'; (16 << 20) + 1]);
    for (encoding, body, got) in [
        ("gzip", &b"xxx"[..], "got corrupt or incomplete data"),
        ("gzip, dcb", b"xxx", "got \"dcb\""),
        ("gzip", &bomb, "expected a body of at most 16 MiB, the limit for checks"),
    ] {
        for transport in TRANSPORTS {
            let server = encoded(200, encoding, body);
            let case = both(Server::closing).step("get = \"/\"\nexpect = { body = \"xxx\" }");
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            assert_eq!((counts.failures(), counts.bytes), (1, body.len() as u64), "{transport}");
            let example = &counts.examples[&ErrorKind::Expectation];
            assert!(example.contains(got), "{transport}: {example}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unexpected_compressed_body_is_quoted_in_plain_text() {
    for (encoding, body, got) in [
        ("gzip", &gzip(b"it went wrong")[..], "got 500: it went wrong"),
        ("dcb", b"xxx", "got 500: a body with content-encoding \"dcb\""),
    ] {
        for transport in TRANSPORTS {
            let server = encoded(500, encoding, body);
            let case = both(Server::closing);
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            let example = &counts.examples[&ErrorKind::Status];
            assert!(example.contains(got), "{transport}: {example}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unexpected_body_is_counted_whole_and_quoted_in_part() {
    let server = || {
        let body = format!("it went wrong{}", "x".repeat(MEGABYTE));
        let head = format!("HTTP/1.1 500 Oh\r\ncontent-length: {}\r\n\r\n", body.len());
        Server::always(head + &body, || Then::Next)
    };
    for transport in TRANSPORTS {
        let server = server();
        let case = both(Server::closing).times(2);
        let counts = case.counts(transport, &format!("http://{}", server.address)).await;
        assert_eq!((counts.failures(), counts.bytes), (2, 2 * (13 + MEGABYTE as u64)));
        let example = &counts.examples[&ErrorKind::Status];
        assert!(example.contains("got 500: it went wrongxxx"), "{example}");
    }
}
