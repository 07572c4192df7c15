//! Tests the terminal's report of duets, made from records built by hand.

use super::records::{record, target};
use super::run::{assert_within_80_columns, shown};
use loadgen::record::{Comparison, DuetPair, DuetRecord, NoRates, RunRecord};

/// Returns the record of two targets that were loaded at the same time.
fn duet(rates_not_compared: Option<NoRates>) -> RunRecord {
    let pair = DuetPair {
        other: "new".to_owned(),
        rounds: 5,
        cpu_time_ratio: Some(1.001),
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
fn a_duet_says_why_rates_are_not_compared() {
    let report = shown(&duet(Some(NoRates::UnequalShares)));
    assert_within_80_columns(&report);
    insta::assert_snapshot!(report);
}
