//! Tests the terminal's report of a run, made from records built by hand.

use std::path::Path;

use super::records::*;
use super::shown::terminal;
use loadgen::analysis::Cell;
use loadgen::measure::LatencySummary;
use loadgen::record::{
    Bottleneck, Calibration, Comparison, Degraded, LoadChangeRecord, LossRecord, NoiseFloor,
    RunRecord, StoppedEarly, TargetRecord, Verdict, VerdictKind, WorkerRecord,
};

pub fn shown(record: &RunRecord) -> String {
    terminal(record, Path::new("runs/2026-11-21T08-30-00Z-insert_batch"))
}

#[track_caller]
pub fn assert_within_80_columns(report: &str) {
    for line in report.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn a_report_of_four_targets_has_all_parts() {
    let mut targets = four();
    for target in &mut targets {
        target.counters.insert("inserted_items".to_owned(), 203_000);
        target.counters.insert("queued".to_owned(), 1_234);
        target.proofs = vec![rows(1, 278_000), nulls(1, 0)];
    }
    targets[1].proofs = vec![rows(1, 278_000), nulls(1, 0), rows(2, 277_000), nulls(2, 12)];
    targets[3].total.errors = 1_234;
    targets[3].rounds.truncate(2);
    targets[3].total.latency_us.p99 = None;
    let mut record = record(targets);
    record.thresholds = vec![
        threshold("sanic", "insert_batch.p99.9 < 100ms", Some(98_765.0), true),
        threshold("sanic", "error_rate < 1%", Some(0.000_12), true),
        threshold("flask", "insert_batch.rate >= 1000", Some(606.04), false),
        threshold("flask", "insert_batch.p99 <= 100ms", Some(100_415.0), false),
        threshold(
            "quart",
            "a_step_of_a_long_name_that_says_what_it_does.p99.99 < 100ms",
            None,
            false,
        ),
    ];
    record.verdicts = vec![
        Verdict {
            kind: VerdictKind::Errors,
            target: Some("quart".to_owned()),
            message: "12.00 % of requests failed: 1234 × status (expected 201, got 503 Service \
                      Unavailable)"
                .to_owned(),
            advice: "failed requests are in no rate or latency: fix the errors before you compare"
                .to_owned(),
        },
        Verdict {
            kind: VerdictKind::Interrupted,
            target: None,
            message: "the run was interrupted: the results are those from before the interruption"
                .to_owned(),
            advice: "run to the end before you compare".to_owned(),
        },
    ];
    record.interrupted = true;
    let report = shown(&record);
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn the_widest_row_fits() {
    let mut widest = target("fastapi-hypercorn", &[123_456.0, 117_500.0, 129_412.0]);
    let total = &mut widest.total;
    total.errors = 12_345;
    let slow = Some(30_000_000);
    total.latency_us =
        LatencySummary { p50: slow, p95: slow, p99: slow, max: slow, ..total.latency_us.clone() };
    total.ttfb_us = total.latency_us.clone();
    widest.resources.get_mut("target").unwrap().cpu_percent = 100.0;
    widest.resources.get_mut("target").unwrap().memory_max_bytes = 1_234_000_000;
    let report = shown(&record(vec![widest, target("flask", &[7.5, 8.0, 8.5])]));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn one_round_has_no_interval() {
    let report = shown(&record(vec![target("sanic", &[4_321.0]), target("quart", &[4_278.0])]));
    insta::assert_snapshot!(report);
}

/// A target with five rounds. Each round's rate differs from `rate` by its percentage in `noise`.
fn five(name: &str, rate: f64, noise: [f64; 5]) -> TargetRecord {
    target(name, &noise.map(|percent| rate * (1.0 + percent / 100.0)))
}

#[test]
fn unclear_differences_name_the_rounds_that_would_settle_them() {
    let report = shown(&record(vec![
        five("flask", 606.0, [0.2, -0.6, 0.4, 0.3, -0.3]),
        five("sanic", 4_321.0, [1.0, 2.5, -2.0, -3.0, 1.5]),
        five("fastapi", 2_361.0, [1.2, 2.0, -2.2, -2.5, 1.5]),
        five("quart", 2_320.0, [-4.0, 2.0, 3.0, -1.0, 0.0]),
        five("fastapi-hypercorn", 609.5, [-0.4, 0.4, -0.3, -0.2, 0.5]),
    ]));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

/// A run of one server, measured twice in each round.
/// `again` is the noise of the second measurement, in %.
fn of_one_server(again: [f64; 5]) -> RunRecord {
    let once = five("sanic", 4_321.0, [0.2, -0.6, 0.4, 0.3, -0.3]);
    let mut record = record(vec![once, five("sanic (again)", 4_321.0, again)]);
    record.comparison = record.comparison.map(Comparison::of_one_server);
    record
}

/// A run of two targets with 1 and 4 workers under 100 and 500 users.
/// The first target scales with the workers, the second does not.
pub fn of_a_matrix(rounds: usize) -> RunRecord {
    let waves = [[0.2, -0.6, 0.4, 0.3, -0.3], [1.0, 2.5, -2.0, -3.0, 1.5]];
    let mut targets = Vec::new();
    for (name, rate, gain) in [("sanic", 1_200.0, 2.9), ("fastapi-hypercorn", 610.0, 0.93)] {
        for (workers, gain) in [(1, 1.0), (4, gain)] {
            for (users, gained) in [(100, 1.0), (500, 1.02)] {
                let wave = waves[usize::from(users == 500)];
                let rates = wave.map(|percent| rate * gain * gained * (1.0 + percent / 100.0));
                let mut target = target(name, &rates[..rounds]);
                target.name = format!("{name} ×{workers}, {users} users");
                target.users = users;
                target.server = server("Framework", "a server", &["uvloop"]);
                target.server.workers = workers;
                targets.push(target);
            }
        }
    }
    let mut record = record(targets);
    let cells: Vec<Cell<'_>> = record
        .targets
        .iter()
        .map(|t| Cell {
            name: &t.name,
            target: &t.target,
            server_workers: t.server.workers,
            replicas: t.server.replicas,
            users: t.users,
        })
        .collect();
    record.comparison = record.comparison.clone().map(|c| c.of_matrix(&cells));
    record
}

#[test]
fn a_matrix_has_a_row_per_cell_and_reports_scaling() {
    let report = shown(&of_a_matrix(5));
    let few = shown(&of_a_matrix(2));
    for report in [&report, &few] {
        assert_within_80_columns(report);
    }
    insta::assert_snapshot!(format!("{report}\n---\n{few}"));
}

#[test]
fn a_run_ended_by_a_threshold_ranks_no_partial_round() {
    let mut record = record(vec![
        target("flask", &[606.0]),
        target("sanic", &[4_321.0]),
        target("fastapi", &[2_361.0]),
    ]);
    let half = &mut record.targets[0];
    half.rounds[0].whole = false;
    record.load.rounds = 5;
    if let Some(comparison) = &mut record.comparison {
        comparison.ranking.retain(|placing| placing.target != "flask");
    }
    record.thresholds = vec![
        threshold("flask", "counter.inserted_items >= 1_000/s", Some(606.04), false),
        threshold("sanic", "counter.inserted_items >= 1_000", Some(4_321.0), true),
        threshold("fastapi", "counter.p99 < 5ms", Some(2_361.0), true),
    ];
    record.stopped_early = Some(StoppedEarly {
        target: "flask".to_owned(),
        round: 1,
        threshold: "counter.inserted_items >= 1_000/s".to_owned(),
    });
    insta::assert_snapshot!(shown(&record));
}

#[test]
fn at_a_rate_targets_are_compared_by_the_cost_of_a_request() {
    let report = shown(&at_a_rate());
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn a_server_compared_with_itself_shows_the_noise() {
    let same = shown(&of_one_server([-0.4, 0.4, -0.3, -0.2, 0.5]));
    let differs = shown(&of_one_server([-3.3, -4.0, -3.2, -3.0, -3.5]));
    for report in [&same, &differs] {
        assert_within_80_columns(report);
    }
    insta::assert_snapshot!(format!("{same}\n---\n{differs}"));
}

#[test]
fn targets_limited_by_others_are_named_and_not_ranked() {
    let mut targets = four();
    let bottlenecks = [
        Bottleneck::Nobody,
        Bottleneck::Target,
        Bottleneck::Target,
        Bottleneck::Backend("postgres".to_owned()),
    ];
    for (target, bottleneck) in targets.iter_mut().zip(bottlenecks) {
        target.bottleneck = Some(bottleneck);
    }
    let mut record = record(targets);
    let comparison = record.comparison.as_mut().unwrap();
    comparison.ranking.retain(|placing| placing.target != "quart");
    comparison.unranked = vec!["quart".to_owned()];
    record.calibration =
        Some(Calibration { rate_per_s: 104_321.4, own_steps: true, earlier: true });
    record.noise_floor = Some(NoiseFloor {
        percent: 1.23,
        scenario: "direct".to_owned(),
        target: "sanic".to_owned(),
        started: "2026-11-20T08:30:00Z".to_owned(),
    });
    record.verdicts = vec![Verdict {
        kind: VerdictKind::BackendBound,
        target: Some("quart".to_owned()),
        message:
            "postgres was the bottleneck in 3 of 3 rounds, so the rate is not the server's and \
                  is not ranked (postgres ran or waited for a CPU for 98 % of the time, target ran \
                  or waited for a CPU for 41 % of the time)"
                .to_owned(),
        advice:
            "make the servers the limit before you compare them: give the backend less work or \
                 more CPU"
                .to_owned(),
    }];
    let report = shown(&record);
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn each_step_has_a_row() {
    let mut sanic = target("sanic", &[4_300.0, 4_345.0]);
    sanic.steps = vec![summary("read", 3_200.0), summary("write", 1_122.5)];
    sanic.server = server("Sanic", "Sanic's own server", &["uvloop", "httptools"]);
    sanic.server.workers = 2;
    insta::assert_snapshot!(shown(&record(vec![sanic])));
}

fn of_a_url() -> RunRecord {
    let mut url = target("url", &[88.0]);
    url.resources.clear();
    let mut record = record(vec![url]);
    record.environment.runtime = "url".to_owned();
    record.load.workers = 0;
    record.load.duration_s = None;
    record.load.iterations = Some(20_000);
    record.comparison = None;
    record
}

#[test]
fn one_is_no_plural() {
    let mut record = of_a_url();
    (record.load.users, record.load.workers, record.load.iterations) = (1, 1, Some(1));
    let in_one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = in_one_line(shown(&record));
    assert!(text.contains(": 1 user, "), "{text}");
    assert!(text.contains(" of 1 iteration after 1s of warm-up, 1 worker requests/s"), "{text}");
    record.load.rate_per_s = Some(1.0);
    let text = in_one_line(shown(&record));
    assert!(text.contains(" by up to 1 user, "), "{text}");
}

#[test]
fn a_running_server_is_reported() {
    insta::assert_snapshot!(shown(&of_a_url()));
}

#[test]
fn workers_of_other_hosts_have_rows() {
    let mut record = of_a_url();
    record.load.workers = 2;
    let worker = |worker, host: &str, requests, cpu_percent: Option<f64>| WorkerRecord {
        worker,
        host: Some(host.to_owned()),
        cpus: Some(8),
        users: 50,
        rtt_ms: cpu_percent.map(|_| 0.4),
        requests,
        errors: Some(0),
        snapshots: 12,
        cpu_percent,
        lag_mean_ms: Some(1.1),
        lag_max_ms: cpu_percent.map(|_| 2.345),
        seconds: 12,
        late_seconds: 0,
        throttled_percent: None,
        cpu_wait_percent: None,
        cpus_busy_percent: None,
    };
    record.targets[0].workers =
        vec![worker(0, "load-1", 123_456, Some(34.5)), worker(1, "load-2.example.org", 0, None)];
    let round = &mut record.targets[0].rounds[0];
    (round.start_skew_ms, round.start_skew_symmetric_ms) = (Some(0.84), Some(0.41));
    let report = shown(&record);
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn of_a_thousand_workers_the_latest_have_rows() {
    let mut record = of_a_url();
    record.load.workers = 1_000;
    let worker = |number: u32| WorkerRecord {
        worker: number,
        host: Some(format!("load-{number}")),
        cpus: Some(8),
        users: 50,
        rtt_ms: Some(0.5),
        requests: 1_000,
        errors: Some(0),
        snapshots: 12,
        cpu_percent: Some(40.0),
        lag_mean_ms: Some(1.1),
        lag_max_ms: Some(f64::from(number % 500) / 10.0),
        seconds: 12,
        late_seconds: 0,
        throttled_percent: None,
        cpu_wait_percent: None,
        cpus_busy_percent: None,
    };
    record.targets[0].workers = (0..1_000).map(worker).collect();
    let report = shown(&record);
    assert_within_80_columns(&report);
    let of_workers =
        |line: &&str| line.starts_with(" 499 load-499") || line.starts_with(" 990 others");
    let lines: Vec<&str> = report.lines().filter(of_workers).collect();
    assert_eq!(
        lines,
        [
            " 499 load-499      8      50     1,000   40     49.9  0.5",
            " 990 others    7,920  49,500   990,000   40     49.4  0.5",
        ]
    );
    assert!(report.lines().count() < 40, "it fits a screen");
}

#[test]
fn an_unsaved_run_is_not_reported_as_saved() {
    assert!(!terminal(&of_a_url(), None).contains("saved"));
}

#[test]
fn a_degraded_run_names_the_missing_rounds() {
    let mut targets = four();
    targets[1].rounds.truncate(1);
    targets[2].rounds.truncate(2);
    targets[3].rounds.truncate(1);
    let mut record = record(targets);
    record.degraded =
        Some(Degraded { reason: "worker 3 was lost after 1.2 s".to_owned(), lost: Vec::new() });
    insta::assert_snapshot!(shown(&record));
}

#[test]
fn rounds_with_a_changed_load_are_listed_with_the_change() {
    let mut targets = four();
    let change = |second, users, rate_per_s| LoadChangeRecord { second, users, rate_per_s };
    targets[0].rounds[0].changes = vec![change(12, Some(200), None), change(20, Some(1), None)];
    targets[1].rounds[2].changes = vec![change(0, None, Some(1_500.0))];
    let report = shown(&record(targets));
    assert_within_80_columns(&report);
    let from = report.find(" ! load changed").unwrap();
    insta::assert_snapshot!(report[from..].split(" saved in").next().unwrap());
}

#[test]
fn a_run_that_lost_a_worker_reports_when_and_how_many_users_remained() {
    let mut targets = four();
    let lost = |worker, target: &str, round, second, why: &str| LossRecord {
        worker,
        host: (worker == 3).then(|| "load-4".to_owned()),
        target: target.to_owned(),
        round,
        second,
        users: 25,
        why: why.to_owned(),
        taken_over_s: None,
        measured_again: false,
    };
    let losses = vec![
        lost(1, "quart", 2, Some(1), "its process ended (signal: 9 (SIGKILL))"),
        lost(3, "flask", 3, None, "it no longer answers, though its process is there"),
    ];
    for target in &mut targets {
        for round in &mut target.rounds {
            round.users_planned = 100;
            round.users_achieved = [100, 75, 50][round.round as usize - 1];
            round.whole = round.round == 1;
        }
    }
    let mut record = record(targets);
    let reason = losses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    record.degraded = Some(Degraded { reason, lost: losses });
    record.verdicts = vec![Verdict {
        kind: VerdictKind::SlowWorker,
        target: Some("quart".to_owned()),
        message: "worker 2 used 97 % of its CPUs and was delayed by 50 ms or more in 3 of 10 \
                  seconds, by up to 87 ms"
            .to_owned(),
        advice:
            "latencies from slow workers include the workers' own delays, and slow workers may \
                 have sent fewer requests: give them fewer users, more CPUs or separate hosts"
                .to_owned(),
    }];
    let report = shown(&record);
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}
