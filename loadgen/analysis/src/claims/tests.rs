use super::*;
use crate::record::RoundRecord;
use crate::statistics::simulations::{Machine, REAL};
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
        needs_cpus: 0,
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
        in_quick_form: true,
        quick_rounds: 5,
        quick_one_start: false,
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

fn claim(statement: Statement) -> Claim {
    let metric = Metric::Time(Timing::Latency, Statistic::Mean);
    Claim { says: None, group: 0, needs_cpus: 0, full_only: None, metric, statement }
}

/// Returns what `of` finds about these targets, as arms of one start or of one for each round.
fn about<T>(targets: &[TargetRecord], one_start: bool, of: impl FnOnce(Arms<'_>) -> T) -> T {
    let group = group(&targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>());
    let targets: Vec<&TargetRecord> = targets.iter().collect();
    of(Arms { group: &group, targets: &targets, one_start, left_out: &|_| None })
}

fn judged(statement: Statement, targets: &[TargetRecord]) -> ClaimRecord {
    about(targets, false, |arms| judge_claim(&claim(statement), arms))
}

#[test]
fn a_claim_about_an_arm_that_was_left_out_says_what_is_missing() {
    let group = group(&["go", "node"]);
    let order = Statement::Order(vec![0, 1]);
    let claim = claim(order);
    let why = "needs Go 1.26; go is not on the PATH; see https://go.dev/doc/install";
    let node = target("node", &SLOW);
    let judged = |left_out: Option<&'static str>| {
        let left_out = |arm: &str| left_out.filter(|_| arm == "go").map(str::to_owned);
        let arms = Arms { group: &group, targets: &[&node], one_start: false, left_out: &left_out };
        judge_claim(&claim, arms)
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

#[test]
fn one_start_widens_an_interval_by_what_another_start_would_bring() {
    let of = |one_start, other: &[f64]| {
        let statement = Statement::Equal { arms: [0, 1], within: 0.1 };
        let targets = [target("a", &FAST), target("b", other)];
        about(&targets, one_start, |arms| judge_claim(&claim(statement), arms))
    };
    let width = |claim: &ClaimRecord| {
        let [low, high] = claim.evidence[0].confidence_95.unwrap();
        (high / low).ln() / 2.0
    };
    let (many, one) = (of(false, &FAST), of(true, &FAST));
    assert!(width(&many) < 1e-9, "the same figures in each round: {many:?}");
    // z = stats.norm.ppf(0.975); z * 2 ** 0.5 * 0.02
    assert!((width(&one) - 0.055_436).abs() < 1e-5, "{one:?}");
    assert_eq!((one.finding, one.more_rounds), (Finding::Held, None));
    let five = FAST.map(|mean| mean * 1.05);
    assert_eq!(of(false, &five).finding, Finding::Held);
    assert_eq!(of(true, &five).finding, Finding::CouldNotBeShown);
}

#[test]
fn a_claim_is_open_until_it_is_clear() {
    let order = |targets: &[TargetRecord]| {
        about(targets, true, |arms| is_open(&claim(Statement::Order(vec![0, 1])), arms))
    };
    assert!(!order(&[target("a", &FAST), target("b", &SLOW)]), "twice the latency");
    // Shown at 5 %, but not at a thousandth.
    let close = [112.0, 108.0, 111.0, 109.0, 110.0];
    let targets = [target("a", &FAST), target("b", &close)];
    let shown = about(&targets, true, |arms| {
        judge_claim(&claim(Statement::Order(vec![0, 1])), arms).finding
    });
    assert_eq!((shown, order(&targets)), (Finding::Held, true));
    // More rounds settle nothing about an arm that was not measured.
    assert!(!order(&[target("a", &FAST), target("b", &[])]));
}

/// A claim about equal arms is looked at after the numbers of rounds in [`LOOKS`], and the rounds end once it is
/// clear.
#[test]
fn looking_for_clear_claims_keeps_the_level() {
    let mut machine = Machine::new(1, REAL);
    let runs = 1_000;
    let found = (0..runs).filter(|_| {
        let all = machine.rounds(2, 25);
        let means = |of: usize, n: u32| -> Vec<f64> {
            all.iter().take(n as usize).map(|round| 100.0 * round[of].exp()).collect()
        };
        let targets = |n| [target("a", &means(0, n)), target("b", &means(1, n))];
        let order = || claim(Statement::Order(vec![0, 1]));
        let end = LOOKS
            .into_iter()
            .find(|&n| n == 25 || !about(&targets(n), false, |arms| is_open(&order(), arms)))
            .expect("the last look ends the rounds");
        let finding = judged(order().statement, &targets(end)).finding;
        finding != Finding::CouldNotBeShown
    });
    let share = found.count() as f64 / f64::from(runs);
    assert!(share <= 0.065, "{share}");
}
