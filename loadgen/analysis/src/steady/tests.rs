use super::*;
use crate::record::SliceRecord;
use loadgen_measure::{ResourceRecord, ResourceSamples, SecondRecord};

/// Returns a round with a ramp-up of 2 s and a hold of as many seconds as there are rates.
fn round(rates: &[u64]) -> RoundRecord {
    let second = |(second, answered): (u32, &u64)| SecondRecord {
        second,
        answered: *answered,
        ..SecondRecord::default()
    };
    RoundRecord {
        held_s: rates.len() as f64,
        whole: true,
        seconds: (0..).zip(&[&[1, 50][..], rates].concat()).map(second).collect(),
        ..RoundRecord::default()
    }
}

const RATE: &[Figure] = &[Figure::Rate];

/// Numbers rounds without a number by their place.
fn numbered(rounds: &[RoundRecord]) -> Vec<RoundRecord> {
    let number = |(number, round): (u32, &RoundRecord)| RoundRecord {
        round: if round.round == 0 { number } else { round.round },
        ..round.clone()
    };
    (1..).zip(rounds).map(number).collect()
}

fn of(rounds: &[RoundRecord]) -> Option<Unsteady> {
    Unsteady::of(&numbered(rounds), 2.0, RATE)
}

#[test]
fn a_slow_beginning_of_all_rounds_is_a_warm_up() {
    let rounds: Vec<RoundRecord> =
        [50, 52, 49, 51, 50].map(|first| round(&[first, 80, 101, 99, 100, 102, 98, 100])).into();
    let unsteady = of(&rounds).unwrap();
    let Change::OverRounds { seconds, percent, confidence_95_percent: [low, high] } =
        unsteady.change
    else {
        panic!("{unsteady:?}")
    };
    assert!(low < percent && percent < high && high < 0.0, "{low} {percent} {high}");
    assert!(seconds <= 2, "{seconds}");
    assert_eq!(unsteady.settles_after_s, Some(2), "the second is slow, too");
    assert_eq!(of(&rounds[1..]), None, "four short rounds");
}

/// A beginning whose parts cancel out is told by the part that differs most certainly.
#[test]
fn a_beginning_that_falls_and_rises_has_a_difference() {
    let rounds: Vec<RoundRecord> = [900, 905, 895, 902, 898]
        .map(|first| round(&[first, 2_000 - first, 1_001, 999, 1_000, 1_002, 998, 1_000]))
        .into();
    let unsteady = of(&rounds).unwrap();
    let Change::OverRounds { seconds: 1, percent, .. } = unsteady.change else {
        panic!("{unsteady:?}")
    };
    assert!((-11.5..-11.0).contains(&percent), "{percent}");
    assert!(unsteady.settles_after_s >= Some(2), "{unsteady:?}");
}

#[test]
fn the_slices_of_a_start_count_once() {
    let slow = [50, 52, 49, 51, 50, 52, 49, 51, 50, 52]
        .map(|first| round(&[first, 80, 101, 99, 100, 102, 98, 100]));
    let sliced = |of: u32| -> Vec<RoundRecord> {
        let slice = |(index, round): (u32, &RoundRecord)| {
            let place = SliceRecord { start: index / of + 1, number: index % of + 1, of };
            RoundRecord { round: index + 1, slice: Some(place), ..round.clone() }
        };
        (0..).zip(&slow).map(slice).collect()
    };
    assert!(of(&sliced(2)).is_some(), "five starts of two slices");
    assert_eq!(of(&sliced(5)), None, "ten slices, but two starts");
}

#[test]
fn a_change_of_two_percent_is_none() {
    let rounds = |late: u64| -> Vec<RoundRecord> {
        [0, 1, 2, 1, 0].map(|n| round(&[9_000 + n, 9_000, late, late + n, late])).into()
    };
    assert_eq!(of(&rounds(9_150)), None);
    assert!(of(&rounds(9_300)).is_some());
}

