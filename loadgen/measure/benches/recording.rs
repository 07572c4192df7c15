//! Measures the cost of counting: for one request, and for all requests once a second. Compare
//! figures only within one run: machines differ, and so does the same machine from day to day.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench is no library")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use loadgen_measure::{Ending, Outcome, Recorder, Series, Snapshot, Timeline};

fn recorder(start: Instant) -> Recorder {
    let timeline =
        Timeline { measured: start, full: start, end: Some(start + Duration::from_secs(3_600)) };
    Recorder::new(timeline, 1, 0, 1)
}

fn outcome<'a>(start: Instant, us: u64) -> Outcome<'a> {
    Outcome {
        step: 0,
        counted: true,
        planned: start,
        sent: None,
        first_byte: None,
        done: start + Duration::from_micros(us),
        bytes: 100,
        resent: false,
        ending: Ending::Answered,
        stream: None,
        counters: &[],
    }
}

fn record(c: &mut Criterion) {
    let start = Instant::now();
    let recorder = recorder(start);
    let mut us = 0;
    c.bench_function("recording: one request", |b| {
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
    c.bench_function("recording: a snapshot of 10,000 requests merged", |b| {
        b.iter_batched(
            || (Series::default(), snapshot.clone()),
            |(mut series, snapshot)| {
                series.add(snapshot);
                series
            },
            BatchSize::SmallInput,
        );
    });
    c.bench_function("recording: that snapshot encoded and decoded", |b| {
        b.iter(|| {
            let bytes = rmp_serde::to_vec_named(black_box(&snapshot)).unwrap();
            rmp_serde::from_slice::<Snapshot>(&bytes).unwrap()
        });
    });
}

criterion_group!(recording, record, merge);
criterion_main!(recording);
