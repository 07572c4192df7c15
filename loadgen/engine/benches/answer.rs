//! Measures the cost of an answer that has arrived: reading it from the buffer, and comparing it
//! with the step's expectations. The system call that receives the answer is not included.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench is no library")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use loadgen_engine::parts::{Answer, Body, Check, Headers, Keep, Progress, Reader};
use loadgen_scenario::{self as scenario, Step};

/// Bytes of one read: the size of the thread's buffer.
const ONE_READ: usize = 64 << 10;

/// Two bodies in turn: a body equal to the last one would not be checked.
const JSON: [&[u8]; 2] = [
    br#"{"message":"Hello world","id":7,"values":["a","b"],"ok":true}"#,
    br#"{"message":"Hello world","id":7,"values":["a","b"],"ok":true} "#,
];

fn step(keys: &str) -> Step {
    let text = format!("[[step]]\nget = \"/\"\n{keys}");
    scenario::parse("bench", "bench.toml", &text).unwrap().steps.remove(0)
}

/// Returns an answer with the headers that nginx sends.
fn message(framing: &str, body: &str) -> Vec<u8> {
    let date = "Sat, 21 Nov 2026 12:00:00 GMT";
    format!(
        "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: {date}\r\n\
         Content-Type: application/json\r\n{framing}\r\nConnection: keep-alive\r\n\r\n{body}"
    )
    .into_bytes()
}

fn sized(length: usize) -> Vec<u8> {
    message(&format!("Content-Length: {length}"), &"x".repeat(length))
}

fn read(c: &mut Criterion) {
    let body = r#"{"message":"Hello world"}  "#;
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for (name, message, keep) in [
        ("27 bytes with content-length", sized(27), Keep::Nothing),
        ("27 bytes with content-length, kept", sized(27), Keep::All),
        ("27 bytes, chunked, kept", message("Transfer-Encoding: chunked", &chunks), Keep::All),
        ("64 KiB", sized(64 << 10), Keep::Nothing),
        ("64 KiB, kept", sized(64 << 10), Keep::All),
    ] {
        let mut reader = Reader::default();
        let mut other = message.clone();
        // The last digit of the date's seconds.
        let seconds = other.windows(4).position(|bytes| bytes == b" GMT").unwrap() - 1;
        other[seconds] = b'1';
        let messages = [message, other];
        let mut turns = messages.iter().cycle();
        c.bench_function(&format!("read: {name}"), |b| {
            b.iter(|| {
                reader.begin(false);
                let pieces = black_box(turns.next().unwrap()).chunks(ONE_READ);
                let last = pieces.map(|piece| reader.feed(piece, |_| keep).unwrap()).last();
                assert!(matches!(last, Some(Progress::Whole { .. })));
                black_box(reader.kept().len())
            });
        });
    }
}

fn check(c: &mut Criterion) {
    let four = r#"{ "/message" = "Hello world", "/id" = 7, "/values/0" = "a", "/values/1" = "b" }"#;
    for (name, keys) in [
        ("status", "expect = { status = 200 }"),
        ("status and a text", r#"expect = { status = 200, body = "\"ok\":true" }"#),
        ("status and one JSON value", r#"expect = { status = 200, json = { "/id" = 7 } }"#),
        ("status and four JSON values", &format!("expect = {{ status = 200, json = {four} }}")),
        ("status and a counter", "expect = { status = 200 }\ncounters = { ids = \"/id\" }"),
    ] {
        let check = Check::new(&step(keys));
        let mut counters = Vec::new();
        let mut turns = JSON.iter().cycle();
        c.bench_function(&format!("check: {name}"), |b| {
            b.iter(|| {
                let body = Body::Kept(black_box(turns.next().unwrap()));
                let answer = Answer {
                    status: 200,
                    headers: Headers::Unkept,
                    body,
                    form: None,
                    streamed: None,
                };
                check.hold(&answer, &mut counters).unwrap();
                black_box(counters.len())
            });
        });
    }
}

criterion_group!(benches, read, check);
criterion_main!(benches);
