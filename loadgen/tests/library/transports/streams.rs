//! Tests streams of events: which of them are complete, and how those end that are not.

use std::thread::sleep;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Server, Then};

const SSE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n";
const DONE: &str = "get = \"/\"\nexpect.stream = { events = 3, end = \"[DONE]\" }";

/// Returns a chunked answer with these chunks, whole.
fn chunks(head: &str, chunks: &[&str]) -> String {
    let one = |chunk: &&str| format!("{:x}\r\n{chunk}\r\n", chunk.len());
    let chunks: String = chunks.iter().map(one).collect();
    format!("{head}{CHUNKED}{chunks}0\r\n\r\n")
}

fn three() -> String {
    let events = ["data: 1\n\nda", "ta: 2\n\n", ": ping\n\nevent: x\ndata: 3\n\ndata: [DONE]\n\n"];
    chunks(SSE, &events)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_stream_leaves_its_connection_usable() {
    let server = || Server::always(three(), || Then::Next);
    both(server).times(5).step(DONE).gives(answered(5).over(1)).await;
    // Bytes after the end marker are read, too.
    let more =
        || Server::always(chunks(SSE, &["data: 1\n\n", "data: x\n\n", ": bye\n\n"]), || Then::Next);
    let step = "get = \"/\"\nexpect.stream = { events = 1, end = \"x\" }";
    both(more).times(3).step(step).gives(answered(3).over(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_in_any_framing_and_pieces_are_counted_alike() {
    let body = "data: 1\r\n\r\ndata: 2\r\n\r\ndata: 3\r\n\r\ndata: [DONE]\r\n\r\n";
    let sized = format!("{SSE}content-length: {}\r\n\r\n{body}", body.len());
    let until_close = format!("{SSE}\r\n{body}");
    for (bytes, closes) in [(three(), false), (sized, false), (until_close, true)] {
        for transport in TRANSPORTS {
            let bytes = bytes.clone();
            let server = Server::start(move |peer, _| {
                peer.dribble(bytes.as_bytes())?;
                Ok(if closes { Then::Close } else { Then::Next })
            });
            let case = both(Server::closing).times(2).step(DONE);
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            let stream = counts.stream.as_deref().unwrap();
            assert_eq!(counts.answered.len(), 2, "{transport}: {:?}", counts.examples);
            assert_eq!((stream.events, stream.first_event.len(), stream.gaps.len()), (6, 2, 4));
            assert!(stream.first_event.max() <= counts.answered.max(), "{transport}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_early_is_a_failed_request_of_its_own_kind() {
    let body = |events: &[&str]| chunks(SSE, events);
    for answer in [
        body(&["data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"]),
        body(&["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]),
        body(&["data: 1\n\n", "data: 2\n\n", "data: 3\n\n", "data: [DONE]\n"]),
        body(&[]),
        format!("{SSE}\r\ndata: 1\n\n"),
        format!("{SSE}content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc"),
    ] {
        let server = || Server::always(answer.clone(), || Then::Close);
        both(server).about(&answer).step(DONE).gives(failed(ErrorKind::Stream, 1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_keeps_the_kind_of_the_cut() {
    let whole = three();
    let cut = || Server::always(&whole[..whole.len() - 20], || Then::Close);
    both(cut).step(DONE).gives(failed(ErrorKind::Reset, 1)).await;
    let hung = || Server::always(&whole[..whole.len() - 20], || Then::Hold);
    let step = format!("{DONE}\ntimeout = \"300ms\"");
    both(hung).step(&step).gives(failed(ErrorKind::Timeout, 1)).await;
    let refused = || Server::always("HTTP/1.1 503 X\r\ncontent-length: 2\r\n\r\nno", || Then::Next);
    both(refused).step(DONE).gives(failed(ErrorKind::Status, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_events_unless_the_media_type_says_otherwise() {
    let body = ["{\"n\": 1}\n{\"n\"", ": 2}\n", "{\"n\": 3, \"done\": true}"];
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n";
    let server = || Server::always(chunks(head, &body), || Then::Next);
    both(server).step("get = \"/\"\nexpect.stream = { events = 3 }").gives(answered(1)).await;
    let end = "get = \"/\"\nexpect.stream = { events = 2, end = { regex = '\"done\": true' } }";
    both(server).step(end).gives(answered(1)).await;
    let events = "get = \"/\"\nexpect.stream = { format = \"events\" }";
    both(server).step(events).gives(failed(ErrorKind::Stream, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_has_the_time_of_its_own_read() {
    const PAUSE: Duration = Duration::from_millis(60);
    for transport in TRANSPORTS {
        let server = Server::start(|peer, _| {
            peer.send(format!("{SSE}{CHUNKED}"))?;
            for chunk in ["9\r\ndata: 1\n\n\r\n", "12\r\ndata: 2\n\ndata: 3\n\n\r\n", "0\r\n\r\n"] {
                sleep(PAUSE);
                peer.send(chunk)?;
            }
            Ok(Then::Next)
        });
        let case = both(Server::closing).step("get = \"/\"\nexpect.stream = true");
        let counts = case.counts(transport, &format!("http://{}", server.address)).await;
        let stream = counts.stream.as_deref().unwrap();
        let us = PAUSE.as_micros() as u64;
        let (first, gaps) = (stream.first_event.max().unwrap(), &stream.gaps);
        assert!(counts.ttfb().max().unwrap() + us / 2 <= first, "{transport}");
        assert!(first + us <= counts.answered.max().unwrap(), "{transport}");
        // The second and the third event came with one read.
        assert_eq!((gaps.len(), gaps.min()), (2, Some(1)), "{transport}");
        assert!(gaps.max().unwrap() >= us - 5_000, "{transport}: {gaps:?}");
    }
}

/// A stream without an end, with an event each 2 ms.
fn endless() -> Server {
    Server::start(|peer, _| {
        peer.send(format!("{SSE}{CHUNKED}"))?;
        for number in 1.. {
            let event = format!("data: {number}\n\n");
            peer.send(format!("{:x}\r\n{event}\r\n", event.len()))?;
            sleep(Duration::from_millis(2));
        }
        Ok(Then::Close)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_an_end_is_ended_at_an_event() {
    for (stream, events) in [
        ("events = 5, close = true", 5),
        ("events = \">= 2\", end = \"4\", close = true", 3),
        ("end = { regex = '^2$' }, close = true", 1),
    ] {
        let step = format!("get = \"/\"\ntimeout = \"10s\"\nexpect.stream = {{ {stream} }}");
        let case = || both(endless).times(3).step(&step);
        case().gives(answered(3).over(3)).await;
        for transport in TRANSPORTS {
            let server = endless();
            let counts = case().counts(transport, &format!("http://{}", server.address)).await;
            let came = counts.stream.as_deref().unwrap();
            assert_eq!((came.events, came.closed), (3 * events, 3), "{transport}, {stream}");
        }
    }
    // The marker came too early.
    let step = "get = \"/\"\nexpect.stream = { events = 5, end = \"3\", close = true }";
    both(endless).step(step).gives(failed(ErrorKind::Stream, 1)).await;
    let step = "get = \"/\"\ntimeout = \"300ms\"\nexpect.stream = { end = \"x\", close = true }";
    both(endless).step(step).gives(failed(ErrorKind::Timeout, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_server_ends_first_keeps_its_connection() {
    for stream in ["events = 3, close = true", "end = \"[DONE]\", close = true"] {
        let step = format!("get = \"/\"\nexpect.stream = {{ {stream} }}");
        let case = || both(|| Server::always(three(), || Then::Next)).times(4).step(&step);
        if stream.contains("end") {
            case().gives(answered(4).over(1)).await;
        }
        let server = Server::always(three(), || Then::Next);
        let counts = case().counts("http1", &format!("http://{}", server.address)).await;
        assert_eq!(counts.answered.len(), 4, "{:?}", counts.examples);
        assert_eq!(counts.stream.as_deref().unwrap().events, 12);
    }
    let step = "get = \"/\"\nexpect.stream = { events = 4, close = true }";
    both(|| Server::always(chunks(SSE, &["data: 1\n\n"]), || Then::Next))
        .step(step)
        .gives(failed(ErrorKind::Stream, 1))
        .await;
}
