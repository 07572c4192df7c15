//! Tests that a request allocates nothing with the transports `http1` and `http2`.
//!
//! The counting allocator replaces the allocator of the whole
//! program, but counts only allocations of the thread that measures.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use loadgen::engine::GooseRound;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::common::engine::{ONE_AT_A_TIME, plan};
use crate::transports::http2::peer::Server;

/// Two answers that alternate, because a body equal to the last right body is not checked again.
const ANSWERS: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\nserver: one\r\ncontent-length: 50\r\n\r\n\
      {\"message\":\"Hello world\",\"values\":[\"a\",\"b\"],\"n\":7}",
    b"HTTP/1.1 200 OK\r\nserver: two\r\ncontent-length: 50\r\n\r\n\
      {\"message\":\"Hello world\",\"values\":[\"a\",\"b\"],\"n\":8}",
];

/// Starts a server in separate threads, whose allocations
/// are not counted. Returns the server's URL.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || answer(stream));
        }
    });
    url
}

/// Answers each request. No request has a body, so each request ends with an empty line.
fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let mut answers = ANSWERS.iter().cycle();
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        request.extend_from_slice(&buffer[..length]);
        if request.ends_with(b"\r\n\r\n") {
            request.clear();
            let Some(answer) = answers.next() else { return };
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Returns the number of allocations on this thread in
/// a round with `iterations` iterations of one step, and the number of its seconds.
fn allocations(url: &str, step: &str, iterations: u64) -> (u64, u64) {
    let text = format!(
        "[load]\nusers = 4\niterations = {iterations}\n[[step]]\ntimeout = \"10s\"\n{step}"
    );
    let plan = plan(url, &text);
    let mut seconds = 0;
    let counted = allocation_counter::measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (sender, mut snapshots) = mpsc::channel(64);
            let round = GooseRound::prepare(plan).unwrap();
            round.run(Instant::now(), CancellationToken::new(), &sender).await.unwrap();
            drop(sender);
            let mut answered = 0;
            while let Some(snapshot) = snapshots.recv().await {
                seconds += snapshot.intervals.len() as u64;
                let steps = snapshot.intervals.iter().flat_map(|interval| &interval.steps);
                answered += steps.map(|step| step.answered.len()).sum::<u64>();
            }
            assert_eq!(answered, iterations);
        });
    });
    (counted.count_total, seconds)
}

/// Returns the number of allocations per request, averaged over `MORE` further requests.
fn per_request(step: &str) -> f64 {
    per_request_to(&server(), step)
}

/// Like [`per_request`], for requests to the server at `url`.
fn per_request_to(url: &str, step: &str) -> f64 {
    const MORE: u64 = 20_000;
    let _turn = ONE_AT_A_TIME.blocking_lock();
    let (few, short) = allocations(url, step, 1_000);
    let (many, long) = allocations(url, step, 1_000 + MORE);
    let of_seconds = EACH_SECOND * long.saturating_sub(short);
    many.saturating_sub(few + of_seconds) as f64 / MORE as f64
}

/// Most allocations of each further second, which has histograms of its own: 174 to 178 were measured.
const EACH_SECOND: u64 = 200;

/// Limit below which a request counts as allocation-free. The limit is above 0 because buffers
/// still grow.
const NONE: f64 = 0.01;

#[test]
fn a_request_that_checks_a_status_allocates_nothing() {
    let each = per_request("get = \"/\"\nexpect = { status = 200 }");
    assert!(each < NONE, "{each} allocations for each request");
}

#[test]
fn templates_and_expectations_allocate_nothing() {
    let each = per_request(
        "get = \"/items/{{ int 1 1000 }}?user={{ uuid }}\"\nheaders = { x-name = \"{{ name }}\" }\n\
         expect = { status = 200, body = \"world\", json = { \"/message\" = \"Hello world\", \"/values/1\" = \"b\" } }\n\
         counters = { n = \"/n\" }",
    );
    assert!(each < NONE, "{each} allocations for each request");
}

#[test]
fn a_request_over_http_2_allocates_nothing() {
    let server = Server::answering(&[]);
    for keys in ["", "\nconnections = 2"] {
        let each = per_request_to(
            &server.url(),
            &format!(
                "get = \"/items/{{{{ int 1 1000 }}}}\"\nheaders = {{ x-name = \"{{{{ name }}}}\" }}\n\
                 expect = {{ status = 200, body = \"hello\" }}\n[http]\nversion = \"2\"{keys}"
            ),
        );
        assert!(each < NONE, "{keys}: {each} allocations for each request");
    }
}

#[test]
fn the_counter_counts_allocations() {
    let each = per_request("get = \"/\"\n[http]\ntransport = \"reqwest\"");
    assert!(each > 1.0, "the other transport takes only {each} allocations for each request");
}
