//! Tests what reports say about differences of latencies, from records built by hand.

use std::path::Path;

use super::html::lines;
use super::records::{record, target};
use super::shown::{compared, html, terminal};
use loadgen::analysis::{Comparable, by_percentile};
use loadgen::measure::LatencySummary;
use loadgen::record::{RunRecord, RunsRecord, TargetRecord};

const NOISE: [f64; 5] = [0.01, -0.02, 0.0, 0.02, -0.01];
const OTHER: [f64; 5] = [0.0, 0.01, -0.02, -0.01, 0.02];
const THIRD: [f64; 5] = [-0.02, 0.02, 0.01, 0.0, -0.01];

/// Returns a target of which five rounds have about this rate, and these percentiles in ms.
fn measured(name: &str, rate: f64, ms: [f64; 5], noise: [f64; 5]) -> TargetRecord {
    let mut target = target(name, &noise.map(|noise| rate * (1.0 + noise)));
    for (round, noise) in target.rounds.iter_mut().zip(noise) {
        let [p50, p90, p95, p99, p99_9] = ms.map(|ms| Some((ms * 1e3 * (1.0 - noise)) as u64));
        let known = LatencySummary { p50, p90, p95, p99, p99_9, ..LatencySummary::default() };
        round.total.latency_us = known;
        round.total.requests = 20_000;
    }
    target
}

fn of(targets: Vec<TargetRecord>) -> RunRecord {
    let mut record = record(targets);
    let latencies: Vec<_> = record
        .targets
        .iter()
        .map(|target| (target.name.clone(), by_percentile(&target.rounds, &record.load)))
        .collect();
    record.comparison = record.comparison.map(|it| it.with_latencies(&latencies));
    record
}

/// The first two targets have equal rates and medians, but not equal tails.
fn of_three() -> RunRecord {
    of(vec![
        measured("sanic", 4_300.0, [2.0, 4.0, 6.0, 9.0, 20.0], NOISE),
        measured("fastapi", 4_300.0, [2.0, 5.0, 9.0, 15.0, 20.0], OTHER),
        measured("quart", 1_200.0, [8.0, 12.0, 13.0, 12.5, 30.0], THIRD),
    ])
}

fn said(record: &RunRecord) -> String {
    let report = terminal(record, Path::new("runs/2026-11-21T08-30-00Z-insert_batch"));
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let of_latencies = |line: &&str| line.contains("p99") || line.contains("latencies are");
    report.lines().skip(7).filter(of_latencies).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_sentence_compares_the_tails_of_neighbours() {
    insta::assert_snapshot!(said(&of_three()));
}

/// Returns the section of the page on ratios of latencies.
fn section(record: &RunRecord) -> String {
    let page = html(record);
    let (_, rest) = page.split_once("<section><h2 id=\"latencies\">").unwrap();
    rest.split_once("</section>").unwrap().0.to_owned()
}

#[test]
fn the_page_has_the_ratios_of_all_pairs() {
    insta::assert_snapshot!(lines(&section(&of_three())));
    let few = of(of_three().targets.into_iter().take(1).collect());
    assert!(!html(&few).contains("id=\"latencies\""), "one target has no ratio");
}

#[test]
fn the_page_explains_the_cells_that_have_no_ratio() {
    let two = |ms: [f64; 5]| {
        of(vec![
            measured("sanic", 4_300.0, [2.0, 4.0, 6.0, 9.0, 20.0], NOISE),
            measured("fastapi", 4_300.0, ms, OTHER),
        ])
    };
    let legends = |record: &RunRecord| {
        let legends = ["; – if", "; not tested if", "; empty if"];
        let section = section(record);
        legends.map(|legend| section.contains(legend))
    };
    let all_differ = two([3.0, 5.0, 9.0, 15.0, 30.0]);
    assert_eq!(legends(&all_differ), [false, false, false]);
    assert_eq!(legends(&two([3.0, 5.0, 6.0, 15.0, 30.0])), [true, false, false]);
    assert_eq!(legends(&two([2.0, 5.0, 9.0, 15.0, 30.0])), [true, true, false]);
    let mut short = all_differ;
    short.targets[0].rounds[2].total.latency_us.p99_9 = None;
    assert_eq!(legends(&of(short.targets)), [false, false, true]);
}

#[test]
fn reports_say_why_latencies_are_not_compared() {
    let mut record = of_three();
    record.targets[0].rounds[2].total.latency_us.p99 = None;
    record.targets[1].rounds[3].total.latency_us.p99 = None;
    assert_eq!(
        said(&of(record.targets)),
        " p99 is not compared for fastapi, sanic: a round has fewer than 1,000 expected\n"
    );
    let mut record = of_three();
    record.targets[2].rounds[0].total.errors = 201;
    let report = terminal(&of(record.targets), Path::new("runs/2026-11-21T08-30-00Z-insert_batch"));
    let why = " quart has a round in which more than 1 % of the requests failed or had no\n   \
               response: its latencies are not compared\n";
    assert!(report.contains(why), "{report}");
    assert!(!report.contains("quart's"), "{report}");
}

#[test]
fn saved_runs_are_compared_by_their_latencies() {
    let run =
        |tail, noise| of(vec![measured("sanic", 4_300.0, [2.0, 4.0, 6.0, tail, 20.0], noise)]);
    let [before, after, failing] = [run(9.0, NOISE), run(12.0, OTHER), run(9.0, OTHER)];
    let text = |after: &RunRecord| {
        let runs = [Comparable::run("before", &before), Comparable::run("after", after)];
        compared(&RunsRecord::of(&runs).unwrap())
    };
    let slower = text(&after);
    assert!(slower.contains("sanic: after's p99 is 1.33 times before's (1."), "{slower}");
    let mut failing = failing;
    failing.targets[0].rounds[0].total.errors = 201;
    let text = text(&failing);
    assert!(text.contains("sanic: after has a round in which more than 1 % of the"), "{text}");
    assert!(!text.contains("before has"), "{text}");
}