#[test]
fn a_rate_that_rises_and_falls_is_no_trend() {
    let rounds: Vec<RoundRecord> =
        [110, 91, 100, 108, 94].map(|late| round(&[100, 100, late, late])).into();
    assert_eq!(of(&rounds), None);
}

#[test]
fn short_rounds_and_ramps_are_not_judged() {
    let short: Vec<RoundRecord> = vec![round(&[100, 150, 200]); 5];
    assert_eq!(of(&short), None);
    let level: Vec<RoundRecord> = vec![round(&[100; 6]); 5];
    assert_eq!(of(&level), None);
    assert!(
        Unsteady::of(&numbered(&level), 0.5, RATE).is_some(),
        "where the ramp was taken for the hold"
    );
    assert_eq!(of(&vec![round(&[0, 0, 100, 100]); 5]), None, "no responses");
}

/// Returns the rates of a round of which `levels` give the lengths in s and the means, with noise of
/// some percent.
fn levels_of(levels: &[(usize, f64)], turn: usize) -> Vec<u64> {
    let noise = [0.01, -0.02, 0.015, 0.0, -0.01, 0.02, -0.015, 0.005, -0.005, 0.01, -0.01];
    let means = levels.iter().flat_map(|(length, mean)| std::iter::repeat_n(*mean, *length));
    let noisy = means.enumerate().map(|(i, mean)| mean * (1.0 + noise[(i * 3 + turn) % 11]));
    noisy.map(|rate| rate.round() as u64).collect()
}

#[test]
fn levels_within_a_round_are_found() {
    let one = round(&levels_of(&[(5, 800.0), (25, 1_000.0)], 0));
    let unsteady = of(std::slice::from_ref(&one)).unwrap();
    let Change::WithinRounds { rounds, of: all, worst } = unsteady.change else {
        panic!("{unsteady:?}")
    };
    assert_eq!((rounds, all, worst.second), (1, 1, 5));
    assert!((worst.before - 800.0).abs() < 15.0 && (worst.after - 1_000.0).abs() < 10.0);
    assert_eq!(unsteady.settles_after_s, Some(5));
    let late = round(&levels_of(&[(5, 800.0), (17, 1_000.0), (8, 700.0)], 1));
    assert_eq!(of(std::slice::from_ref(&late)).unwrap().settles_after_s, None);
    let steady = round(&levels_of(&[(30, 1_000.0)], 2));
    assert_eq!(of(std::slice::from_ref(&steady)), None);
    assert_eq!(of(&[one.clone(), steady.clone()]), None, "one round of two");
    let Some(Unsteady { change: Change::WithinRounds { rounds, worst, .. }, .. }) =
        of(&[one, steady, RoundRecord { round: 7, ..late }])
    else {
        panic!("two rounds of three")
    };
    assert_eq!((rounds, worst.round, worst.second), (2, 7, 22));
}

#[test]
fn the_cpu_time_of_a_request_is_compared_apart_from_the_rate() {
    let mut one = round(&levels_of(&[(20, 1_000.0)], 0));
    let percent = |second: usize| if second < 6 { 40.0 } else { 30.0 };
    let answered = levels_of(&[(20, 1_000.0)], 0);
    let samples = ResourceSamples {
        at_s: (1..=20).map(f64::from).collect(),
        cpu_percent: (0..20).map(|i| percent(i) * answered[i] as f64 / 1e3).collect(),
        memory_bytes: vec![0; 20],
    };
    let used = ResourceRecord { samples, ..ResourceRecord::default() };
    one.resources.insert("target".to_owned(), used);
    let both = &[Figure::Rate, Figure::CpuPerRequest];
    let unsteady = Unsteady::of(std::slice::from_ref(&one), 2.0, both).unwrap();
    assert_eq!((unsteady.figure, unsteady.settles_after_s), (Figure::CpuPerRequest, Some(6)));
    let Change::WithinRounds { worst, .. } = unsteady.change else { panic!("{unsteady:?}") };
    assert!((worst.before - 400.0).abs() < 1.0 && (worst.after - 300.0).abs() < 1.0, "{worst:?}");
    assert_eq!(of(&[one]), None, "the rate");
}
