//! Tests that the table of a run stays on the screen, however many warnings there are.

use std::path::Path;

use super::records::*;
use loadgen::record::{RunRecord, Verdict, VerdictKind};
use loadgen::report::{Document, Format, html};

const SCREEN: usize = 40;

/// Returns a ranked run of four targets with six warnings of three codes.
fn warned() -> RunRecord {
    let mut record = record(four());
    let advice = "hold the load for longer, so that the rate settles, and measure on a machine that does \
                  nothing else; if it still changes, look at the log of the server";
    let verdict = |kind, target: &str, message: &str| Verdict {
        kind,
        target: Some(target.to_owned()),
        message: message.to_owned(),
        advice: advice.to_owned(),
    };
    let unsteady = |percent: u32| {
        format!(
            "the rate differed by -{percent} % (-{} to -{} %) in the first 2s of the rounds from the rest",
            percent + 2,
            percent - 2
        )
    };
    let unequal = |percent: u32| {
        format!(
            "the 4 server workers got unequal shares in 3 of 3 rounds: in the worst round, one used {percent} \
             % of a core and another 9 %"
        )
    };
    record.verdicts = vec![
        verdict(VerdictKind::NotSteady, "sanic", &unsteady(12)),
        verdict(VerdictKind::NotSteady, "quart", &unsteady(34)),
        verdict(VerdictKind::NotSteady, "flask", &unsteady(20)),
        verdict(VerdictKind::UnequalWorkers, "flask", &unequal(90)),
        verdict(VerdictKind::UnequalWorkers, "quart", &unequal(71)),
        verdict(VerdictKind::Errors, "quart", "12.00 % of requests failed: 1234 × timeout"),
    ];
    record
}

fn shown(record: &RunRecord, columns: usize) -> String {
    let folder = Path::new("runs/2026-11-21T08-30-00Z-insert_batch");
    Document::Run(record).render_within(columns, Format::Table, Some(folder))
}

/// Returns the lines that stay on the screen.
fn on_screen(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SCREEN)..].to_vec()
}

#[test]
fn six_warnings_leave_the_table_of_a_run_on_the_screen() {
    let record = warned();
    for columns in [80, 120] {
        let text = shown(&record, columns);
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        assert!(on_screen(&text).iter().any(|line| line.contains("requests/s")), "{text}");
        insta::assert_snapshot!(text);
    }
}

#[test]
fn the_table_of_a_long_report_comes_last() {
    let mut record = warned();
    for target in &mut record.targets {
        target.proofs =
            (1..=6).flat_map(|round| [rows(round, 278_000), nulls(round, 12)]).collect();
        target.steps = ["a", "b", "c"].map(|name| summary(name, target.total.rate_per_s)).to_vec();
        target.flows = ["browse", "buy"].map(|name| flow(name, 100.0)).to_vec();
    }
    let text = shown(&record, 80);
    assert!(text.lines().count() > SCREEN, "{text}");
    let last = on_screen(&text).join("\n");
    let parts = ["     requests/s  errors", "saved in runs/", "1,200"];
    assert!(parts.iter().all(|part| last.contains(part)), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn folded_warnings_are_in_full_elsewhere() {
    let record = warned();
    let markdown = Document::Run(&record).render(Format::Markdown, None);
    for verdict in &record.verdicts {
        assert!(html::run(&record).contains(&verdict.message), "{}", verdict.message);
        assert!(markdown.contains(&verdict.message), "{}", verdict.message);
    }
}

#[test]
fn a_short_report_keeps_its_warnings_in_full() {
    let mut record = warned();
    record.targets.drain(1..);
    record.comparison = None;
    record.verdicts.truncate(1);
    assert!(shown(&record, 80).contains("   hold the load for longer"));
}

#[test]
fn the_ranking_of_a_run_is_a_picture() {
    let svg = Document::Run(&warned()).render(Format::Svg, None);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let places = ["sanic", "fastapi", "quart", "flask"].map(|name| svg.find(&format!(">{name}<")));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}: {svg}");
}
