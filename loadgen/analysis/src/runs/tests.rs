use super::*;
use crate::record::{
    Bottleneck, Environment, FailedBy, Judgement, LoadRecord, RoundRecord, RunRecord, SavedAs,
    TargetRecord, ThresholdRecord, Verdict, VerdictKind,
};
use loadgen_measure::Summary;

fn target(name: &str, rates: &[f64]) -> TargetRecord {
    let round = |(round, rate): (u32, &f64)| RoundRecord {
        round,
        whole: true,
        total: Summary { rate_per_s: *rate, ..Summary::default() },
        ..RoundRecord::default()
    };
    TargetRecord {
        name: name.to_owned(),
        target: name.to_owned(),
        rounds: (1..).zip(rates).map(round).collect(),
        ..TargetRecord::default()
    }
}

fn compare(runs: &[(String, RunRecord)]) -> Result<RunsRecord, NotComparable> {
    let runs: Vec<Comparable> = runs.iter().map(|(name, run)| Comparable::run(name, run)).collect();
    RunsRecord::of(&runs)
}

fn run(name: &str, targets: Vec<TargetRecord>) -> (String, RunRecord) {
    let record = RunRecord {
        schema: RunRecord::SCHEMA.to_owned(),
        load: LoadRecord { model: "closed".to_owned(), ..LoadRecord::default() },
        environment: Environment { kernel: "6.1".to_owned(), ..Environment::default() },
        targets,
        ..RunRecord::default()
    };
    (name.to_owned(), record)
}

/// Returns the targets that cannot be judged, each with the reason.
fn unjudged(record: &RunsRecord) -> Vec<String> {
    let judged = &record.gate.as_ref().unwrap().judged;
    let why = judged.iter().filter_map(|it| Some((&it.target, it.why_not.as_ref()?)));
    why.map(|(target, why)| format!("{target}: {why}")).collect()
}

const RATES: [f64; 5] = [1000.0, 1010.0, 990.0, 1005.0, 995.0];

#[test]
fn each_target_is_compared_only_with_itself() {
    let runs = [
        run("before", vec![target("a", &RATES), target("b", &RATES)]),
        run("after", vec![target("b", &RATES), target("a", &RATES.map(|r| r * 0.9))]),
        run("later", vec![target("a", &RATES), target("c", &RATES)]),
    ];
    let compared = compare(&runs).unwrap();
    let pairs = &compared.comparison.pairs;
    let mut named: Vec<[&str; 2]> = pairs.iter().map(|p| [&*p.better, &*p.worse]).collect();
    named.iter_mut().for_each(|two| two.sort_unstable());
    named.sort_unstable();
    assert_eq!(
        named,
        [["a (after)", "a (before)"], ["a (before)", "a (later)"], ["b (after)", "b (before)"]]
    );
    let names: Vec<&str> = compared.targets.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a (before)", "a (after)", "a (later)", "b (before)", "b (after)"]);
}

#[test]
fn a_regression_is_shown_and_beyond_the_limit() {
    let noisy = [700.0, 1100.0, 800.0, 1050.0, 900.0];
    let runs = |after: [f64; 5]| {
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &after)])]
    };
    let judged = |after, limit| {
        let gate = compare(&runs(after)).unwrap().judged(limit).gate.unwrap();
        assert_eq!((gate.base.as_str(), gate.judged.len()), ("before", 1));
        gate.judged[0].clone()
    };
    // Rounds differ from 0.9 × `RATES` by up to 0.3 %, so that differences have an interval.
    let slower = [898.0, 911.0, 890.0, 906.0, 895.0];
    let regression = judged(slower, 5.0);
    assert_eq!(regression.judgement, Judgement::Slower);
    assert_eq!((regression.target.as_str(), regression.of), ("a (after)", LossOf::Rate));
    assert!((9.0..11.0).contains(&regression.loss_percent.unwrap()), "{regression:?}");
    assert_eq!(judged(slower, 10.0).judgement, Judgement::Open, "the limit is within the interval");
    assert_eq!(judged(slower, 15.0).judgement, Judgement::NotSlower);
    assert_eq!(judged(noisy, 5.0).judgement, Judgement::Open, "a loss of 10 % that may be chance");
    let faster = slower.map(|rate| rate * 1.3);
    assert_eq!(judged(faster, 5.0).judgement, Judgement::NotSlower, "a gain");
}

#[test]
fn rounds_are_not_paired_by_their_numbers() {
    let mut reversed = RATES.map(|rate| rate * 0.97);
    reversed.reverse();
    let after = |rates: &[f64]| {
        let runs =
            [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", rates)])];
        compare(&runs).unwrap().comparison
    };
    let (there, back) = (after(&RATES.map(|rate| rate * 0.97)), after(&reversed));
    assert_eq!(there.test, Test::Welch);
    let [there, back] = [there, back].map(|comparison| comparison.pairs[0].p_value.unwrap());
    assert!((there / back - 1.0).abs() < 1e-6, "{there} {back}");
}

#[test]
fn too_few_rounds_are_not_judged() {
    let few =
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES[..4])])];
    let judged = compare(&few).unwrap().judged(5.0);
    assert_eq!(unjudged(&judged), ["a (after): both need 5 rounds, and one has 4"]);
}

