use std::collections::BTreeSet;

use super::*;
use crate::analysis::history::{Figure, Kind, MeasuredTarget, Metric};

fn entry(title: &str, day: u32, rate: f64) -> Entry {
    let figure = Figure { mean: rate, confidence_95: Some([rate * 0.99, rate * 1.01]) };
    let target = MeasuredTarget {
        name: "<b>shop</b>".to_owned(),
        figures: [(Metric::Rate, figure)].into(),
        place: Some(1),
        left_out: None,
        commit: Some("0123456789abcdef".to_owned()),
        settings: [("environment.kernel".to_owned(), "6.1".to_owned())].into(),
    };
    Entry {
        name: format!("night-{day}"),
        kind: Kind::Closed,
        title: title.to_owned(),
        started: format!("2026-01-{day:02}T00:00:00Z"),
        seed: 0,
        targets: vec![target],
        verdicts: Vec::new(),
        left_out: None,
        claims: [0; 3],
    }
}

fn settings() -> SiteSettings {
    SiteSettings { title: "Nights & days".to_owned(), url: None, baseline: None }
}

/// Returns the pages by their paths, and asserts that no foreign text has become markup.
fn pages(entries: &[Entry], settings: &SiteSettings) -> std::collections::BTreeMap<String, String> {
    let pages: std::collections::BTreeMap<_, _> = site(entries, settings).into_iter().collect();
    for (path, page) in &pages {
        assert!(!page.contains("<b>") && !page.contains("<script>alert"), "{path}");
    }
    pages
}

#[test]
fn a_month_of_nights_has_a_page_with_its_change() {
    let rate = |day: u32| {
        let noise = f64::from(day * 7 % 5) * 2.0;
        if day > 20 { 900.0 + noise } else { 1_000.0 + noise }
    };
    let title = "pay <script>alert(1)</script>";
    let entries: Vec<Entry> = (1..=30).map(|day| entry(title, day, rate(day))).collect();
    let baseline = Some("night-3".to_owned());
    let pages = pages(&entries, &SiteSettings { baseline, ..settings() });
    let paths: Vec<&str> = pages.keys().map(String::as_str).collect();
    let own = "pay-script-alert-1-script-closed-model.html";
    assert_eq!(paths, ["feed.xml", "index.html", own]);
    let change = "&lt;b&gt;shop&lt;/b&gt;: requests/s −10.0 % (worse)";
    for page in ["index.html", own] {
        assert!(pages[page].contains(change), "{page}");
    }
    assert!(pages[own].contains("night-21/report.html"));
    assert!(pages[own].contains("<td>−10.2 % (apart)</td>"), "against the baseline");
    assert!(pages[own].contains("0123456789<"), "a commit of ten digits");
    let feed = &pages["feed.xml"];
    assert_eq!(feed.matches("<entry>").count(), 31);
    assert!(feed.contains(change) && feed.contains("<title>Nights &amp; days</title>"), "{feed}");
}

#[test]
fn results_that_say_nothing_are_listed_and_in_no_line() {
    let mut entries: Vec<Entry> = (1..=3).map(|day| entry("pay", day, 100.0)).collect();
    entries[1].left_out = Some("it was interrupted".to_owned());
    entries[2].targets[0].left_out = Some("it has a rate that a backend limited".to_owned());
    let pages = pages(&entries, &settings());
    let page = &pages["pay-closed-model.html"];
    assert_eq!(page.matches("<circle").count(), 1);
    for why in ["it was interrupted", "it has a rate that a backend limited"] {
        assert!(page.contains(why), "{why}");
    }
}

#[test]
fn an_experiment_has_its_claims_and_all_reports() {
    let claims = [3, 1, 2];
    let kind = Kind::Experiment;
    let entries = [Entry { kind, claims, targets: Vec::new(), ..entry("web", 1, 1.0) }];
    let pages = pages(&entries, &settings());
    assert!(pages["web-experiment.html"].contains("night-1/report.html"));
    assert!(pages["index.html"].contains("3 claims held, 1 did not, 2 open"));
    assert!(pages["feed.xml"].contains("web: 3 claims held, 1 did not, 2 open"));
}

#[test]
fn names_become_parts_of_addresses() {
    let mut taken = BTreeSet::new();
    let mut part = |name| address_part(name, &mut taken);
    assert_eq!(part("2026-11-29T08-00-redis3"), "2026-11-29t08-00-redis3");
    assert_eq!(part("../../etc/passwd"), "etc-passwd");
    assert_eq!(part("a b"), "a-b");
    assert_eq!(part("A&b"), "a-b-2");
    assert_eq!((part("…"), part("")), ("result".to_owned(), "result-2".to_owned()));
    assert_eq!(part(&"x".repeat(500)).len(), 80);
}
