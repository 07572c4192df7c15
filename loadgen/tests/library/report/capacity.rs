//! Tests the report of a search for capacities, made from records built by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::shown::capacity;
use loadgen::analysis::{Tried, compare_capacities, curve, knee};
use loadgen::measure::{Counts, ResourceRecord, Summary};
use loadgen::record::{
    Bottleneck, Bound, Capacity, CapacityRecord, CapacityRound, CapacityTarget, Environment,
    SavedAs, SearchRecord, SentRecord, ServerRecord, TrialRecord,
};

pub fn record(runtime: &str, targets: Vec<CapacityTarget>) -> CapacityRecord {
    CapacityRecord {
        left_out: BTreeMap::new(),
        schema: CapacityRecord::SCHEMA.to_owned(),
        scenario: "redis3".to_owned(),
        started: "2026-11-21T08:30:00Z".to_owned(),
        seed: 1,
        command: Vec::new(),
        environment: Environment { runtime: runtime.to_owned(), ..Environment::default() },
        search: SearchRecord {
            criteria: vec!["redis3.p99 < 100ms".to_owned(), "error_rate < 1%".to_owned()],
            left_out: Vec::new(),
            arrivals: "Poisson".to_owned(),
            users: 1_000,
            duration_s: 5.0,
            warmup_s: 1.0,
            drain_s: 3.0,
            precision_percent: 5.0,
            lowest_per_s: 18.8,
            targets: targets.iter().map(|target| target.name.clone()).collect(),
            rounds: u32::try_from(targets[0].rounds.len()).unwrap(),
            workers: 0,
            trace_one_in: None,
        },
        sent: Some(SentRecord::default()),
        comparison: compare_capacities(&targets),
        targets,
        degraded: None,
        interrupted: false,
    }
}

/// A trial of one second at `rate_per_s` on a server that carries `carries` requests/s.
/// Answers take about 2 ms, and longer the closer the rate is to `carries`.
fn trial(rate_per_s: f64, carries: f64, lab: bool) -> Tried {
    let held = rate_per_s <= carries;
    let ms = if held { 2.0 / (1.02 - rate_per_s / carries) } else { 900.0 };
    let mut counts = Counts::default();
    let answers = rate_per_s.min(carries) as u64;
    (0..answers).for_each(|_| counts.answered.record(Duration::from_secs_f64(ms / 1e3)));
    let used = ResourceRecord {
        cpu_s: answers as f64 * 0.9e-3,
        cpu_percent: 0.0,
        memory_max_bytes: 1,
        ..ResourceRecord::default()
    };
    let reason =
        "the rate was not carried: 212 of 1,600 requests were in flight or unsent at the end";
    let record = TrialRecord {
        round: 1,
        rate_per_s,
        held_s: 1.0,
        passed: held,
        generator_limited: false,
        bottleneck: None,
        reasons: if held { Vec::new() } else { vec![reason.to_owned()] },
        total: Summary::new("all", &counts, &Counts::default(), Duration::from_secs(1)),
        resources: lab.then_some(("target".to_owned(), used)).into_iter().collect(),
        others_percent: None,
        other_loadgen: false,
    };
    Tried { record, answered: counts.answered }
}

/// A target that carries these rates, in requests/s,
/// in its rounds. The first rate decides the trials.
pub fn target(name: &str, rounds: &[f64], bound: Bound, lab: bool) -> CapacityTarget {
    let rates = [250.0, 500.0, 750.0, 1_000.0, 1_010.0, 1_250.0, 2_000.0];
    let trials: Vec<Tried> = rates.iter().map(|rate| trial(*rate, rounds[0], lab)).collect();
    let curve = curve(&trials, 0.05);
    let rounds: Vec<CapacityRound> = (1..)
        .zip(rounds)
        .map(|(round, rate)| CapacityRound {
            round,
            bound,
            capacity_per_s: (bound == Bound::Found).then_some(*rate),
            passed_per_s: (bound != Bound::Below).then_some(rate * 0.98),
            failed_per_s: Some(rate * 1.02),
            trials: 5,
        })
        .collect();
    let server = ServerRecord {
        framework: name.to_owned(),
        server: "uvicorn".to_owned(),
        language: "Python".to_owned(),
        workers: 1,
        replicas: None,
        packages: BTreeMap::new(),
        differs: vec!["uvloop".to_owned()],
        git: None,
    };
    CapacityTarget {
        profile: None,
        name: name.to_owned(),
        url: "http://127.0.0.1:8000".to_owned(),
        transport: Some("http1".to_owned()),
        connections: None,
        server: if lab { server } else { ServerRecord::default() },
        capacity: Capacity::of(&rounds),
        knee: knee(&curve).cloned(),
        curve,
        rounds,
        trials: trials.into_iter().map(|tried| tried.record).collect(),
    }
}

