use std::collections::BTreeMap;

use super::*;
use loadgen_measure::ErrorKind;
use loadgen_scenario as scenario;

const MS: Duration = Duration::from_millis(1);

/// Returns counts of answers of 1 ms, of failures, and of requests in flight at the end. `late`
/// holds the numbers of in-flight requests that were answered later, failed later, and had no
/// answer.
fn counts(answered: u64, failed: u64, late: [u64; 3]) -> Counts {
    let [answered_late, failed_late, unanswered] = late;
    let mut counts = Counts {
        errors: BTreeMap::from([(ErrorKind::Status, failed)]),
        cancelled: late.iter().sum(),
        answered_late,
        failed_late,
        unanswered,
        ..Counts::default()
    };
    counts.answered.record_n(MS, answered);
    counts
}

/// Judges a threshold on steps `a` (timeout 2 s) and `b` (timeout 10 s) with these counts.
fn judged(threshold: &str, a: Counts, b: Counts) -> ThresholdRecord {
    let text = format!(
        "[[step]]\nname = \"a\"\nget = \"/\"\ntimeout = \"2s\"\n\
         [[step]]\nname = \"b\"\nget = \"/\"\ntimeout = \"10s\"\n[thresholds]\n{threshold}\n"
    );
    let scenario = scenario::parse("test", "test.toml", &text).unwrap();
    let counts = Tally { steps: vec![a, b], flows: Vec::new() };
    let scored = Scored { all: &counts, by_row: &counts, held: Duration::from_secs(10) };
    judge("mine", &scenario, &scored).remove(0)
}

fn failed_by(threshold: &str, late: [u64; 3]) -> Option<FailedBy> {
    judged(threshold, counts(10_000, 0, [0; 3]), counts(10_000, 0, late)).failed_by
}

#[test]
fn a_bound_on_errors_must_hold_if_unanswered_requests_failed() {
    let bound = "error_rate = \"< 1%\"";
    assert_eq!(failed_by(bound, [300, 0, 0]), None, "all were answered later");
    assert_eq!(failed_by(bound, [0, 0, 150]), None, "three quarters of a percent");
    assert_eq!(failed_by(bound, [0, 0, 250]), Some(FailedBy::InFlight));
    assert_eq!(
        failed_by(bound, [0, 250, 0]),
        Some(FailedBy::InFlight),
        "they failed after the end"
    );
    let hung = judged(bound, counts(900, 0, [0; 3]), counts(0, 0, [0, 0, 100]));
    assert_eq!((hung.measured, hung.worst_case, hung.unanswered), (Some(0.0), Some(0.1), 100));
    let failed = judged(bound, counts(900, 100, [0; 3]), counts(0, 0, [0, 0, 100]));
    assert_eq!(failed.failed_by, Some(FailedBy::Measured), "those that failed are enough");
}

#[test]
fn a_step_is_judged_by_its_own_unanswered_requests() {
    let of = |step: &str| failed_by(&format!("\"{step}.error_rate\" = \"< 1%\""), [0, 0, 150]);
    assert_eq!((of("a"), of("b")), (None, Some(FailedBy::InFlight)));
    let of = |step: &str| failed_by(&format!("\"{step}.p99\" = \"< 2ms\""), [0, 0, 150]);
    assert_eq!((of("a"), of("b")), (None, Some(FailedBy::InFlight)));
}

#[test]
fn a_bound_on_latency_must_hold_if_unanswered_requests_took_their_timeout() {
    assert_eq!(failed_by("p99 = \"< 100ms\"", [0, 0, 150]), None, "fewer than one in a hundred");
    assert_eq!(failed_by("p99 = \"< 100ms\"", [0, 0, 250]), Some(FailedBy::InFlight));
    assert_eq!(failed_by("p50 = \"< 100ms\"", [0, 0, 250]), None);
    assert_eq!(failed_by("max = \"< 5s\"", [0, 0, 1]), Some(FailedBy::InFlight));
    assert_eq!(failed_by("max = \"< 11s\"", [0, 0, 1]), None, "its timeout is 10 s");
    assert_eq!(failed_by("mean = \"< 2ms\"", [0, 0, 1]), None, "10 s over 20,000 requests");
    assert_eq!(failed_by("mean = \"< 2ms\"", [0, 0, 3]), Some(FailedBy::InFlight));
    assert_eq!(failed_by("max = \"< 5s\"", [9, 9, 0]), None, "these had an answer");
}

