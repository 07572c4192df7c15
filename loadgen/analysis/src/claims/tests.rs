use super::*;
use crate::record::RoundRecord;
use loadgen_measure::{LatencySummary, Summary};
use loadgen_scenario::experiment::Arm;
use loadgen_scenario::{Limits, Operator, Statistic, Timing, WARMUP, parse};

/// Returns a group of arms with these names.
fn group(names: &[&str]) -> Group {
    let scenario = parse("test", "test.toml", "[[step]]\nget = \"/\"\n").unwrap();
    let arm = |name: &&str| Arm {
        name: (*name).to_owned(),
        target: (*name).to_owned(),
        server_workers: 1,
        replicas: None,
        limits: Limits::default(),
        scenario: scenario.clone(),
        quick: None,
        warmup: WARMUP,
        quick_warmup: WARMUP,
    };
    Group {
        name: "direct".to_owned(),
        description: None,
        rounds: 5,
        quick_rounds: 5,
        capacity: None,
        quick_capacity: None,
        backend_alone: None,
        arms: names.iter().map(arm).collect(),
    }
}

/// Returns a target with these mean latencies in µs, one for each round.
fn target(name: &str, means: &[f64]) -> TargetRecord {
    let round = |(number, mean): (u32, &f64)| RoundRecord {
        round: number,
        whole: true,
        total: Summary {
            latency_us: LatencySummary { mean: Some(*mean), ..LatencySummary::default() },
            ..Summary::default()
        },
        ..RoundRecord::default()
    };
    let rounds = (1..).zip(means).map(round).collect();
    TargetRecord { name: name.to_owned(), rounds, ..TargetRecord::default() }
}

fn judged(statement: Statement, targets: &[TargetRecord]) -> ClaimRecord {
    let group = group(&targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>());
    let claim = Claim {
        says: None,
        group: 0,
        metric: Metric::Time(Timing::Latency, Statistic::Mean),
        statement,
    };
    judge_claim(&claim, &group, &targets.iter().collect::<Vec<_>>(), &|_| None)
}

#[test]
fn a_claim_about_an_arm_that_was_left_out_says_what_is_missing() {
    let group = group(&["go", "node"]);
    let order = Statement::Order(vec![0, 1]);
    let claim = Claim {
        says: None,
        group: 0,
        metric: Metric::Time(Timing::Latency, Statistic::Mean),
        statement: order,
    };
    let why = "needs Go 1.26; go is not on the PATH; see https://go.dev/doc/install";
    let node = target("node", &SLOW);
    let judged = |left_out: Option<&'static str>| {
        judge_claim(&claim, &group, &[&node], &|arm| left_out.filter(|_| arm == "go"))
    };
    assert_eq!(judged(Some(why)).finding, Finding::CouldNotBeShown);
    assert_eq!(judged(Some(why)).why.unwrap(), "go was not measured: needs Go 1.26");
    assert_eq!(judged(None).why.unwrap(), "go was not measured");
}

const FAST: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];
const SLOW: [f64; 5] = [200.0, 203.0, 198.0, 201.0, 199.0];

#[test]
fn an_order_holds_if_each_arm_is_better_than_the_next() {
    let targets = [target("sanic", &FAST), target("flask", &SLOW)];
    let claim = judged(Statement::Order(vec![0, 1]), &targets);
    assert_eq!((claim.finding, claim.why), (Finding::Held, None));
    assert_eq!(claim.says, "by mean, best first: sanic, flask");
    let claim = judged(Statement::Order(vec![1, 0]), &targets);
    assert_eq!(claim.finding, Finding::DidNotHold);
    // One reversed pair refutes the order, even if another pair holds.
    let targets = [target("a", &FAST), target("b", &SLOW), target("c", &FAST)];
    assert_eq!(judged(Statement::Order(vec![0, 1, 2]), &targets).finding, Finding::DidNotHold);
}

