//! Builds records by hand.

use std::collections::BTreeMap;

use loadgen::analysis::compare;
use loadgen::measure::{BodySizes, Latencies, LatencySummary, ResourceRecord, Summary};
use loadgen::record::{
    Environment, ExpectedContentRecord, FailedBy, FlowRecord, LatencyOverRounds, LoadRecord,
    OverRounds, ProofRecord, RoundRecord, RunRecord, SavedAs, SentRecord, ServerRecord,
    TargetRecord, ThresholdRecord,
};

/// A run of these targets with their comparison. The first target decides the number of rounds.
pub fn record(targets: Vec<TargetRecord>) -> RunRecord {
    let rates: Vec<(String, BTreeMap<u32, f64>)> = targets
        .iter()
        .map(|t| {
            let rounds = t.rounds.iter();
            (t.name.clone(), rounds.map(|r| (r.round, r.total.rate_per_s)).collect())
        })
        .collect();
    RunRecord {
        schema: RunRecord::SCHEMA.to_owned(),
        scenario: "insert_batch".to_owned(),
        started: "2026-11-21T08:30:00Z".to_owned(),
        seed: 1,
        command: vec!["loadgen".to_owned(), "--scenario=insert_batch".to_owned()],
        environment: Environment { runtime: "process".to_owned(), ..Environment::default() },
        left_out: BTreeMap::new(),
        load: LoadRecord {
            one_start: false,
            model: "closed".to_owned(),
            users: 100,
            rate_per_s: None,
            arrivals: None,
            stages: Vec::new(),
            ramp_up_s: 2.0,
            think_time: None,
            duration_s: Some(3.0),
            iterations: None,
            warmup_s: 1.0,
            drain_s: 3.0,
            targets: targets.iter().map(|target| target.name.clone()).collect(),
            duet: false,
            probe_per_s: None,
            trace_one_in: None,
            slices: None,
            slice_warmup_s: None,
            rounds: u32::try_from(targets[0].rounds.len()).unwrap(),
            workers: 4,
        },
        sent: Some(SentRecord::default()),
        comparison: Some(compare(&rates)),
        targets,
        thresholds: Vec::new(),
        calibration: None,
        duet: None,
        slices: None,
        gate: None,
        precision: None,
        profile_differences: Vec::new(),
        scaling: Vec::new(),
        backend_alone: None,
        noise_floor: None,
        verdicts: Vec::new(),
        degraded: None,
        stopped_early: None,
        resumed: Vec::new(),
        interrupted: false,
    }
}

/// A target with one round for each of these rates, in requests/s.
pub fn target(name: &str, rates: &[f64]) -> TargetRecord {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let rounds = (1..).zip(rates).map(|(round, rate)| RoundRecord {
        whole: true,
        round,
        held_s: 3.0,
        steps: Vec::new(),
        total: summary("all", *rate),
        ..RoundRecord::default()
    });
    let answered = (mean * 3.0) as u64;
    TargetRecord {
        name: name.to_owned(),
        target: name.to_owned(),
        users: 100,
        url: "http://127.0.0.1:8000".to_owned(),
        transport: Some("http1".to_owned()),
        server: ServerRecord::default(),
        steps: vec![summary("step", mean)],
        total: summary("all", mean),
        profile: None,
        probe: None,
        groups: Vec::new(),
        flows: Vec::new(),
        stages: Vec::new(),
        latency_histograms: BTreeMap::new(),
        uncoordinated_us: None,
        latency_over_rounds_us: LatencyOverRounds::default(),
        rate_over_rounds_per_s: None,
        failed_over_rounds_percent: None,
        steps_over_rounds: BTreeMap::new(),
        effective_samples: BTreeMap::new(),
        counters: BTreeMap::new(),
        json_keys: BTreeMap::new(),
        proofs: Vec::new(),
        rounds: rounds.collect(),
        resources: BTreeMap::from([("target".to_owned(), used(2.93, 87_400_000).over(answered))]),
        bottleneck: None,
        cpu_us_per_request_over_rounds: BTreeMap::new(),
        workers: Vec::new(),
    }
}

/// Resources used by a service that kept a core busy.
pub fn used(cpu_s: f64, memory_max_bytes: u64) -> ResourceRecord {
    ResourceRecord {
        cpu_s,
        cpu_percent: 97.6,
        memory_max_bytes,
        memory_mean_bytes: memory_max_bytes / 10 * 9,
        ..ResourceRecord::default()
    }
}

pub fn flow(name: &str, rate_per_s: f64) -> FlowRecord {
    let Summary { requests, latency_us, .. } = summary(name, rate_per_s);
    FlowRecord {
        name: name.to_owned(),
        iterations: requests,
        rate_per_s,
        latency_us,
        ..FlowRecord::default()
    }
}

pub fn summary(name: &str, rate_per_s: f64) -> Summary {
    let latency = LatencySummary {
        min: Some(900),
        mean: Some(3_000.0),
        p50: Some(2_345),
        p90: Some(4_000),
        p95: Some(12_345),
        p99: Some(98_765),
        p99_9: None,
        p99_99: None,
        max: Some(301_000),
    };
    Summary {
        failed_per_s: 0.0,
        name: name.to_owned(),
        requests: (rate_per_s * 3.0) as u64,
        errors: 0,
        cancelled: 0,
        answered_late: 0,
        failed_late: 0,
        unanswered: 0,
        resent: 0,
        unsent: 0,
        errors_by_kind: BTreeMap::new(),
        error_examples: BTreeMap::new(),
        rate_per_s,
        bytes_per_s: 0.0,
        uploaded_bytes_per_s: None,
        body_bytes: Some(BodySizes { smallest: 27, largest: 27 }),
        ttfb_us: latency.clone(),
        service_us: latency.clone(),
        delay_us: LatencySummary::from(&Latencies::default()),
        failed_us: latency.clone(),
        stream: None,
        latency_us: latency,
    }
}