#[test]
fn rounds_that_were_not_whole_pass_no_gate() {
    let mut cut = target("a", &RATES.map(|rate| rate * 0.75));
    cut.rounds.iter_mut().for_each(|round| round.whole = false);
    let runs = [run("before", vec![target("a", &RATES)]), run("after", vec![cut])];
    let judged = compare(&runs).unwrap().judged(5.0);
    assert_eq!(unjudged(&judged), ["a (after): after has no round of full length and load"]);
    assert_eq!(judged.comparison.unranked, ["a (after)"]);
}

#[test]
fn a_target_not_measured_again_passes_no_gate() {
    let [a, b, c] = ["a", "b", "c"].map(|name| target(name, &RATES));
    let runs =
        [run("before", vec![a.clone(), b]), run("after", vec![a]), run("later", vec![c.clone()])];
    let judged = compare(&runs).unwrap().judged(5.0);
    let absent: Vec<(&str, &str)> =
        judged.absent.iter().map(|it| (&*it.target, &*it.run)).collect();
    assert_eq!(absent, [("a", "later"), ("b", "after"), ("b", "later"), ("c", "before")]);
    assert_eq!(
        unjudged(&judged),
        ["a (later)", "b (after)", "b (later)"].map(|it| format!("{it}: it was not measured"))
    );
    // A target that only later runs have in common has no baseline.
    let runs = [
        run("before", vec![target("a", &RATES)]),
        run("after", vec![c.clone()]),
        run("later", vec![c]),
    ];
    assert_eq!(compare(&runs), Err(NotComparable::NothingInCommon("before".to_owned())));
}

/// Returns a run at 500 requests/s in which each round has this many answers and this median, in
/// µs.
fn at_a_rate(name: &str, answered: u64, p50: Option<u64>) -> (String, RunRecord) {
    let mut measured = target("a", &RATES);
    for round in &mut measured.rounds {
        round.total.requests = answered;
        round.total.cancelled = 1_000 - answered;
        round.total.latency_us.p50 = p50.map(|us| us + u64::from(round.round));
    }
    let (name, mut record) = run(name, vec![measured]);
    // Each round holds for two seconds without a warm-up, and gets its answers at once.
    record.load.rate_per_s = Some(500.0);
    record.targets[0].rounds.iter_mut().for_each(|round| round.held_s = 2.0);
    (name, record)
}

#[test]
fn the_reason_why_latencies_are_not_compared_is_exact() {
    let why = |after: (String, RunRecord)| {
        let runs = [at_a_rate("before", 1_000, Some(2_000)), after];
        unjudged(&compare(&runs).unwrap().judged(5.0))
    };
    assert_eq!(why(at_a_rate("after", 1_000, Some(2_001))), [""; 0]);
    assert_eq!(
        why(at_a_rate("after", 900, Some(2_000))),
        ["a (after): after did not carry the rate"]
    );
    let mut failing = at_a_rate("after", 1_000, Some(2_000));
    failing.1.targets[0].rounds[2].total.errors = 11;
    assert_eq!(
        why(failing),
        [
            "a (after): after has a round in which more than 1 % of the requests failed or had no response"
        ]
    );
    assert_eq!(
        why(at_a_rate("after", 1_000, None)),
        ["a (after): after has a round with too few expected responses for a median"]
    );
}

#[test]
fn rates_limited_by_others_pass_no_gate() {
    let judged = |bottleneck: Bottleneck, in_first: bool| {
        let mut runs = [
            run("before", vec![target("a", &RATES)]),
            run("after", vec![target("a", &RATES.map(|rate| rate * 0.99))]),
        ];
        runs[usize::from(!in_first)].1.targets[0].bottleneck = Some(bottleneck);
        compare(&runs).unwrap().judged(5.0)
    };
    for (bottleneck, who) in [
        (Bottleneck::Generator, "loadgen itself"),
        (Bottleneck::Backend("redis".to_owned()), "a backend"),
        (Bottleneck::Network, "the network"),
    ] {
        let record = judged(bottleneck.clone(), false);
        let why = format!("a (after): after has a rate that {who} limited");
        assert_eq!(unjudged(&record), [why]);
        assert_eq!(record.comparison.pairs, [], "nor is a difference claimed");
        let placed = record.comparison.ranking.len();
        assert_eq!(placed, 2, "both rates are shown");
        let why = format!("a (after): before has a rate that {who} limited");
        assert_eq!(unjudged(&judged(bottleneck, true)), [why]);
    }
    for own in [Bottleneck::Target, Bottleneck::Nobody] {
        assert_eq!(unjudged(&judged(own, false)), [""; 0]);
    }
    let mut runs =
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES)])];
    runs[1].1.verdicts = vec![Verdict {
        kind: VerdictKind::GeneratorBusy,
        target: Some("a".to_owned()),
        message: String::new(),
        advice: String::new(),
    }];
    assert_eq!(unjudged(&compare(&runs).unwrap().judged(5.0)).len(), 1, "it may have been");
}

