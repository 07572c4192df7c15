//! Tests the terminal's report of duets, made from records built by hand.

use std::collections::BTreeMap;

use super::records::{record, target};
use super::run::{assert_within_80_columns, shown};
use loadgen::record::{
    Comparison, DuetPair, DuetRecord, GateRecord, JudgedTarget, Judgement, Lack, LossOf, NoRates,
    RunRecord, Verdict, VerdictKind,
};
use loadgen::report::junit;

/// Returns the record of two targets that were loaded at the same time.
fn duet(rates_not_compared: Option<NoRates>) -> RunRecord {
    let pair = DuetPair {
        other: "new".to_owned(),
        rounds: 5,
        cpu_time_ratio: Some(1.001),
        cpu_lacking: BTreeMap::new(),
        rates_not_compared,
        rounds_deviation_percent: Some(0.7),
        seconds_deviation_percent: Some(2.1),
        seconds_autocorrelation: Some(-0.2),
    };
    let rates = [1_204.0, 1_150.0, 1_301.0, 1_198.0, 1_222.0];
    let targets = vec![
        target("old", &rates),
        target("new", &rates.map(|rate| rate * (1.0 + rate / 1e5) / 1.06)),
    ];
    let mut record = record(targets);
    let comparison = record.comparison.take().unwrap();
    let by_cpu = comparison.pairs.clone();
    let by_rate = if rates_not_compared.is_none() { vec!["new"] } else { Vec::new() };
    let comparison = Comparison { cpu_pairs: by_cpu, ..comparison }.of_duets("old", &by_rate);
    record.comparison = Some(comparison);
    record.duet = Some(DuetRecord { base: "old".to_owned(), pairs: vec![pair] });
    record.load.duet = true;
    record
}

#[test]
fn a_duet_says_what_its_figures_are_not() {
    let report = shown(&duet(None));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn a_duet_says_why_cpu_times_are_not_compared() {
    let mut record = duet(Some(NoRates::UnequalShares));
    record.comparison.as_mut().unwrap().cpu_pairs.clear();
    let lacks = [("new".to_owned(), Lack::TooManyErrors)];
    record.duet.as_mut().unwrap().pairs[0].cpu_lacking = lacks.into();
    let report = shown(&record);
    let said = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected =
        "CPU time per request of old and new is not compared: new has a round in which more";
    assert!(said.contains(expected), "{report}");
}

#[test]
fn an_open_judgement_names_the_rounds_that_settle_it() {
    let mut record = duet(None);
    record.load.rounds = 30;
    record.gate = Some(GateRecord {
        base: "old".to_owned(),
        limit_percent: 2.0,
        judged: vec![JudgedTarget {
            target: "new".to_owned(),
            of: LossOf::CpuTime,
            loss_percent: Some(1.5),
            confidence_percent: Some([0.5, 2.5]),
            judgement: Judgement::Open,
            why_not: None,
            more_rounds: Some(25),
        }],
    });
    assert!(shown(&record).contains(" next: add --rounds 55 to settle the judgement;\n"));
    record.gate = None;
    assert!(shown(&record).contains(" next: add --rounds 60 for narrower intervals;\n"));
}

#[test]
fn a_duet_says_why_rates_are_not_compared() {
    let report = shown(&duet(Some(NoRates::UnequalShares)));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}

#[test]
fn junit_has_a_failed_test_for_what_was_not_measured() {
    let mut record = duet(None);
    record.targets.retain(|target| target.name == "old");
    record.verdicts = vec![Verdict {
        kind: VerdictKind::TargetEnded,
        target: Some("old".to_owned()),
        message: "old ended".to_owned(),
        advice: String::new(),
    }];
    record.gate = Some(GateRecord {
        base: "old".to_owned(),
        limit_percent: 2.0,
        judged: vec![JudgedTarget::unjudged(
            "new",
            LossOf::CpuTime,
            "new was not measured".to_owned(),
        )],
    });
    let xml = junit(&record);
    assert!(xml.contains("failures=\"2\""), "{xml}");
    assert!(
        xml.contains("old ended [target_ended]") && xml.contains("new was not measured"),
        "{xml}"
    );
}