pub fn server(framework: &str, server: &str, differs: &[&str]) -> ServerRecord {
    ServerRecord {
        framework: framework.to_owned(),
        server: server.to_owned(),
        language: "Python".to_owned(),
        workers: 1,
        replicas: None,
        packages: BTreeMap::new(),
        differs: differs.iter().map(|&text| text.to_owned()).collect(),
        git: None,
    }
}

/// The four default targets, with differences like those in
/// `targets.toml`. The best two, sanic and fastapi, are a tie.
pub fn four() -> Vec<TargetRecord> {
    let asyncpg = "asyncpg, which resets each connection after use: one more round trip";
    let mut targets = vec![
        target("flask", &[612.0, 600.0, 606.0]),
        target("sanic", &[4_321.0, 4_300.0, 4_345.0]),
        target("fastapi", &[4_310.0, 4_330.0, 4_290.0]),
        target("quart", &[1_200.0, 1_210.0, 1_190.0]),
    ];
    let synchronous = [
        "10 threads, so 10 requests at a time; no event loop",
        "an HTTP parser in Python",
        "synchronous redis-py",
        "psycopg 3",
    ];
    targets[0].server = server("Flask", "gunicorn, gthread worker", &synchronous);
    let parsers = [
        ("Sanic", "Sanic's own server", "httptools"),
        ("FastAPI", "uvicorn", "httptools"),
        ("Quart", "hypercorn", "h11, an HTTP parser in Python"),
    ];
    for (target, (framework, on, parser)) in targets[1..].iter_mut().zip(parsers) {
        let differs = ["uvloop", parser, "asynchronous redis-py", asyncpg];
        target.server = server(framework, on, &differs);
    }
    targets
}

/// A proof that finds `held` rows in PostgreSQL, where 278,000 are expected.
pub fn rows(round: u32, held: i64) -> ProofRecord {
    let expected = ExpectedContentRecord::Answers {
        counter: "inserted_items".to_owned(),
        counted: 203_000,
        uncounted: 75_000,
    };
    proof(round, "SELECT count(*) FROM items", expected, held)
}

/// A proof that finds `held` rows that lack a value, where none is expected.
pub fn nulls(round: u32, held: i64) -> ProofRecord {
    let question = "SELECT count(*)\nFROM items\nWHERE sku IS NULL OR name IS NULL OR quantity IS \
                    NULL OR price_cents IS NULL";
    proof(round, question, ExpectedContentRecord::Scenario { value: 0 }, held)
}

fn proof(round: u32, question: &str, expected: ExpectedContentRecord, held: i64) -> ProofRecord {
    let (backend, question) = ("postgres".to_owned(), question.to_owned());
    let agrees = expected.is(held);
    ProofRecord { round, backend, question, expected, held, unknown: 0, agrees }
}

pub fn threshold(
    target: &str,
    threshold: &str,
    measured: Option<f64>,
    passed: bool,
) -> ThresholdRecord {
    let failed_by = match measured {
        _ if passed => None,
        Some(_) => Some(FailedBy::Measured),
        None => Some(FailedBy::TooFewSamples),
    };
    ThresholdRecord {
        target: target.to_owned(),
        threshold: threshold.to_owned(),
        measured,
        passed,
        failed_by,
        worst_case: None,
        failed_late: 0,
        unanswered: 0,
    }
}

/// A run of two targets at 500 requests/s, with Redis as a backend.
/// The first target needs 0.6 times the CPU of the second.
pub fn at_a_rate() -> RunRecord {
    let noise = [[1.0, 2.5, -2.0, -3.0, 1.5], [-4.0, 2.0, 3.0, -1.0, 0.0]];
    let rates = noise.map(|noise| noise.map(|percent| 500.0 + percent / 10.0));
    let mut targets = vec![target("sanic", &rates[0]), target("fastapi", &rates[1])];
    let mut thrift = Vec::new();
    let mut speeds = Vec::new();
    for ((target, us), noise) in targets.iter_mut().zip([240.0, 400.0]).zip(noise) {
        let cpu_us = noise.map(|percent| us * (1.0 + percent / 100.0));
        let per_round = |figure: fn(f64) -> f64| -> BTreeMap<u32, f64> {
            (1..).zip(cpu_us.map(figure)).collect()
        };
        thrift.push((target.name.clone(), per_round(|us| 1e6 / us)));
        speeds.push((target.name.clone(), Ok(per_round(|us| 1e5 / us))));
        target.resources = BTreeMap::from([
            ("generator".to_owned(), used(0.4, 20_000_000).over(1_500)),
            ("redis".to_owned(), used(0.052, 12_300_000).over(1_500)),
            ("target".to_owned(), used(us * 1_500.0 / 1e6, 87_400_000).over(1_500)),
        ]);
        let over = OverRounds::of(cpu_us, false).unwrap();
        target.cpu_us_per_request_over_rounds = BTreeMap::from([("target".to_owned(), over)]);
    }
    let mut record = record(targets);
    record.load.model = "open".to_owned();
    record.load.rate_per_s = Some(500.0);
    record.load.arrivals = Some("evenly spaced".to_owned());
    record.comparison = record.comparison.map(|c| c.by_speed(&speeds).with_cpu(&thrift));
    record
}
