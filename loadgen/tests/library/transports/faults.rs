//! Tests answers that are broken off, malformed, or endless.

use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{answered, both, failed};
use super::server::{Server, Then};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Returns an answer with a head of slightly more than `length` bytes.
fn head_of(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: {}\r\n\r\n", "x".repeat(length))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_response_counts_as_a_reset() {
    for (answer, bytes) in [
        ("", 0),
        ("HTT", 0),
        ("HTTP/1.1 200 OK\r\ncontent-", 0),
        ("HTTP/1.1 100 Continue\r\n\r\n", 0),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", 0),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", 5),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", 0),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nshort", 5),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort", 5),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort\r\n", 5),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort\r\n0", 5),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort\r\n0\r\nx: y\r\n", 5),
    ] {
        for then in [|| Then::Close, || Then::Reset] {
            let server = || {
                Server::start(move |peer, _| {
                    peer.send(answer)?;
                    // A RST may overtake the bytes sent before it.
                    thread::sleep(Duration::from_millis(20));
                    Ok(then())
                })
            };
            let expected = failed(ErrorKind::Reset, 3).bytes(3 * bytes).over(3);
            both(server).about(answer).times(3).gives(expected).await;
        }
    }
    both(Server::closing).times(3).gives(failed(ErrorKind::Reset, 3).bytes(0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_until_close_counts_as_a_reset() {
    let server = || {
        Server::start(|peer, _| {
            peer.send("HTTP/1.1 200 OK\r\n\r\nshort")?;
            thread::sleep(Duration::from_millis(20));
            Ok(Then::Reset)
        })
    };
    both(server).times(3).gives(failed(ErrorKind::Reset, 3).bytes(15).over(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_not_http_is_a_protocol_error() {
    let (long, chunked) = (head_of(2_000_000), |text: &str| format!("{CHUNKED}{text}"));
    for answer in [
        "What?\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\0\x01\x02",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        &long,
        &chunked("zz\r\n"),
        &chunked("-1\r\n"),
        &chunked("\r\n"),
        &chunked(" 5\r\n"),
        &chunked("5 5\r\nhello"),
        &chunked("5\r\nhello, world"),
        &chunked("fffffffffffffffff\r\n"),
        &chunked(&format!("5;{}\r\nhello", "x".repeat(20_000))),
        &chunked("0\r\nno colon\r\n\r\n"),
        &chunked(&format!("0\r\nx: {}\r\n\r\n", "x".repeat(20_000))),
    ] {
        let server = || Server::always(answer, || Then::Hold);
        both(server).about(answer).times(2).gives(failed(ErrorKind::Protocol, 2).over(2)).await;
    }
}

/// `reqwest` accepts at most 100.
#[tokio::test(flavor = "multi_thread")]
async fn a_response_may_have_many_headers() {
    let headers: String = (0..5_000).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let answer = format!("HTTP/1.1 204 OK\r\n{headers}\r\n");
    let step = "get = \"/\"\nexpect = { headers = { x-4999 = \"4999\" } }";
    let case = both(|| Server::always(answer.clone(), || Then::Next)).times(2).step(step);
    let server = case.start();
    let counts = case.counts("http1", &format!("http://{}", server.address)).await;
    assert_eq!(counts.answered.len(), 2, "{:?}", counts.examples);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusual_but_valid_response_is_accepted() {
    let most = format!("HTTP/1.1 204 OK\r\n{}\r\n", "x: y\r\n".repeat(100));
    let (long, longer) = (head_of(60_000), head_of(200_000));
    let chunked = |text: &str| format!("{CHUNKED}{text}");
    for (answer, bytes) in [
        ("HTTP/1.1 200 OK\ncontent-length: 2\n\nok", 2),
        ("HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", 2),
        ("HTTP/1.1 200 \u{e9}t\u{e9}\r\ncontent-length:2 \r\n\r\nok", 2),
        ("HTTP/1.1 299 ?\r\nContent-Length: 2, 2\r\ncontent-LENGTH: 2\r\n\r\nok", 2),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 0),
        ("HTTP/1.1 204 OK\r\nx: y\r\n folded\r\n\r\n", 0),
        (&most, 0),
        (&long, 0),
        (&longer, 0),
        (&chunked(&format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(10_000))), 5),
        (&chunked(&format!("0\r\nx: {}\r\n\r\n", "x".repeat(10_000))), 0),
        (&chunked("A\r\n0123456789\r\n0a \r\n0123456789\r\n000\r\n\r\n"), 20),
    ] {
        let server = || Server::always(answer, || Then::Next);
        both(server).about(answer).times(2).gives(answered(2).bytes(2 * bytes).over(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_response_is_cut_by_the_timeout() {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for (head, more) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "x".repeat(0x10000)),
        (CHUNKED, chunk),
        ("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)),
    ] {
        let server = || {
            let more = more.clone();
            Server::start(move |peer, _| {
                peer.send(head)?;
                loop {
                    peer.send(&more)?;
                }
            })
        };
        let case = both(server).times(2).step("get = \"/\"\ntimeout = \"200ms\"");
        case.gives(failed(ErrorKind::Timeout, 2).over(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_stream_of_bytes_does_not_extend_the_timeout() {
    let server = || {
        Server::start(|peer, _| {
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")?;
            for _ in 0..1000 {
                peer.send("x")?;
                thread::sleep(Duration::from_millis(5));
            }
            Ok(Then::Next)
        })
    };
    let case = both(server).times(2).step("get = \"/\"\ntimeout = \"200ms\"");
    case.gives(failed(ErrorKind::Timeout, 2).over(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_is_named() {
    let dead = crate::common::dead_address();
    let http: &'static str = format!("proxy = 'http://user:word@{dead}',").leak();
    let case = both(Server::closing).times(2).http(http);
    let server = case.start();
    let counts = case.counts("reqwest", &format!("http://{}", server.address)).await;
    let said = &counts.examples[&ErrorKind::Connect];
    let expected = format!("the proxy {dead}: Connection refused");
    assert!(said.starts_with(&expected) && !said.contains("word"), "{said}");
}
