//! What a request costs in allocations: nothing.
//!
//! What counts replaces the allocator of the whole program, but counts for the thread that asks alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use loadgen::engine::GooseRound;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::common::engine::{ONE_AT_A_TIME, plan};

/// Two answers that take turns, since one that comes again is not looked into again.
const ANSWERS: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\nserver: one\r\ncontent-length: 50\r\n\r\n\
      {\"message\":\"Hello world\",\"values\":[\"a\",\"b\"],\"n\":7}",
    b"HTTP/1.1 200 OK\r\nserver: two\r\ncontent-length: 50\r\n\r\n\
      {\"message\":\"Hello world\",\"values\":[\"a\",\"b\"],\"n\":8}",
];

/// A server in threads of its own, whose allocations are not counted.
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

/// Answers each request; none has a body, so that its end is an empty line.
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

/// Allocations of a round with so many iterations of one step, on this thread.
fn allocations(url: &str, step: &str, iterations: u64) -> u64 {
    let text = format!(
        "[load]\nusers = 4\niterations = {iterations}\n[[step]]\ntimeout = \"10s\"\n{step}"
    );
    let plan = plan(url, &text);
    let counted = allocation_counter::measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (sender, mut snapshots) = mpsc::channel(64);
            let round = GooseRound::prepare(plan).unwrap();
            round.run(Instant::now(), CancellationToken::new(), &sender).await.unwrap();
            drop(sender);
            let mut answered = 0;
            while let Some(snapshot) = snapshots.recv().await {
                let steps = snapshot.intervals.iter().flat_map(|interval| &interval.steps);
                answered += steps.map(|step| step.answered.len()).sum::<u64>();
            }
            assert_eq!(answered, iterations);
        });
    });
    counted.count_total
}

/// How many more allocations `MORE` further requests take.
fn per_request(step: &str) -> f64 {
    const MORE: u64 = 20_000;
    let _turn = ONE_AT_A_TIME.blocking_lock();
    let url = server();
    let few = allocations(&url, step, 1_000);
    let many = allocations(&url, step, 1_000 + MORE);
    many.saturating_sub(few) as f64 / MORE as f64
}

/// Each further second has histograms of its own, and a test may run slowly.
const NONE: f64 = 0.01;

#[test]
fn a_request_that_checks_a_status_allocates_nothing() {
    let each = per_request("get = \"/\"\nexpect = { status = 200 }");
    assert!(each < NONE, "{each} allocations for each request");
}

#[test]
fn neither_do_templates_and_expectations() {
    let each = per_request(
        "get = \"/items/{{ int 1 1000 }}?user={{ uuid }}\"\nheaders = { x-name = \"{{ name }}\" }\n\
         expect = { status = 200, body = \"world\", json = { \"/message\" = \"Hello world\", \"/values/1\" = \"b\" } }\n\
         counters = { n = \"/n\" }",
    );
    assert!(each < NONE, "{each} allocations for each request");
}

#[test]
fn what_is_counted_is_really_counted() {
    let each = per_request("get = \"/\"\n[http]\ntransport = \"reqwest\"");
    assert!(each > 1.0, "the other transport takes only {each} allocations for each request");
}
