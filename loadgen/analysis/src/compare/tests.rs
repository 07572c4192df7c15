use super::*;

fn compared(rates: &[(&str, &[f64])]) -> Comparison {
    compared_by(Test::Paired, rates)
}

fn compared_by(test: Test, rates: &[(&str, &[f64])]) -> Comparison {
    let rates: Vec<_> = rates
        .iter()
        .map(|(name, rates)| ((*name).to_owned(), (1..).zip(rates.iter().copied()).collect()))
        .collect();
    compare_by(test, &rates)
}

/// Returns the rates of five rounds: `rate` with relative noise of about `noise`, without a trend.
/// Different values of `turn` give different noise.
fn noisy(rate: f64, noise: f64, turn: usize) -> [f64; 5] {
    let waves = [0.3, -1.2, 0.9, 0.6, -0.6];
    std::array::from_fn(|round| rate * (noise * waves[(round * (turn + 1) + turn) % 5]).exp())
}

#[test]
fn targets_rank_best_first_with_students_interval() {
    let ranking =
        compared(&[("slow", &[50.0, 50.0]), ("fast", &[100.0 / 1.02, 100.0, 102.0])]).ranking;
    assert_eq!(ranking[0].target, "fast");
    assert!((ranking[0].rate_per_s - 100.0).abs() < 1e-9);
    // s = ln 1.02, n = 3: exp(4.303 × 0.019803 / √3) = 1.0504
    let [low, high] = ranking[0].confidence_95_per_s.unwrap();
    assert!((low - 95.20).abs() < 0.01 && (high - 105.04).abs() < 0.01, "{low} {high}");
    assert!((ranking[1].relative_to_best - 0.5).abs() < 1e-9);
}

#[test]
fn a_difference_is_paired_by_round() {
    // The machine halves its speed, and one target is 4 to 6 % better nevertheless.
    let better = [1_050.0, 832.0, 636.0, 520.0, 525.0];
    let worse = [1_000.0, 800.0, 600.0, 500.0, 500.0];
    let comparison = compared(&[("worse", &worse), ("better", &better)]);
    let [low, high] = comparison.ranking[0].confidence_95_per_s.unwrap();
    assert!(low < 600.0 && high > 800.0);
    let pair = &comparison.pairs[0];
    assert_eq!((pair.better.as_str(), pair.worse.as_str()), ("better", "worse"));
    assert!(pair.shown && pair.p_value == pair.p_holm);
    let ([low, high], ratio) = (pair.confidence_95.unwrap(), pair.ratio.unwrap());
    assert!(1.03 < low && low < ratio && ratio < high && high < 1.07, "{low} {ratio} {high}");
    let [best, second] = [0, 1].map(|place| comparison.ranking[place].rate_per_s);
    assert!((best / second - ratio).abs() < 1e-9, "ranks and ratios are of one scale");
}

#[test]
fn rounds_of_different_runs_are_not_paired() {
    // The figures of both go up and down together by the rounds' numbers.
    let better = [104.0, 105.0, 103.5, 104.5, 103.0];
    let worse = [100.0, 101.0, 99.5, 100.5, 99.0];
    let mut reversed = worse;
    reversed.reverse();
    let of = |test, worse: &[f64]| {
        let comparison = compared_by(test, &[("a", &better), ("b", worse)]);
        assert_eq!(comparison.test, test);
        comparison.pairs[0].clone()
    };
    let close =
        |one: Option<f64>, other: Option<f64>| (one.unwrap() / other.unwrap() - 1.0).abs() < 1e-9;
    let (there, back) = (of(Test::Welch, &worse), of(Test::Welch, &reversed));
    assert!(close(there.p_value, back.p_value) && close(there.ratio, back.ratio));
    let (there, back) = (of(Test::Paired, &worse), of(Test::Paired, &reversed));
    assert!(there.p_value < back.p_value && close(there.ratio, back.ratio));
}

#[test]
fn runs_with_different_numbers_of_rounds_use_all_rounds() {
    let (five, ten) = (noisy(104.0, 0.02, 0), [noisy(100.0, 0.02, 1), noisy(100.0, 0.02, 2)]);
    let pair = |b: &[f64]| compared_by(Test::Welch, &[("a", &five), ("b", b)]).pairs[0].clone();
    let (of_five, of_ten) = (pair(&ten[0]), pair(ten.as_flattened()));
    assert_eq!((of_five.rounds, of_ten.rounds), (5, 5));
    let width = |pair: &Pair| pair.confidence_95.map(|[low, high]| high / low).unwrap();
    assert!(width(&of_ten) < width(&of_five), "{of_ten:?} {of_five:?}");
    let short = pair(&ten[0][..4]);
    assert_eq!((short.rounds, short.freedom, short.p_value), (4, None, None));
    let none = pair(&[]);
    assert_eq!((none.rounds, none.ratio), (0, None));
}

#[test]
fn fewer_than_five_common_rounds_claim_nothing() {
    let comparison =
        compared(&[("a", &[200.0, 201.0, 199.0, 200.0]), ("b", &noisy(100.0, 0.01, 0))]);
    let pair = &comparison.pairs[0];
    assert_eq!((pair.rounds, pair.shown), (4, false));
    assert!(pair.ratio.unwrap() > 1.9);
    let none = (pair.confidence_95, pair.p_value, pair.p_holm, pair.more_rounds_for_5_percent);
    assert_eq!(none, (None, None, None, None));
}