#[test]
fn lower_bounds_and_rates_ignore_requests_in_flight() {
    for holds in [
        "rate = \"> 1\"",
        "rate = \"< 9999\"",
        "unsent = \"<= 0\"",
        "p50 = \"> 0ms\"",
        "error_rate = \">= 0%\"",
    ] {
        let record = judged(holds, counts(10_000, 0, [0; 3]), counts(0, 0, [0, 0, 9_000]));
        assert_eq!((record.failed_by, record.worst_case), (None, None), "{holds}");
    }
    let none = judged("p99 = \"< 1s\"", counts(10, 0, [0; 3]), counts(0, 0, [0, 0, 5]));
    assert_eq!(none.failed_by, Some(FailedBy::TooFewSamples));
}

#[test]
fn flows_and_groups_are_judged_by_their_own_counts() {
    let text = "[[flow]]\nname = \"browse\"\n[[flow.step]]\nname = \"list\"\nget = \"/\"\n\
                [[flow.step]]\nname = \"one\"\nget = \"/1\"\ngroup = \"reads\"\ntimeout = \"7s\"\n\
                [[flow]]\nname = \"buy\"\n\
                [[flow.step]]\nname = \"read\"\nget = \"/2\"\ngroup = \"reads\"\n\
                [[flow.step]]\nname = \"order\"\npost = \"/\"\n\
                [thresholds]\n\"buy.max\" = \"<= 3ms\"\n\"iteration.max\" = \"<= 3ms\"\n\
                \"reads.max\" = \"<= 3ms\"\n\"buy.rate\" = \"> 1\"\n";
    let scenario = scenario::parse("test", "test.toml", text).unwrap();
    let of = |ms: u32, unanswered| {
        let mut counts = Counts { unanswered, ..Counts::default() };
        counts.answered.record_n(MS * ms, 20);
        counts
    };
    let steps = vec![of(1, 0), of(2, 1), of(3, 0), of(4, 0)];
    let tally = Tally { steps, flows: vec![of(9, 1), of(3, 0)] };
    let scored = Scored { all: &tally, by_row: &tally, held: Duration::from_secs(10) };
    let judged = judge("mine", &scenario, &scored);
    let of: Vec<_> = judged.iter().map(|it| (it.measured, it.worst_case)).collect();
    // Histograms have three digits. An iteration of `browse` may take until both of its timeouts.
    let ms = |value: Option<f64>| value.map(|us| (us / 1e4).round() * 10.0);
    let of: Vec<_> = of.into_iter().map(|(is, worst)| (ms(is), ms(worst))).collect();
    assert_eq!(
        of[..3],
        [(Some(0.0), None), (Some(10.0), Some(37_030.0)), (Some(0.0), Some(7_000.0))]
    );
    assert_eq!(judged[3].measured, Some(2.0));
}

#[test]
fn a_bound_on_the_first_byte_is_not_one_on_the_latency() {
    let with_first_byte = |unanswered| {
        let mut counts = counts(2_000, 0, [0, 0, unanswered]);
        counts.first_byte.record_n(MS / 5, 2_000);
        counts
    };
    let none = || counts(0, 0, [0; 3]);
    let early = judged("\"b.ttfb.p99\" = \"< 500us\"", none(), with_first_byte(0));
    assert_eq!((early.measured, early.passed), (Some(200.0), true));
    assert!(!judged("\"b.p99\" = \"< 500us\"", none(), with_first_byte(0)).passed);
    // A response in one piece has its first byte with its last one.
    let whole = judged("\"ttfb.max\" = \"< 2ms\"", counts(2_000, 0, [0; 3]), none());
    assert_eq!(whole.measured, Some(1_000.0));
    let hung = judged("\"b.ttfb.max\" = \"< 1s\"", none(), with_first_byte(1));
    assert_eq!(hung.failed_by, Some(FailedBy::InFlight));
}
