//! Tests which connection the next request uses (RFC 9112, section 9).

use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Server, Then};
use crate::common::dead_address;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_marked_to_close_is_not_reused() {
    for head in [
        "HTTP/1.1 200 OK\r\nConnection: close",
        "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nconnection: x, Close",
        "HTTP/1.0 200 OK",
    ] {
        // The rule also holds if the server forgets to close the connection.
        for then in [|| Then::Close, || Then::Next] {
            let server = || Server::always(format!("{head}\r\ncontent-length: 2\r\n\r\nok"), then);
            both(server).times(4).gives(answered(4).bytes(8).over(4)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http_1_0_connection_is_kept_if_the_server_says_so() {
    let server = || {
        let answer = "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nok";
        Server::always(answer, || Then::Next)
    };
    both(server).times(4).gives(answered(4).bytes(8).over(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unrequested_response_is_not_taken_for_the_next_one() {
    let stray = "HTTP/1.1 500 Oh\r\ncontent-length: 5\r\n\r\nwrong";
    for answer in [
        OK,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok more",
    ] {
        let server = || Server::always(format!("{answer}{stray}"), || Then::Next);
        both(server).times(50).gives(answered(50).bytes(100).over(50)).await;
    }
    let without_body = || Server::always("HTTP/1.1 204 No Content\r\n\r\nwrong", || Then::Next);
    both(without_body).times(50).gives(answered(50).bytes(0).over(50)).await;
    let head = || Server::always(OK, || Then::Next);
    both(head).times(50).step("head = \"/\"").gives(answered(50).bytes(0).over(50)).await;
}

/// The second user's connection is idle between the warm-up and the user's turn in the ramp-up.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_that_the_server_closed_costs_no_request() {
    for stray in ["", "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"] {
        for transport in TRANSPORTS {
            let server = || {
                Server::start(move |peer, _| {
                    thread::sleep(Duration::from_millis(5));
                    peer.send(OK)?;
                    Ok(Then::WhenIdle(stray))
                })
            };
            let case = both(server)
                .load("users = 2, ramp_up = \"1600ms\", duration = \"100ms\"")
                .warmup(Duration::from_millis(100));
            let server = server();
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            assert_eq!(counts.failures(), 0, "{transport}: {:?}", counts.examples);
            assert!(server.connections() >= 3, "{transport}: {}", server.connections());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_response_is_followed_by_a_new_connection() {
    let step = "get = \"/\"\ntimeout = \"100ms\"";
    let never = || Server::start(|_, _| Ok(Then::Hold));
    both(never).times(3).step(step).gives(failed(ErrorKind::Timeout, 3).bytes(0).over(3)).await;
    let late = || {
        Server::start(|peer, number| {
            if number % 2 == 0 {
                thread::sleep(Duration::from_millis(400));
                peer.send("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n")?;
            } else {
                peer.send(OK)?;
            }
            Ok(Then::Next)
        })
    };
    let expected = answered(2).and_failed(ErrorKind::Timeout, 2).bytes(4).over(3);
    both(late).times(4).step("get = \"/\"\ntimeout = \"200ms\"").gives(expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_reused_after_an_unexpected_response() {
    let server = || Server::always("HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno", || Then::Next);
    both(server).times(3).gives(failed(ErrorKind::Status, 3).bytes(6).over(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_without_a_listener_gives_a_connect_error() {
    let nowhere = dead_address();
    for url in [format!("http://{nowhere}"), "http://loadgen.invalid".to_owned()] {
        for transport in TRANSPORTS {
            let case = both(Server::closing).times(2);
            let counts = case.counts(transport, &url).await;
            let connect = counts.errors.get(&ErrorKind::Connect);
            assert_eq!(connect, Some(&2), "{transport}, {url}: {:?}", counts.examples);
        }
    }
}