#[test]
fn an_order_that_may_be_chance_needs_more_rounds() {
    let targets = [
        target("a", &[100.0, 104.0, 97.0, 102.0, 99.0]),
        target("b", &[103.0, 99.0, 101.0, 100.0, 104.0]),
    ];
    let claim = judged(Statement::Order(vec![0, 1]), &targets);
    assert_eq!(claim.finding, Finding::CouldNotBeShown);
    assert_eq!(claim.why.as_deref(), Some("the order of a and b may be chance"));
    assert!(claim.more_rounds.is_some_and(|more| more > 1), "{claim:?}");
}

#[test]
fn a_ratio_is_judged_by_its_whole_interval() {
    let targets = [target("slow", &SLOW), target("fast", &FAST)];
    let ratio = |between| {
        judged(Statement::Ratio { arms: [0, 1], between, published: Some(2.0) }, &targets)
    };
    let claim = ratio([1.9, 2.1]);
    assert_eq!((claim.finding, claim.published), (Finding::Held, Some(2.0)));
    let [low, high] = claim.evidence[0].confidence_95.unwrap();
    assert!(low < 2.0 && 2.0 < high && claim.evidence[0].rounds == 5);
    assert_eq!(ratio([3.0, 4.0]).finding, Finding::DidNotHold);
    assert_eq!(ratio([2.0, 4.0]).finding, Finding::CouldNotBeShown);
}

#[test]
fn arms_are_equal_only_if_the_interval_excludes_a_difference() {
    let equal = |other: &[f64]| {
        let targets = [target("a", &FAST), target("b", other)];
        judged(Statement::Equal { arms: [0, 1], within: 0.1 }, &targets).finding
    };
    assert_eq!(equal(&FAST), Finding::Held);
    assert_eq!(equal(&SLOW), Finding::DidNotHold);
    // Much noise shows no equality.
    assert_eq!(equal(&[60.0, 160.0, 80.0, 130.0, 100.0]), Finding::CouldNotBeShown);
}

#[test]
fn a_condition_is_judged_by_the_interval_of_the_mean() {
    let targets = [target("a", &FAST)];
    let condition = |operator, bound| {
        let text = String::new();
        judged(Statement::Condition { arm: 0, operator, bound, text }, &targets).finding
    };
    assert_eq!(condition(Operator::Less, 150.0), Finding::Held);
    assert_eq!(condition(Operator::Greater, 150.0), Finding::DidNotHold);
    assert_eq!(condition(Operator::Greater, 100.0), Finding::CouldNotBeShown);
    // No target had an error, so the interval is the one value 0.
    let targets = [target("a", &[0.0; 5])];
    let none = |operator| {
        let text = String::new();
        judged(Statement::Condition { arm: 0, operator, bound: 0.0, text }, &targets).finding
    };
    assert_eq!(none(Operator::AtMost), Finding::Held);
    assert_eq!(none(Operator::Less), Finding::DidNotHold);
}

#[test]
fn too_few_rounds_and_other_limits_show_nothing() {
    let few = [target("a", &FAST[..4]), target("b", &SLOW[..4])];
    let claim = judged(Statement::Order(vec![0, 1]), &few);
    assert_eq!(claim.finding, Finding::CouldNotBeShown);
    assert_eq!(claim.why.as_deref(), Some("4 of at least 5 rounds that a finding needs"));
    let bound = TargetRecord { bottleneck: Some(Bottleneck::Generator), ..target("a", &FAST) };
    let claim = judged(Statement::Order(vec![0, 1]), &[bound, target("b", &SLOW)]);
    assert_eq!(claim.why.as_deref(), Some("loadgen itself limited the load on a"));
    let cut = target("a", &[]);
    let claim = judged(Statement::Order(vec![0, 1]), &[cut, target("b", &SLOW)]);
    assert_eq!(claim.finding, Finding::CouldNotBeShown);
}
