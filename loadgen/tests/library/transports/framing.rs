//! Tests where an answer's body ends (RFC 9112, section 6.3).

use std::io::Write;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{answered, both, failed};
use super::server::{Server, Then};

const SIZED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"n\": 123456}";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n\
                       4;name=value;flag\r\n{\"n\"\r\n009 ; q=\"\\\"\"\r\n: 123456}\r\n\
                       0;last\r\nX-Sum: 9\r\nx-more: a, b\r\n\r\n";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nserver: test\r\n\r\n{\"n\": 123456}";

/// A step that reads its counter from the body, which is the same in all three answers.
const COUNTED: &str = "get = \"/\"\ncounters = { n = \"/n\" }";

#[tokio::test(flavor = "multi_thread")]
async fn complete_responses_are_read_to_their_last_byte() {
    let expected = answered(5).bytes(65).counters(&[5 * 123_456]);
    for framed in [SIZED, CHUNKED] {
        let server = || Server::always(framed, || Then::Next);
        both(server).times(5).step(COUNTED).gives(expected.clone().over(1)).await;
    }
    let server = || Server::always(UNTIL_CLOSE, || Then::Close);
    both(server).times(5).step(COUNTED).gives(expected.over(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_arrive_byte_by_byte_are_read_whole() {
    for (framed, connections) in [(SIZED, 1), (CHUNKED, 1), (UNTIL_CLOSE, 3)] {
        let server = || {
            Server::start(move |peer, _| {
                peer.dribble(framed.as_bytes())?;
                Ok(if connections == 1 { Then::Next } else { Then::Close })
            })
        };
        let expected = answered(3).bytes(39).counters(&[3 * 123_456]).over(connections);
        both(server).times(3).step(COUNTED).gives(expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_split_at_any_byte_are_read_whole() {
    for framed in [SIZED, CHUNKED, UNTIL_CLOSE] {
        let server = || {
            Server::start(move |peer, number| {
                peer.send_split(framed.as_bytes(), number)?;
                Ok(if framed == UNTIL_CLOSE { Then::Close } else { Then::Next })
            })
        };
        let all = framed.len();
        let expected = answered(all as u64).bytes(13 * all as u64);
        let expected = expected.counters(&[123_456 * all as u64]);
        let expected = expected.over(if framed == UNTIL_CLOSE { all } else { 1 });
        both(server).times(all).step(COUNTED).gives(expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_to_head_has_no_body_despite_its_headers() {
    for fields in ["content-length: 5", "transfer-encoding: chunked", "server: test"] {
        let server =
            || Server::always(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n"), || Then::Next);
        let case = both(server).times(3).step("head = \"/\"");
        case.gives(answered(3).bytes(0).over(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_without_a_body_has_none_despite_its_headers() {
    for status in ["204 No Content", "304 Not Modified"] {
        for fields in ["content-length: 5", "transfer-encoding: chunked", "server: test"] {
            let server =
                || Server::always(format!("HTTP/1.1 {status}\r\n{fields}\r\n\r\n"), || Then::Next);
            let case = both(server).times(3).step("get = \"/\"\nexpect = { status = [204, 304] }");
            case.gives(answered(3).bytes(0).over(1)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_responses_are_skipped() {
    let before = "HTTP/1.1 100 Continue\r\n\r\n\
                  HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\ncontent-length: 7\r\n\r\n\
                  HTTP/1.1 199 Whatever\r\nconnection: close\r\n\r\n";
    let at_once = || Server::always(format!("{before}{SIZED}"), || Then::Next);
    let expected = answered(3).bytes(39).counters(&[3 * 123_456]).over(1);
    both(at_once).times(3).step(COUNTED).gives(expected.clone()).await;
    let dribbled = || {
        Server::start(move |peer, _| {
            peer.dribble(before.as_bytes())?;
            peer.send(SIZED)?;
            Ok(Then::Next)
        })
    };
    both(dribbled).times(3).step(COUNTED).gives(expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unrequested_protocol_switch_is_an_unexpected_status() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    let server = || Server::always(switch, || Then::Hold);
    both(server).times(3).gives(failed(ErrorKind::Status, 3).bytes(0).over(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_without_a_length_is_read_whole() {
    let server = || {
        Server::start(|peer, _| {
            peer.send("HTTP/1.1 200 OK\r\n\r\n")?;
            for _ in 0..10 {
                peer.send([b'x'; 1000])?;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(Then::Close)
        })
    };
    both(server).times(2).gives(answered(2).bytes(20_000).over(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_one_byte_chunks_is_read_whole() {
    let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for byte in b'a'..=b'z' {
        write!(answer, "1\r\n{}\r\n", char::from(byte)).unwrap();
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    let step = "get = \"/\"\nexpect = { body = \"abcdefghijklmnopqrstuvwxyz\" }";
    for at_once in [true, false] {
        let server = || {
            let answer = answer.clone();
            Server::start(move |peer, _| {
                if at_once {
                    peer.send(&answer)?
                } else {
                    peer.dribble(&answer)?
                }
                Ok(Then::Next)
            })
        };
        both(server).times(3).step(step).gives(answered(3).bytes(78).over(1)).await;
    }
}