#[test]
fn a_run_that_failed_passes_no_gate() {
    let mut runs =
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES)])];
    let unjudged = |runs: &[_; 2]| unjudged(&compare(runs).unwrap().judged(5.0));
    assert_eq!(unjudged(&runs), [""; 0]);
    runs[1].1.thresholds = vec![ThresholdRecord {
        target: "a".to_owned(),
        threshold: "error_rate < 1%".to_owned(),
        measured: Some(0.0),
        passed: false,
        failed_by: Some(FailedBy::InFlight),
        worst_case: Some(0.1),
        failed_late: 0,
        unanswered: 9,
    }];
    let why =
        "a (after): threshold error_rate < 1% failed, because of requests in flight at the end";
    assert_eq!(unjudged(&runs), [why]);
    runs.swap(0, 1);
    runs[0].0 = "before".to_owned();
    runs[1].0 = "after".to_owned();
    assert_eq!(unjudged(&runs), [""; 0], "what was wrong before, and is no more");
}

#[test]
fn a_run_that_ended_early_passes_no_gate() {
    let runs =
        || [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES)])];
    let why = |change: fn(&mut RunRecord)| {
        let mut runs = runs();
        change(&mut runs[1].1);
        unjudged(&compare(&runs).unwrap().judged(5.0))
    };
    assert_eq!(why(|run| run.interrupted = true), ["a (after): the run was interrupted"]);
    let ended = why(|run| {
        run.verdicts = vec![Verdict {
            kind: VerdictKind::TargetEnded,
            target: Some("a".to_owned()),
            message: "a ended".to_owned(),
            advice: String::new(),
        }];
    });
    assert_eq!(ended, ["a (after): a ended [target_ended]"]);
    let cut = why(|run| run.targets[0].rounds.push(RoundRecord::default()));
    assert_eq!(cut, ["a (after): after has a round that was cut short or had another load"]);
}

#[test]
fn another_load_passes_no_gate() {
    let mut runs =
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES)])];
    runs[1].1.load.workers = 4;
    assert_eq!(unjudged(&compare(&runs).unwrap().judged(5.0)), [""; 0], "the same load by others");
    runs[1].1.load.users = 7;
    let why = unjudged(&compare(&runs).unwrap().judged(5.0));
    assert_eq!(why, ["a (after): load.users is not the same in both runs"]);
}

#[test]
fn differences_are_named_with_both_values() {
    let mut runs =
        [run("before", vec![target("a", &RATES)]), run("after", vec![target("a", &RATES)])];
    runs[1].1.environment.kernel = "6.2".to_owned();
    runs[1].1.environment.python = Some("3.13".to_owned());
    runs[1].1.environment.system.governor = Some("performance".to_owned());
    runs[1].1.environment.system.load_average = Some(7.5);
    runs[1].1.load.users = 7;
    runs[1].1.seed = 99;
    let unlike = compare(&runs).unwrap().unlike;
    let of = |what: &str, values: [Option<&str>; 2]| Unlike {
        what: what.to_owned(),
        values: values.map(|value| value.map(str::to_owned)).to_vec(),
    };
    assert_eq!(
        unlike,
        [
            of("environment.kernel", [Some("6.1"), Some("6.2")]),
            of("environment.python", [None, Some("3.13")]),
            of("environment.system.governor", [None, Some("performance")]),
            of("load.users", [Some("0"), Some("7")]),
        ]
    );
}

#[test]
fn incomparable_runs_are_refused() {
    let closed = || run("closed", vec![target("a", &RATES)]);
    let mut open = run("open", vec![target("a", &RATES)]);
    open.1.load.rate_per_s = Some(500.0);
    let (is_closed, is_open) = ("of the closed model", "of the open model");
    let kinds = |one: &str, is, other: &str, is_other| {
        Err(NotComparable::Kinds(one.to_owned(), is, other.to_owned(), is_other))
    };
    assert_eq!(compare(&[closed(), open.clone()]), kinds("closed", is_closed, "open", is_open));
    assert_eq!(compare(&[open, closed()]), kinds("open", is_open, "closed", is_closed));
    assert_eq!(compare(&[closed()]), Err(NotComparable::One));
    let other = run("other", vec![target("b", &RATES)]);
    let nothing = NotComparable::NothingInCommon("closed".to_owned());
    assert_eq!(compare(&[closed(), other]), Err(nothing));
}
