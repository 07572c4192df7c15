use super::*;
use crate::measure::{Counts, Outcome};
use crate::scenario;

fn parse(text: &str) -> Scenario {
    scenario::parse("mine", "mine.toml", text).unwrap()
}

const TWO: &str = "[[step]]\nname = \"a\"\nget = \"/a\"\n[[step]]\nname = \"b\"\nget = \"/b\"\n";

fn texts(scenario: &Scenario) -> Vec<&str> {
    scenario.thresholds.iter().map(|threshold| threshold.text.as_str()).collect()
}

#[test]
fn without_thresholds_only_errors_count_and_a_hundred_requests_tell() {
    let mut scenario = parse(TWO);
    let criteria = Criteria::of(&mut scenario, Duration::from_secs(5));
    assert_eq!(texts(&scenario), ["error_rate < 1%"]);
    assert_eq!(criteria.start_per_s(), 28.0);
    assert_eq!(criteria.length(28.0), Duration::from_secs(5));
    assert_eq!(criteria.length(7.0), Duration::from_secs(20));
    let limits = criteria.limits(0.05);
    assert_eq!(criteria.length(limits.lowest_per_s), Duration::from_secs(60));
    assert_eq!(criteria.length(0.001), Duration::from_secs(60));
}

#[test]
fn a_percentile_of_one_step_takes_its_samples_from_all_requests() {
    let thresholds = "[thresholds]\n\"b.p99\" = \"< 5ms\"\nerror_rate = \"< 5%\"\nrate = \"> 9\"\n";
    let mut scenario = parse(&format!("{TWO}{thresholds}"));
    let criteria = Criteria::of(&mut scenario, Duration::from_secs(1));
    assert_eq!(texts(&scenario), ["b.p99 < 5ms", "error_rate < 5%"]);
    assert_eq!(criteria.left_out, ["rate > 9"]);
    // 1,000 samples and a margin, of a step that is each second request.
    assert_eq!(criteria.start_per_s().round(), 2_253.0);
}

#[test]
fn steps_with_weights_have_their_share() {
    let weighted = "[[step]]\nname = \"a\"\nget = \"/a\"\n\
                    [[step]]\nname = \"b\"\nget = \"/b\"\nweight = 1\n\
                    [[step]]\nname = \"c\"\nget = \"/c\"\nweight = 3\n";
    let scenario = parse(weighted);
    let of = |name| share(&scenario, Some(name));
    assert_eq!((of("a"), of("b"), of("c"), share(&scenario, None)), (0.5, 0.125, 0.375, 1.0));
}

/// A second in which so many requests came to an end, and so many did not.
fn second(requests: u64, left: u64) -> Summary {
    let mut counts = Counts::default();
    let now = std::time::Instant::now();
    let outcome = Outcome {
        step: 0,
        counted: true,
        planned: now,
        sent: None,
        done: now,
        bytes: 0,
        ending: crate::measure::Ending::Answered,
        counters: &[],
    };
    (0..requests).for_each(|_| counts.record(&outcome, outcome.ending));
    Summary::new(
        "all",
        &counts,
        &Counts { cancelled: left, ..Counts::default() },
        Duration::from_secs(1),
    )
}

#[test]
fn a_rate_is_kept_where_little_is_left_or_as_much_was_answered_as_asked_for() {
    assert_eq!(not_kept(&second(1_000, 10), 1_000.0), None);
    // Each answer takes 100 ms, so a hundred are always under way.
    assert_eq!(not_kept(&second(1_000, 100), 1_000.0), None);
    // Chance planned fewer arrivals than their mean.
    assert_eq!(not_kept(&second(950, 5), 1_000.0), None);
    let said = not_kept(&second(900, 110), 1_000.0).unwrap();
    assert!(said.starts_with("the rate was not kept: 110 of 1,010 requests"), "{said}");
}
