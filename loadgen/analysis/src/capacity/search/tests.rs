use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const RANGE: SearchRange = SearchRange { lowest_per_s: 1.0, highest_per_s: 1e6, precision: 0.05 };

/// Runs the search to its end, and returns the rates tried.
fn run(search: &mut Search, mut judge: impl FnMut(f64) -> TrialResult) -> Vec<f64> {
    let mut tried = Vec::new();
    while let Some(rate) = search.next_per_s() {
        assert!(tried.len() < 200, "it does not end: {tried:?}");
        search.judged(judge(rate));
        tried.push(rate);
    }
    tried
}

fn up_to(truth: f64) -> impl FnMut(f64) -> TrialResult {
    move |rate| if rate <= truth { TrialResult::Passed } else { TrialResult::Failed }
}

fn rounded(rates: &[f64]) -> Vec<u64> {
    rates.iter().map(|rate| rate.round() as u64).collect()
}

#[test]
fn a_search_doubles_until_two_failures_and_then_halves_the_gap() {
    let mut search = Search::wide(100.0, RANGE);
    let tried = run(&mut search, up_to(1_000.0));
    assert_eq!(rounded(&tried), [100, 200, 400, 800, 1600, 1600, 1131, 951, 1037, 993]);
    let found = search.found(1);
    assert_eq!((found.bound, found.trials), (Bound::Found, 10));
    assert_eq!(found.capacity_per_s.unwrap().round(), 1_015.0);
}

#[test]
fn few_trials_suffice_near_a_result() {
    let mut search = Search::near(1_010.0, RANGE);
    let tried = run(&mut search, up_to(1_000.0));
    assert_eq!(rounded(&tried), [1010, 916, 962]);
    let mut far = Search::near(100.0, RANGE);
    let tried = run(&mut far, up_to(1_000.0));
    assert_eq!(rounded(&tried)[..7], [100, 110, 134, 198, 396, 792, 1584]);
}

#[test]
fn one_disturbance_on_the_way_up_costs_one_trial() {
    let mut search = Search::wide(100.0, RANGE);
    let mut number = 0;
    run(&mut search, |rate| {
        number += 1;
        if number == 2 { TrialResult::Failed } else { up_to(1_000.0)(rate) }
    });
    let found = search.found(1).capacity_per_s.unwrap();
    assert!((950.0..1_050.0).contains(&found), "{found}");
}

#[test]
fn a_search_without_failure_or_success_gives_a_bound() {
    let mut search = Search::wide(100.0, RANGE);
    run(&mut search, |_| TrialResult::Passed);
    let found = search.found(1);
    assert_eq!((found.bound, found.capacity_per_s), (Bound::AtLeast, None));
    assert_eq!(found.passed_per_s.unwrap().round(), 1e6);
    let mut search = Search::wide(100.0, RANGE);
    run(&mut search, |_| TrialResult::Failed);
    let found = search.found(1);
    assert_eq!((found.bound, found.capacity_per_s, found.passed_per_s), (Bound::Below, None, None));
    assert_eq!(found.failed_per_s.unwrap().round(), 1.0);
}

#[test]
fn a_limit_of_the_generator_gives_a_lower_bound() {
    let mut search = Search::wide(100.0, RANGE);
    run(&mut search, |rate| if rate < 1e3 { TrialResult::Passed } else { TrialResult::Limited });
    let found = search.found(1);
    assert_eq!((found.bound, found.capacity_per_s), (Bound::AtLeast, None));
    assert!((950.0..1_000.0).contains(&found.passed_per_s.unwrap()));
}

#[test]
fn no_capacity_is_known_before_the_end() {
    let mut search = Search::wide(100.0, RANGE);
    search.judged(TrialResult::Passed);
    let found = search.found(2);
    assert_eq!((found.bound, found.capacity_per_s, found.trials), (Bound::Unknown, None, 1));
    assert_eq!(found.passed_per_s.unwrap().round(), 100.0);
}

/// Simulates many runs of five rounds over a server whose capacity differs by 3 % from round to
/// round, and whose trials near the capacity pass or fail at random. About 95 % of the runs' 95 %
/// confidence intervals must contain the true capacity, although rounds begin where others ended.
#[test]
fn intervals_contain_the_true_capacity() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let runs = 2_000;
    let holds = (0..runs).filter(|_| {
        let mut rounds = Vec::new();
        for number in 1..=5 {
            let truth = 1_000.0 * (0.03 * normal(&mut random)).exp();
            let chance = random.random_range(-0.5..0.5);
            let mut search = Search::after(&rounds, 28.0, RANGE, chance);
            run(&mut search, |rate| {
                let holds = 1.0 / (1.0 + (rate / truth).powf(100.0));
                if random.random_bool(holds) { TrialResult::Passed } else { TrialResult::Failed }
            });
            rounds.push(search.found(number));
        }
        let [low, high] = Capacity::of(&rounds).confidence_95_per_s.unwrap();
        (low..high).contains(&1_000.0)
    });
    let share = holds.count() as f64 / f64::from(runs);
    assert!((0.93..0.97).contains(&share), "{share}");
}

/// Returns a sum of twelve uniform random numbers, which is about normal with a standard deviation
/// of one.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random_range(-0.5..0.5)).sum()
}

proptest! {
    #[test]
    fn any_capacity_is_bracketed_within_a_bounded_number_of_trials(
        truth in 0.0..14.0_f64, start in -1.0..15.0_f64, precision in 0.01..0.5_f64, near: bool,
    ) {
        let range = SearchRange { precision, ..RANGE };
        let (truth, start) = (truth.exp(), start.exp());
        let new = if near { Search::near } else { Search::wide };
        let mut search = new(start, range);
        let tried = run(&mut search, up_to(truth));
        // At the worst: steps of two to the truth, steps that grow to two, and one retry.
        let steps = 20.0 + 8.0 + 1.0;
        let halves = (2.0_f64.ln() / precision.ln_1p()).log2().ceil() + 1.0;
        prop_assert!(tried.len() as f64 <= steps + halves, "{tried:?}");
        prop_assert!(tried.iter().all(|rate| (0.999..1.001e6).contains(rate)), "{tried:?}");
        let found = search.found(1);
        match found.bound {
            Bound::Found => {
                let (held, failed) = (found.passed_per_s.unwrap(), found.failed_per_s.unwrap());
                prop_assert!(held <= truth && truth < failed, "{held} {truth} {failed}");
                prop_assert!(failed / held <= 1.0 + precision + 1e-6);
                let middle = found.capacity_per_s.unwrap();
                prop_assert!(held <= middle && middle <= failed);
            }
            Bound::AtLeast => prop_assert!(truth >= 0.999e6),
            Bound::Below => prop_assert!(truth <= 1.001),
            Bound::Unknown => prop_assert!(false, "it is over"),
        }
    }

    #[test]
    fn a_search_with_noisy_trials_ends_between_success_and_failure(
        seed: u64, near: bool, noise in 0.0..1.0_f64,
    ) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let new = if near { Search::near } else { Search::wide };
        let mut search = new(500.0, RANGE);
        run(&mut search, |rate| match random.random_bool(noise) {
            true if random.random_bool(0.3) => TrialResult::Limited,
            true if random.random_bool(0.5) => TrialResult::Passed,
            true => TrialResult::Failed,
            false => up_to(1_000.0)(rate),
        });
        let found = search.found(1);
        prop_assert!(found.bound != Bound::Unknown);
        if let (Some(held), Some(failed)) = (found.passed_per_s, found.failed_per_s) {
            prop_assert!(held < failed && failed / held <= 1.05 + 1e-6);
        }
    }
}
