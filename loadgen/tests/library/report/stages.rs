//! Tests the reports of a staged load, made from records built by hand.

use loadgen::record::{RunRecord, StageRecord, StageResult, TargetRecord};

use super::records::{record, summary, target};
use super::shown::{csv, html, markdown, terminal};

/// Returns a target with results of three stages, the second of which takes no time.
fn staged(name: &str, rates: [f64; 2]) -> TargetRecord {
    let stage = |stage, [from, to, begin_s, end_s]: [f64; 4], rate_per_s| StageResult {
        stage,
        from,
        to,
        begin_s,
        end_s,
        held_s: 2.0 * (end_s - begin_s),
        total: summary("all", rate_per_s),
    };
    let stages = vec![
        stage(1, [0.0, 50.0, 0.0, 0.5], rates[0]),
        stage(3, [1_000.0, 1_000.0, 0.5, 90.5], rates[1]),
    ];
    TargetRecord { stages, ..target(name, &rates) }
}

fn staged_run(targets: Vec<TargetRecord>) -> RunRecord {
    let mut record = record(targets);
    let stages = [(50.0, 0.5), (1_000.0, 0.0), (1_000.0, 90.0)];
    record.load.stages = stages.map(|(to, over_s)| StageRecord { to, over_s }).to_vec();
    record.load.rounds = 2;
    record
}

#[test]
fn each_stage_has_a_row() {
    let record = staged_run(vec![
        staged("sanic", [4_300.0, 14_345.0]),
        staged("a_target_with_a_long_name", [88.0, 87.0]),
    ]);
    let text = terminal(&record, None);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(markdown(&record));
    let text = csv(&record);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let of_stage: Vec<String> =
        rows[2..4].iter().map(|row| row.iter().collect::<Vec<_>>()[27..31].join(" ")).collect();
    assert_eq!(of_stage, ["stage 1 0 50", "stage 3 1000 1000"], "{text}");
    assert_eq!(rows[0].iter().skip(27).take(4).collect::<String>(), "all");
    let page = html(&record);
    assert!(page.contains("<h2 id=\"stages\">Stages</h2>"));
    assert!(
        page.contains("<th scope=\"row\">sanic</th><td class=\"text\">0 to 50 users in 500ms</td>")
    );
}

#[test]
fn stages_of_a_single_target_need_no_name_of_the_target() {
    let mut record = staged_run(vec![staged("sanic", [4_300.0, 4_345.0])]);
    record.load.rate_per_s = Some(1_000.0);
    record.load.rounds = 1;
    assert!(markdown(&record).contains("| 0 to 50/s in 500ms | 12,900 | 4,300 | 0 |"));
    assert!(terminal(&record, None).contains("\n 1,000/s for 1m 30s "));
    assert!(html(&record).contains("<th scope=\"row\">1,000/s for 1m 30s</th>"));
}

#[test]
fn a_load_without_stages_has_no_table_of_stages() {
    let record = record(vec![target("sanic", &[4_300.0])]);
    for report in [terminal(&record, None), markdown(&record), html(&record)] {
        assert!(!report.contains("Stage") && !report.contains("stage"), "{report}");
    }
}