#[test]
fn all_pairs_are_compared_and_corrected_for() {
    let (a, b, c) = (noisy(104.0, 0.02, 0), noisy(100.0, 0.02, 1), noisy(100.0, 0.02, 2));
    let two = compared(&[("a", &a), ("b", &b)]);
    let three = compared(&[("a", &a), ("b", &b), ("c", &c)]);
    assert_eq!(three.pairs.len(), 3);
    let alone = two.pair("a", "b").unwrap();
    let among = three.pair("b", "a").unwrap();
    assert_eq!(alone.p_value, among.p_value);
    assert!(among.p_holm > alone.p_holm);
    assert!(among.more_rounds_for_5_percent > alone.more_rounds_for_5_percent);
    for pair in &three.pairs {
        let [low, _] = pair.confidence_95.unwrap();
        assert!(!pair.shown || low > 1.0, "what is shown is in its interval, too");
    }
}

#[test]
fn a_pair_with_too_few_rounds_does_not_weaken_the_others() {
    let (a, b) = (noisy(104.0, 0.02, 0), noisy(100.0, 0.02, 1));
    let two = compared(&[("a", &a), ("b", &b)]);
    let three = compared(&[("a", &a), ("b", &b), ("c", &[90.0])]);
    assert_eq!(two.pair("a", "b"), three.pair("a", "b"));
}

#[test]
fn a_target_with_an_unanswered_round_is_not_compared() {
    let comparison =
        compared(&[("a", &[50.0, 0.0, 50.0, 50.0, 50.0]), ("b", &noisy(30.0, 0.01, 0))]);
    assert_eq!(comparison.ranking[0].rate_per_s, 40.0);
    assert_eq!(comparison.ranking[0].confidence_95_per_s, None);
    let pair = &comparison.pairs[0];
    assert_eq!((pair.rounds, pair.ratio, pair.shown), (5, None, false));
}

#[test]
fn one_round_has_no_interval_and_zero_rates_are_safe() {
    let comparison = compared(&[("a", &[0.0]), ("b", &[])]);
    assert_eq!((comparison.ranking.len(), &*comparison.unranked), (1, &["b".to_owned()][..]));
    assert_eq!(comparison.lack(["a", "b"]), Some(("b", Lack::NoWholeRound)));
    assert_eq!(comparison.ranking[0].confidence_95_per_s, None);
    assert_eq!(comparison.ranking[0].relative_to_best, 0.0);
    assert_eq!(comparison.pairs[0].ratio, None);
}

#[test]
fn targets_at_one_rate_rank_by_speed_if_they_carried_it() {
    let named = |name: &str, rounds: &[f64]| {
        (name.to_owned(), (1..).zip(rounds.iter().copied()).collect::<BTreeMap<u32, f64>>())
    };
    let rates =
        [named("slow", &[500.0; 5]), named("fast", &[499.0; 5]), named("lost", &[499.5; 5])];
    let carried = |name, speeds| {
        let (name, speeds) = named(name, speeds);
        (name, Ok(speeds))
    };
    let speeds = [
        carried("slow", &noisy(400.0, 0.02, 0)),
        carried("fast", &noisy(800.0, 0.02, 1)),
        ("lost".to_owned(), Err(Lack::RateNotCarried)),
    ];
    let comparison = compare(&rates).by_speed(&speeds);
    assert_eq!(comparison.lack(["fast", "lost"]), Some(("lost", Lack::RateNotCarried)));
    assert_eq!(comparison.lack(["fast", "slow"]), None);
    let order: Vec<&str> = comparison.ranking.iter().map(|p| p.target.as_str()).collect();
    assert_eq!(order, ["fast", "slow", "lost"]);
    let pair = comparison.pair("slow", "fast").unwrap();
    assert!(pair.shown && pair.better == "fast" && (pair.ratio.unwrap() - 2.0).abs() < 0.1);
    let lost = comparison.pair("slow", "lost").unwrap();
    assert_eq!((lost.rounds, lost.ratio, lost.worse.as_str()), (0, None, "lost"));
}

#[test]
fn cpu_costs_are_compared_and_count_among_the_comparisons() {
    let named = |name: &str, rounds: &[f64]| {
        (name.to_owned(), (1..).zip(rounds.iter().copied()).collect::<BTreeMap<u32, f64>>())
    };
    let rates = [named("a", &noisy(103.0, 0.02, 0)), named("b", &noisy(100.0, 0.02, 1))];
    let thrift = [named("a", &noisy(2_000.0, 0.02, 1)), named("b", &noisy(3_000.0, 0.02, 0))];
    let (alone, both) = (compare(&rates), compare(&rates).with_cpu(&thrift));
    let cpu = both.cpu_pair("a", "b").unwrap();
    assert_eq!((cpu.better.as_str(), cpu.shown), ("b", true));
    assert!((cpu.ratio.unwrap() - 1.5).abs() < 0.1);
    let (one, of_two) = (alone.pair("a", "b").unwrap(), both.pair("a", "b").unwrap());
    assert_eq!((one.p_value, of_two.p_value), (of_two.p_value, one.p_holm));
    assert!(of_two.more_rounds_for_5_percent > one.more_rounds_for_5_percent);
    let unknown = compare(&rates).with_cpu(&[named("a", &[]), named("b", &[])]);
    assert_eq!(unknown.cpu_pairs, [], "no figures, nothing to compare");
}

#[test]
fn the_noise_floor_is_half_the_width_of_the_interval() {
    let same = [noisy(100.0, 0.02, 0), noisy(100.0, 0.02, 1)];
    let compared = compared(&[("a", &same[0]), ("a (again)", &same[1])]);
    assert_eq!(compared.noise_floor_percent, None);
    let pair = compared.pairs[0].clone();
    let [_, high] = pair.confidence_95.unwrap();
    let floor = compared.of_one_server().noise_floor_percent.unwrap();
    assert!((floor - (high / pair.ratio.unwrap() - 1.0) * 100.0).abs() < 1e-9, "{floor}");
}
