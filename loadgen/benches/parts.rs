//! What loadgen's own parts cost for each request. Read the figures beside each other, in one run:
//! machines differ, and the same machine differs from day to day.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench is no library")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use loadgen::measure::{Ending, Outcome, Recorder, Series, Snapshot, Timeline};
use loadgen::scenario::{self, Data, Step};

fn step(keys: &str) -> Step {
    let text = format!("[[step]]\npost = \"/items\"\n{keys}");
    scenario::parse("bench", "bench.toml", &text).unwrap().steps.remove(0)
}

fn recorder(start: Instant) -> Recorder {
    let timeline =
        Timeline { measured: start, full: start, end: Some(start + Duration::from_secs(3_600)) };
    Recorder::new(timeline, 1, 1)
}

fn outcome<'a>(start: Instant, us: u64) -> Outcome<'a> {
    Outcome {
        step: 0,
        counted: true,
        planned: start,
        done: start + Duration::from_micros(us),
        bytes: 100,
        ending: Ending::Answered,
        counters: &[],
    }
}

fn record(c: &mut Criterion) {
    let start = Instant::now();
    let recorder = recorder(start);
    let mut us = 0;
    c.bench_function("record one outcome", |b| {
        b.iter(|| {
            us = (us + 7) % 50_000;
            recorder.record(black_box(&outcome(start, us)));
        });
    });
}

fn merge(c: &mut Criterion) {
    let start = Instant::now();
    let recorder = recorder(start);
    (0..10_000).for_each(|us| recorder.record(&outcome(start, us)));
    let snapshot = recorder.finish();
    c.bench_function("merge a snapshot of 10,000 requests", |b| {
        b.iter_batched(
            || (Series::default(), snapshot.clone()),
            |(mut series, snapshot)| {
                series.add(snapshot);
                series
            },
            BatchSize::SmallInput,
        );
    });
    c.bench_function("encode and decode that snapshot", |b| {
        b.iter(|| {
            let bytes = rmp_serde::to_vec_named(black_box(&snapshot)).unwrap();
            rmp_serde::from_slice::<Snapshot>(&bytes).unwrap()
        });
    });
}

fn render(c: &mut Criterion) {
    let item = "{ sku = \"{{ uuid }}\", name = \"{{ name }}\", quantity = \"{{ int 1 100 }}\" }";
    for (name, repeat) in [("one item", 1), ("1,000 items", 1_000)] {
        let step = step(&format!("body = {{ json = {item}, repeat = {repeat} }}"));
        let body = step.body.unwrap().text;
        let mut data = Data::new(1, 1);
        let mut text = String::new();
        c.bench_function(&format!("render a body of {name}"), |b| {
            b.iter(|| {
                text.clear();
                body.render(&mut data, &mut text);
                black_box(text.len())
            });
        });
    }
}

criterion_group!(parts, record, merge, render);
criterion_main!(parts);
