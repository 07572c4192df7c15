//! Duets: of servers against themselves, and of servers with a known difference.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::busy::{self, busy_s};
use crate::common::program::Project;
use crate::slowed;

const TARGETS: [&str; 4] = ["sanic", "quart", "fastapi", "flask"];

/// Loss in % that the gates accept, as in `action.yml`.
const LIMIT: &str = "--fail-on-regression=2%";

/// Of 40 duets of servers against themselves, 10 for each target, at most 4 claim a difference: by
/// chance alone, more than 4 of 40 come in one of 20 such experiments. At most 2 gates call the copy
/// slower.
#[test]
#[ignore = "make trust: 40 minutes"]
fn duets_of_equal_servers_claim_no_difference() {
    let (mut claims, mut slower) = (0, 0);
    for seed in 0..10 {
        for target in TARGETS {
            let project = Project::real();
            let (target, seed) = (format!("--target={target}"), format!("--seed={seed}"));
            let arguments = ["-s=direct", &target, &seed, "--aa", "--duet", LIMIT, "--format=json"];
            let finished = project.run(&arguments);
            let document = finished.json();
            let (rate, cpu) = (claim(&document, "pairs"), claim(&document, "cpu_pairs"));
            let claimed = [&rate, &cpu].iter().any(|it| it.as_ref().is_some_and(|it| it.shown));
            claims += usize::from(claimed);
            let gate = judgement(&document);
            println!("{target} {seed}: {gate}, by rate {rate:?}, by CPU {cpu:?}");
            slower += usize::from(gate == "slower");
        }
    }
    println!("{claims} claims in 40 duets, {slower} gates say \"slower\"");
    assert!(claims <= 4 && slower <= 2, "{claims} {slower}");
}

/// Of 20 gates with the settings of `action.yml`, five for each target, at least 18 find that a copy of the
/// target is slower, within five minutes. The copy spends 5 % of its CPU time for nothing, and so needs
/// about 6 % more for each request.
#[test]
#[ignore = "make trust: 40 minutes"]
fn gates_find_a_loss_of_5_percent() {
    let (mut found, mut longest) = (0, Duration::ZERO);
    for seed in 0..5 {
        for target in TARGETS {
            let (project, copy) = (slowed::project(target, 5.0), slowed::copy(target));
            let (names, seed) = (format!("--target={target},{copy}"), format!("--seed={seed}"));
            let start = Instant::now();
            let duet = ["-s=direct", &names, "--duet", "--rounds=10", &seed, "--format=json"];
            let gate = [LIMIT, "--precision=1.5%", "--time-max=4m"];
            let finished = project.run(&[&duet[..], &gate].concat());
            let took = start.elapsed();
            let document = finished.json();
            let of = &document["gate"]["judged"][0];
            let (loss, ends) = (&of["loss_percent"], &of["confidence_percent"]);
            let rounds = &document["precision"]["rounds_measured"];
            let judged = judgement(&document);
            println!("{target} {seed}: {judged}, {loss} % ({ends}) in {rounds} rounds, {took:?}");
            longest = longest.max(took);
            found += usize::from(finished.code == Some(3) && judged == "slower");
        }
    }
    println!("found by {found} of 20 gates, the longest of {longest:?}");
    assert!(found >= 18 && longest < Duration::from_secs(300), "{found} {longest:?}");
}

/// Of 20 duets, at least 18 find a handicap of about 3 %.
#[test]
#[ignore = "make trust: 20 minutes"]
fn a_handicap_of_3_percent_is_found_in_two_minutes() {
    assert!(found("busy103") >= 18);
}

/// All of 20 duets find a handicap of about 10 %.
#[test]
#[ignore = "make trust: 20 minutes"]
fn a_handicap_of_10_percent_is_found_in_two_minutes() {
    assert_eq!(found("busy110"), 20);
}

/// Returns how many of 20 duets, of at most two minutes each, find that this server is slower than busy100. All
/// ratios are within 1 % of what the servers measure themselves.
fn found(slower: &str) -> usize {
    let (mut found, mut longest) = (0, Duration::ZERO);
    for seed in 0..20 {
        let (seed, start) = (format!("--seed={seed}"), Instant::now());
        let names = format!("--target=busy100,{slower}");
        let arguments = [&names, "--duet", "--duration=3s", &seed];
        let (project, finished) = busy::run(&["busy100", slower], &arguments);
        longest = longest.max(start.elapsed());
        let document = finished.json();
        let truth = busy_s(&project, slower, 10) / busy_s(&project, "busy100", 10);
        let (rate, cpu) = (claim(&document, "pairs"), claim(&document, "cpu_pairs"));
        println!("{slower} {seed}: truth {truth:.4}, by rate {rate:?}, by CPU {cpu:?}");
        let cpu = cpu.unwrap();
        assert!((cpu.ratio / truth - 1.0).abs() < 0.01, "{cpu:?} {truth}");
        found += usize::from(cpu.shown && cpu.better == "busy100");
    }
    println!("{slower}: found in {found} of 20 duets, the longest of {longest:?}");
    assert!(longest < Duration::from_secs(120), "{longest:?}");
    found
}

/// The ratio of ten duets is within 1 % of that of 200 interleaved rounds.
#[test]
#[ignore = "make trust: 20 minutes"]
fn a_duet_agrees_with_many_interleaved_rounds() {
    let names = ["busy100", "busy110"];
    let (_, duet) = busy::run(&names, &["--target=busy100,busy110", "--duet", "--duration=3s"]);
    let rounds = ["--rounds=200", "--duration=400ms", "--warmup=200ms"];
    let (_, rounds) = busy::run(&names, &rounds);
    let by = |document: &Value, pairs: &str| claim(document, pairs).unwrap();
    let (duet, rounds) = (by(&duet.json(), "cpu_pairs"), by(&rounds.json(), "pairs"));
    println!("duets: {duet:?}, 200 interleaved rounds: {rounds:?}");
    assert!((duet.ratio / rounds.ratio - 1.0).abs() < 0.01);
}

/// Returns what the gate of a run says of its second target.
fn judgement(document: &Value) -> &str {
    document["gate"]["judged"][0]["judgement"].as_str().unwrap()
}

/// Comparison of two targets by a run.
#[derive(Debug)]
struct Claim {
    better: String,
    ratio: f64,
    #[allow(dead_code, reason = "is printed")]
    interval: [f64; 2],
    shown: bool,
}

/// Returns the first of the pairs of this name; `None` without one.
fn claim(document: &Value, pairs: &str) -> Option<Claim> {
    let pair = document["comparison"][pairs].get(0)?;
    Some(Claim {
        better: pair["better"].as_str()?.to_owned(),
        ratio: pair["ratio"].as_f64()?,
        interval: [0, 1].map(|at| pair["confidence_95"][at].as_f64().unwrap()),
        shown: pair["shown"].as_bool()?,
    })
}
