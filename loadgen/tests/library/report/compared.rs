//! Saved runs held against each other, made from records built by hand.

use loadgen::measure::{RunRecord, RunsRecord};
use loadgen::report::{compared, compared_csv, compared_markdown};

use super::records::{record, target};

/// Two targets; the second of them slower than before, and on another kernel.
fn of_two_runs() -> RunsRecord {
    let wave = [1.0, 1.01, 0.99, 1.004, 0.996];
    let other = [1.001, 1.007, 0.991, 1.006, 0.993];
    let run = |waves: [f64; 5], loss: f64, kernel: &str| -> RunRecord {
        let of = |name, rate: f64| target(name, &waves.map(|wave| rate * wave));
        let mut record = record(vec![of("sanic", 4_300.0), of("flask", 600.0 * loss)]);
        record.environment.kernel = kernel.to_owned();
        record
    };
    let runs = [
        ("before".to_owned(), run(wave, 1.0, "6.1")),
        ("after".to_owned(), run(other, 0.9, "6.2")),
    ];
    RunsRecord::of(&runs).unwrap().judged(5.0)
}

#[test]
fn a_comparison_names_who_lost_and_what_else_differs() {
    let text = compared(&of_two_runs());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for said in [
        "flask: after serves 0.90 times the requests of before",
        "regression: flask serves less by 10 % in after; 5 % are allowed",
        "environment.kernel differs: 6.1 in before, 6.2 in after",
    ] {
        assert!(text.contains(said), "no \"{said}\" in {text}");
    }
    assert!(!text.contains("regression: sanic"), "{text}");
}

#[test]
fn a_comparison_has_all_formats() {
    let record = of_two_runs();
    let markdown = compared_markdown(&record);
    assert!(markdown.contains("| flask (after) | 540 ±"), "{markdown}");
    let text = compared_csv(&record);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 4);
    let later = rows.iter().find(|row| (&row[0], &row[1]) == ("flask", "after")).unwrap();
    assert_eq!((&later[11][..4], &later[14]), ("0.89", "true"), "{text}");
}
