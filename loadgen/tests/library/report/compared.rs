//! Tests comparisons of saved runs and searches, made from records built by hand.

use super::shown::{compared, compared_csv, compared_markdown};
use loadgen::analysis::Comparable;
use loadgen::record::{
    Bound, CapacityTarget, Degraded, Judgement, RunRecord, RunsRecord, Verdict, VerdictKind,
};

use super::capacity::{record as search, target as searched};
use super::records::{record, target};

/// A comparison of two runs with two targets each. In the second
/// run, the second target is slower, and the kernel is another.
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
        Comparable::run("before", &run(wave, 1.0, "6.1")),
        Comparable::run("after", &run(other, 0.9, "6.2")),
    ];
    RunsRecord::of(&runs).unwrap().judged(5.0)
}

#[test]
fn a_comparison_names_regressions_and_other_differences() {
    let text = compared(&of_two_runs());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for said in [
        "flask: after serves 0.90 times the requests of before",
        "regression: flask (after) has -10.0 % requests/s",
        "environment.kernel differs: 6.1 in before, 6.2 in after",
    ] {
        assert!(text.contains(said), "no \"{said}\" in {text}");
    }
    assert!(!text.contains("\n regression: sanic"), "{text}");
}

#[test]
fn a_comparison_is_written_in_all_formats() {
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

const FOUND: [f64; 5] = [1_510.0, 1_540.0, 1_490.0, 1_525.0, 1_500.0];

fn of_searches(before: CapacityTarget, after: CapacityTarget) -> RunsRecord {
    let [before, after] = [before, after].map(|target| search("process", vec![target]));
    let runs = [Comparable::search("before", &before), Comparable::search("after", &after)];
    RunsRecord::of(&runs).unwrap().judged(5.0)
}

#[test]
fn capacities_are_compared_in_separate_words() {
    let before = searched("sanic", &FOUND, Bound::Found, true);
    // More rounds than before, and slightly less even.
    let lost = [1_310.0, 1_340.0, 1_290.0, 1_325.0, 1_300.0, 1_345.0, 1_332.0];
    let record = of_searches(before.clone(), searched("sanic", &lost, Bound::Found, true));
    insta::assert_snapshot!(compared(&record));
    insta::assert_snapshot!(compared_markdown(&record));
    assert!(record.gate.as_ref().unwrap().has(Judgement::Slower));
    let same = of_searches(before.clone(), before);
    assert!(
        compared(&same).contains("no regression: sanic (after) has +0.0 % capacity"),
        "{}",
        compared(&same)
    );
}

#[test]
fn a_bound_is_not_compared_and_passes_no_gate() {
    let bound = searched("sanic", &FOUND.map(|rate| rate / 2.0), Bound::AtLeast, true);
    let record = of_searches(searched("sanic", &FOUND, Bound::Found, true), bound);
    let why = "after has only a bound of its capacity";
    assert_eq!(record.gate.as_ref().unwrap().judged[0].why_not.as_deref(), Some(why));
    let text = compared(&record);
    assert!(text.contains("≥ 730"), "{text}");
    assert_eq!(record.comparison.unranked, ["sanic (after)"]);
    let rows = compared_csv(&record);
    assert!(rows.lines().nth(2).unwrap().ends_with(",at_least"), "{rows}");
}

#[test]
fn a_search_that_was_cut_short_is_marked() {
    let target = || vec![searched("sanic", &FOUND, Bound::Found, true)];
    let [whole, mut cut] = [search("process", target()), search("process", target())];
    cut.interrupted = true;
    cut.degraded = Some(Degraded { reason: "worker 1 was lost".to_owned(), lost: Vec::new() });
    let runs = [Comparable::search("before", &whole), Comparable::search("after", &cut)];
    let record = RunsRecord::of(&runs).unwrap();
    let text = compared(&record);
    assert!(text.contains(" ! after: degraded: worker 1 was lost\n"), "{text}");
    assert!(text.contains(" ! after: interrupted: the results are those"), "{text}");
    assert!(!text.contains("before: "), "{text}");
}

#[test]
fn an_interrupted_run_is_reported_once() {
    let of = |interrupted| {
        let mut record = record(vec![target("sanic", &FOUND)]);
        if interrupted {
            record.interrupted = true;
            record.verdicts.push(Verdict {
                kind: VerdictKind::Interrupted,
                target: None,
                message: "the run was interrupted".to_owned(),
                advice: String::new(),
            });
        }
        record
    };
    let runs = [Comparable::run("before", &of(false)), Comparable::run("after", &of(true))];
    let text = compared(&RunsRecord::of(&runs).unwrap());
    assert_eq!(text.matches("interrupted").count(), 1, "{text}");
}

#[test]
fn a_search_is_not_compared_with_a_run() {
    let found = search("process", vec![searched("sanic", &FOUND, Bound::Found, true)]);
    let run = record(vec![target("sanic", &FOUND)]);
    let runs = [Comparable::search("search", &found), Comparable::run("run", &run)];
    let refused = RunsRecord::of(&runs).unwrap_err().to_string();
    assert!(
        refused.starts_with("search is a search for capacities, but run is of the"),
        "{refused}"
    );
}
