//! Tests the HTML page, made from records built by hand.
//! The tests in `browser/` cover the page in a browser.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::shown::{capacity_html, html};
use loadgen::measure::{Latencies, ResourceSamples, SecondRecord, StepSeconds};
use loadgen::record::{RunRecord, TargetRecord, Verdict, VerdictKind};
use serde_json::Value;

use super::capacity::of_two;
use super::records::*;
use super::run::of_a_matrix;

/// Adds the data of all charts to a target: steps of these names, and rounds of `seconds` seconds.
fn drawn(mut target: TargetRecord, steps: &[&str], seconds: u32) -> TargetRecord {
    let mut latencies = Latencies::default();
    for i in 0..20_000 {
        let q = (f64::from(i) + 0.5) / 20_000.0;
        latencies.record(Duration::from_secs_f64(0.02 * (q / (1.0 - q)).powf(0.4)));
    }
    let named = |name: &&str| ((*name).to_owned(), latencies.clone().into());
    target.latency_histograms = steps.iter().map(named).collect();
    target.steps = steps.iter().map(|name| summary(name, 100.0)).collect();
    for round in &mut target.rounds {
        let wave = |second: u32| u64::from(100 + second * 7 % 13 + round.round);
        let second = |second| SecondRecord {
            second,
            answered: wave(second),
            errors: u64::from(second == 1),
            p50_us: Some(wave(second) * 123),
            p99_us: Some(wave(second) * 1_234),
        };
        round.held_s = seconds.into();
        round.seconds = (0..seconds).map(second).collect();
        let of_step = StepSeconds {
            answered: round.seconds.iter().map(|s| s.answered).collect(),
            errors: round.seconds.iter().map(|s| s.errors).collect(),
            p50_us: round.seconds.iter().map(|s| s.p50_us).collect(),
            p99_us: round.seconds.iter().map(|s| s.p99_us).collect(),
        };
        round.steps_seconds =
            steps.iter().map(|name| ((*name).to_owned(), of_step.clone())).collect();
        let mut used = used(2.9, 87_000_000);
        used.samples = ResourceSamples {
            at_s: (1..=seconds).map(f64::from).collect(),
            cpu_percent: (1..=seconds).map(|second| 90.0 + f64::from(second % 9)).collect(),
            memory_bytes: (1..=seconds).map(|second| 80_000_000 + u64::from(second)).collect(),
        };
        round.resources = [("target".to_owned(), used)].into();
    }
    target
}

fn of_two_targets() -> RunRecord {
    let rates = [4_321.0, 4_300.0, 4_345.0, 4_310.0, 4_330.0];
    let mut record = record(vec![
        drawn(target("fastapi", &rates.map(|rate| rate * 0.5)), &["read", "write"], 3),
        drawn(target("sanic", &rates), &["read", "write"], 3),
    ]);
    record.thresholds = vec![threshold("sanic", "error_rate < 1%", Some(0.02), false)];
    record
}

/// Returns the part of a page that is visible before any script runs.
fn content(page: &str) -> &str {
    let from = page.find("<header").unwrap();
    &page[from..page.find("<script").unwrap()]
}

/// Returns the data that the page's script draws.
fn charts(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"charts\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// Starts a new line at each element that a reader sees as a
/// unit, so that a snapshot's diff shows the place of a change.
pub fn lines(content: &str) -> String {
    let mut text = content.to_owned();
    for tag in
        ["<section", "<h", "<table", "<tr", "<li", "<figure", "<div", "<dl", "<pre", "</main"]
    {
        text = text.replace(tag, &format!("\n{tag}"));
    }
    text
}

#[test]
fn a_page_begins_with_the_findings_and_the_ranking() {
    let page = html(&of_two_targets());
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at("sanic serves 2.00 times the requests of fastapi") < at("id=\"ranking\""));
    assert!(at("id=\"ranking\"") < at("<figure"));
    insta::assert_snapshot!(lines(content(&page)));
}

#[test]
fn charts_have_a_line_for_each_target_in_the_order_of_the_ranking() {
    let all = charts(&html(&of_two_targets()));
    assert_eq!(all["targets"], serde_json::json!(["sanic", "fastapi"]));
    let charts = all["charts"].as_array().unwrap();
    let titles: Vec<&str> = charts.iter().map(|chart| chart["title"].as_str().unwrap()).collect();
    assert_eq!(titles.iter().filter(|title| **title == "Latency by percentile").count(), 2);
    for chart in charts {
        let lines = chart["lines"].as_array().unwrap();
        assert_eq!(lines.len(), 2, "{chart}");
        let places = chart["x"].as_array().unwrap().len();
        assert!(lines.iter().all(|l| l["values"].as_array().unwrap().len() <= places), "{chart}");
    }
    // Five rounds of three seconds, with an empty position between two rounds.
    let over_time = charts.iter().find(|chart| chart["over"] == "time").unwrap();
    assert_eq!(over_time["x"].as_array().unwrap().len(), 5 * 3 + 4);
    assert_eq!(over_time["marks"][1], serde_json::json!([4.0, 2]));
}