/// A search with two targets whose capacity was found.
pub fn of_two() -> CapacityRecord {
    let targets = vec![
        target("sanic", &[1_510.0, 1_540.0, 1_490.0, 1_525.0, 1_500.0], Bound::Found, true),
        target("fastapi", &[1_020.0, 1_040.0, 1_010.0, 1_000.0, 1_030.0], Bound::Found, true),
    ];
    record("process", targets)
}

#[test]
fn two_capacities_are_compared() {
    let text = capacity(&of_two(), Path::new("runs/1"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

/// Returns the report, in one line, of a search whose trials all have this bottleneck.
fn said_of(bottleneck: &Bottleneck, bound: Bound, users: u32) -> String {
    let mut target = target("sanic", &[1_000.0], bound, true);
    target.trials.iter_mut().for_each(|trial| trial.bottleneck = Some(bottleneck.clone()));
    let mut record = record("process", vec![target]);
    record.search.users = users;
    let text = capacity(&record, None);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_higher_rate_that_only_waits_longer_is_reported_as_queueing() {
    let found = said_of(&Bottleneck::Nobody, Bound::Found, 1_000);
    let queues = "sanic answered 1,000 of 1,250 requests/s and 1,000 of 2,000 requests/s, although no CPU or \
                  link was at its limit: by Little's law, with 2.60 ms for a response at 250/s, the server \
                  worked on at most about 3 requests at a time";
    assert!(found.contains(queues), "{found}");
    assert!(found.contains("failed at 1,010/s, with no CPU or link at its limit:"), "{found}");
    assert!(!said_of(&Bottleneck::Nobody, Bound::Found, 3).contains("Little"), "too few users");
    assert!(!said_of(&Bottleneck::Target, Bound::Found, 1_000).contains("Little"));
}

#[test]
fn a_failure_below_a_rate_that_passed_decides_nothing() {
    let mut target = target("sanic", &[1_000.0], Bound::Found, true);
    // A cold start.
    let cold = TrialRecord { rate_per_s: 28.0, ..target.trials.last().unwrap().clone() };
    target.trials.insert(0, cold);
    let text = capacity(&record("process", vec![target.clone()]), None);
    assert!(text.contains("sanic failed at 1,010/s"), "{text}");
    assert!(!text.contains("failed at 28"), "{text}");
    target.trials.retain(|trial| trial.passed || trial.rate_per_s < 100.0);
    let text = capacity(&record("process", vec![target]), None);
    assert!(!text.contains("failed at"), "{text}");
}

#[test]
fn a_capacity_limited_by_a_backend_names_the_backend() {
    let said = said_of(&Bottleneck::Backend("redis".to_owned()), Bound::AtLeast, 1_000);
    assert!(
        said.contains("above that rate redis may have been the limit, so this bound is"),
        "{said}"
    );
    assert!(said.contains("failed at 1,010/s, with redis at its limit:"), "{said}");
}

#[test]
fn the_capacity_of_a_running_server_is_reported() {
    let url = "http://127.0.0.1:8000";
    let record = record("url", vec![target(url, &[1_020.0, 1_000.0], Bound::Found, false)]);
    insta::assert_snapshot!(capacity(&record, None));
}

#[test]
fn bounds_are_reported_as_bounds() {
    let rounds = [1_510.0, 1_540.0];
    let targets = vec![
        target("limited", &rounds, Bound::AtLeast, true),
        target("too-slow", &[240.0, 230.0], Bound::Below, true),
        target("cut", &rounds[..1], Bound::Unknown, true),
    ];
    let mut record = record("process", targets);
    record.search.left_out = vec!["rate > 500".to_owned()];
    record.interrupted = true;
    insta::assert_snapshot!(capacity(&record, None));
}

#[test]
fn an_uncertain_capacity_names_its_main_reason() {
    let said = |rates: &[f64]| {
        let target = target("sanic", rates, Bound::Found, true);
        let text = capacity(&record("process", vec![target]), None);
        text.replace(" ! ", "").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let few = said(&[1_000.0, 1_200.0]);
    assert!(few.contains("the capacity of sanic is uncertain: 2 searches are few"), "{few}");
    let falls = said(&[2_000.0, 1_500.0, 1_000.0, 500.0]);
    assert!(falls.contains("each search found less than the search before, from 2,000/s to 500/s"));
    let disputed = said(&[1_000.0, 250.0, 900.0, 300.0]);
    assert!(disputed.contains("one search failed at 255/s, another passed at 980/s"), "{disputed}");
    assert!(!said(&[1_000.0, 1_010.0, 990.0, 1_005.0, 995.0]).contains("uncertain"));
}
