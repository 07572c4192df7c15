//! Tests which requests are sent again (RFC 9110, section 9.2.2; RFC 9112, section 9.3.1).

use std::io;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Peer, Server, Then};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Starts a server that answers the first request of each connection, and ends the connection with `end` when the
/// second one has come. So each request after the first is sent again, if it is sent again.
fn answers_once(end: impl Fn(&mut Peer) -> io::Result<Then> + Send + Sync + 'static) -> Server {
    Server::start(move |peer, _| match peer.asked() {
        1 => {
            peer.send(OK)?;
            Ok(Then::Next)
        }
        _ => end(peer),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_on_a_connection_that_the_server_closes_is_sent_again() {
    for end in [|| Then::Close, || Then::Reset] {
        for method in ["get", "put", "delete"] {
            let server = || answers_once(move |_| Ok(end()));
            let expected = answered(4).bytes(8).resent(3).over(4);
            let step = format!("{method} = \"/\"");
            both(server).times(4).step(&step).about(method).gives(expected).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_body_is_sent_again_as_it_was() {
    let server = || answers_once(|_| Ok(Then::Close));
    let step = "put = \"/{{ iteration }}\"\nbody.text = \"{{ uuid }}\"";
    let servers = both(server).times(3).step(step).gives(answered(3).resent(2)).await;
    for server in servers {
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        // Each request after the first one was sent twice.
        assert_eq!((&requests[1], &requests[3]), (&requests[2], &requests[4]));
        assert_ne!(requests[0].body, requests[1].body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_been_carried_out_is_not_sent_again() {
    let server = || answers_once(|_| Ok(Then::Close));
    for (step, times) in [("post = \"/\"", 4), ("patch = \"/\"", 4)] {
        let expected = answered(2).and_failed(ErrorKind::Reset, 2).resent(0);
        both(server).times(times).step(step).about(step).gives(expected).await;
    }
    let without = || answers_once(|_| Ok(Then::Close));
    let expected = answered(2).and_failed(ErrorKind::Reset, 2).resent(0);
    both(without).times(4).http("resend = false,").gives(expected).await;
}

/// The message of a POST names the time for which the connection was idle.
#[tokio::test(flavor = "multi_thread")]
async fn a_post_on_a_connection_that_was_idle_says_so() {
    for transport in TRANSPORTS {
        let server = answers_once(|_| Ok(Then::Close));
        let step = "post = \"/\"\nthink_time = \"300ms\"";
        let case = both(Server::closing).times(2).step(step);
        let counts = case.counts(transport, &format!("http://{}", server.address)).await;
        let said = &counts.examples[&ErrorKind::Reset];
        let idle = ", after 0.3 s without a request: if the server closes idle connections";
        assert!(said.contains(idle), "{transport}: {said}");
        assert!(said.contains("a POST is not sent again"), "{transport}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_sent_again_only_once() {
    // Answers the first request of all, and no other.
    let server = || {
        Server::start(|peer, number| match number {
            0 => {
                peer.send(OK)?;
                Ok(Then::Next)
            }
            _ => Ok(Then::Close),
        })
    };
    // The last two requests find no open connection.
    let expected = answered(1).and_failed(ErrorKind::Reset, 3).resent(1).over(4);
    both(server).times(4).gives(expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_has_begun_is_not_requested_again() {
    for begin in
        ["H", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"]
    {
        let server = || {
            answers_once(move |peer| {
                peer.send(begin)?;
                Ok(Then::Close)
            })
        };
        let case = both(server).times(4).about(begin);
        let server = case.start();
        let counts = case.counts("http1", &format!("http://{}", server.address)).await;
        assert_eq!(
            (counts.answered.len(), counts.resent),
            (2, 0),
            "{begin}: {:?}",
            counts.examples
        );
        assert_eq!(counts.errors[&ErrorKind::Reset], 2, "{begin}");
    }
}

/// A server that accepts connections and does not answer has failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_on_a_connection_of_its_own_is_not_sent_again() {
    let server = || Server::start(|_, _| Ok(Then::Close));
    let expected = failed(ErrorKind::Reset, 3).resent(0);
    both(server).times(3).http("connection = \"per-request\",").gives(expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_announces_the_last_request_gets_no_other() {
    let server = || {
        let answer =
            "HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=1\r\ncontent-length: 2\r\n\r\nok";
        Server::always(answer, || Then::Next)
    };
    let case = both(server).times(4);
    let server = case.start();
    let counts = case.counts("http1", &format!("http://{}", server.address)).await;
    assert_eq!((counts.answered.len(), counts.resent, server.connections()), (4, 0, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_not_used_when_its_time_is_about_to_end() {
    for (think_time, connections) in [("50ms", 1), ("950ms", 3)] {
        let answer = "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok";
        let step = format!("post = \"/\"\nthink_time = \"{think_time}\"");
        let case = both(|| Server::always(answer, || Then::Next)).times(3).step(&step);
        let server = case.start();
        let counts = case.counts("http1", &format!("http://{}", server.address)).await;
        assert_eq!((counts.answered.len(), server.connections()), (3, connections), "{think_time}");
    }
}

/// The latency of a request that is sent again begins with its first send.
#[tokio::test(flavor = "multi_thread")]
async fn the_latency_includes_the_first_attempt() {
    for transport in TRANSPORTS {
        let server = answers_once(|_| {
            std::thread::sleep(Duration::from_millis(100));
            Ok(Then::Close)
        });
        let case = both(Server::closing).times(2);
        let counts = case.counts(transport, &format!("http://{}", server.address)).await;
        assert_eq!((counts.answered.len(), counts.resent), (2, 1), "{transport}");
        assert!(counts.answered.max() >= Some(100_000), "{transport}: {:?}", counts.answered.max());
    }
}