/// Returns the headings after which nothing but another heading or the end of the section follows.
fn lonely_headings(page: &str) -> Vec<&str> {
    let ends = ["</h2>", "</h3>"].into_iter().flat_map(|end| page.match_indices(end));
    let rest = ends.map(|(at, end)| page[at + end.len()..].trim_start());
    rest.filter(|rest| ["</section>", "<h2", "<h3"].iter().any(|next| rest.starts_with(next)))
        .collect()
}

#[test]
fn no_heading_is_empty() {
    let mut alone = target("url", &[88.0]);
    alone.resources.clear();
    let mut bare = record(vec![alone]);
    (bare.comparison, bare.environment.runtime) = (None, "url".to_owned());
    let mut search = of_two();
    search.targets.iter_mut().for_each(|target| target.curve.clear());
    let pages =
        [html(&bare), html(&of_two_targets()), capacity_html(&of_two()), capacity_html(&search)];
    for page in &pages {
        assert_eq!(lonely_headings(content(page)), [""; 0]);
    }
    assert!(pages[0].contains("<h2 id=\"ranking\">Results</h2>"));
    assert!(
        !content(&pages[0]).contains("Findings") && !content(&pages[0]).contains("CPU and memory")
    );
    assert!(!content(&pages[3]).contains("Latency over throughput"));
}

#[test]
fn foreign_text_is_escaped() {
    let evil = "<script>alert('&')</script>";
    let mut target = drawn(target(evil, &[10.0, 11.0]), &[evil], 3);
    target.url = "javascript:alert(1)".to_owned();
    target.total.error_examples.insert(loadgen::measure::ErrorKind::Status, evil.to_owned());
    target.steps[0].error_examples = target.total.error_examples.clone();
    target.counters.insert(evil.to_owned(), 1);
    target.server = server(evil, evil, &[evil]);
    let mut record = record(vec![target]);
    record.scenario = evil.to_owned();
    record.command = vec![evil.to_owned()];
    record.environment.cpu_model = evil.to_owned();
    record.verdicts = vec![Verdict {
        kind: VerdictKind::Errors,
        target: Some(evil.to_owned()),
        message: evil.to_owned(),
        advice: evil.to_owned(),
    }];
    let page = html(&record);
    assert!(!page.contains("<script>alert"), "unescaped");
    assert!(page.contains("&lt;script&gt;alert('&amp;')&lt;/script&gt;"));
    assert_eq!(page.matches("<script").count(), 4, "the data, uPlot and our two");
}

#[test]
fn a_page_loads_nothing() {
    for page in [html(&of_two_targets()), capacity_html(&of_two())] {
        for loads in ["src=", "<link", "@import", "url(", "<iframe", "<img", "fetch(", "XMLHttp"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn a_matrix_is_shown_as_a_table_of_users_and_workers() {
    let page = html(&of_a_matrix(5));
    let (_, from) = page.split_once("id=\"matrix\"").unwrap();
    insta::assert_snapshot!(lines(from.split_once("</section>").unwrap().0));
}

#[test]
fn a_capacity_page_has_the_curves() {
    let page = capacity_html(&of_two());
    assert!(page.contains("sanic carries 1.4"), "{}", content(&page));
    let charts = charts(&page);
    assert_eq!(charts["charts"][0]["over"], "throughput");
    assert_eq!(charts["charts"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!(lines(content(&page)));
}

/// Covers 20 targets of five steps and 100 targets of one step with rounds of 60
/// s, and two targets of one step with rounds of 2 h. Each target has five rounds.
#[test]
fn the_page_of_a_large_run_is_small() {
    let names: Vec<String> = (0..5).map(|step| format!("step {step}")).collect();
    let steps: Vec<&str> = names.iter().map(String::as_str).collect();
    for (targets, steps, seconds) in
        [(20, &steps[..], 60), (100, &steps[..1], 60), (2, &steps[..1], 7_200)]
    {
        let rounds = [100.0, 101.0, 99.0, 100.5, 99.5];
        let targets =
            (0..targets).map(|n| drawn(target(&format!("target-{n}"), &rounds), steps, seconds));
        let page = html(&record(targets.collect()));
        assert!(page.len() < 5_000_000, "{} bytes", page.len());
    }
}

#[test]
fn embedded_assets_equal_their_published_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/assets/uplot");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let bytes = fs::read(folder.join(name)).unwrap();
        let found: String = <sha2::Sha256 as sha2::Digest>::digest(bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(found, sum, "{name}");
    }
}
