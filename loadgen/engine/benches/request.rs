//! Measures the cost of making a request: nothing if the request is constant, otherwise its
//! generated parts.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench is no library")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use loadgen_engine::parts::Transport;
use loadgen_engine::{Plan, Share};
use loadgen_scenario::{self as scenario, Data};

const ITEM: &str = "{ sku = \"{{ uuid }}\", name = \"{{ name }}\", quantity = \"{{ int 1 100 }}\", price_cents = 250 }";

fn transport(step: &str) -> Transport {
    let text = format!("[[step]]\n{step}");
    Transport::new(&Plan {
        scenario: scenario::parse("bench", "bench.toml", &text).unwrap(),
        base_url: "http://127.0.0.1:8000".to_owned(),
        warmup: Duration::ZERO,
        seed: 1,
        known: Vec::new(),
        first_user: 0,
        trace_one_in: None,
        share: Share::WHOLE,
    })
    .unwrap()
}

fn request(c: &mut Criterion) {
    let many = format!("post = \"/items\"\nbody = {{ repeat = 100, json = {ITEM} }}");
    for (name, step) in [
        ("constant", "get = \"/items\""),
        ("{{ user }}", "get = \"/items?by={{ user }}\""),
        ("{{ int }}", "get = \"/items/{{ int 1 1000 }}\""),
        ("{{ uuid }}", "get = \"/items/{{ uuid }}\""),
        ("{{ name }}", "get = \"/items?name={{ name }}\""),
        ("body of 1 row", &format!("post = \"/items\"\nbody = {{ json = [{ITEM}] }}")),
        ("body of 100 rows", &many),
    ] {
        let transport = transport(step);
        let mut link = transport.link(Share::WHOLE.number(0));
        let mut data = Data::new(1, 1);
        let mut iteration = 0;
        c.bench_function(&format!("request: {name}"), |b| {
            b.iter(|| {
                // Like a user: each iteration has its own place in the random stream.
                data.set_iteration(black_box(iteration));
                link.render(0, &mut data).unwrap();
                iteration += 1;
            });
        });
    }
}

criterion_group!(benches, request);
criterion_main!(benches);
