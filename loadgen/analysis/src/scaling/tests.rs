//! Tests of the fit against `SciPy`, and of properties that must always hold.

use proptest::prelude::*;

use super::law::{factors, relative};
use super::*;
use crate::record::{Estimate, Law};

/// Rates of four rounds at the sizes 1, 2, 4, 8 and 16.
const RATES: [[f64; 5]; 4] = [
    [1003.0, 1871.0, 3308.0, 4894.0, 5632.0],
    [948.0, 1766.0, 2985.0, 4701.0, 5161.0],
    [1041.0, 1902.0, 3121.0, 4822.0, 5725.0],
    [985.0, 1813.0, 3233.0, 4590.0, 5480.0],
];

fn observations(rates: &[[f64; 5]]) -> Vec<Observation> {
    let of_round = |(round, rates): (u32, &[f64; 5])| {
        let sizes = [1, 2, 4, 8, 16].into_iter().zip(*rates);
        sizes.map(move |(size, rate)| Observation { size, round, rate }).collect::<Vec<_>>()
    };
    (1..).zip(rates).flat_map(of_round).collect()
}

/// Returns observations without noise, except for a factor of each round.
fn exact(shape: [f64; 2], sizes: &[u32], factors: &[f64]) -> Vec<Observation> {
    let of_round = |(round, factor): (u32, &f64)| {
        let rate = |size| *factor * relative(shape, size);
        sizes
            .iter()
            .map(|size| Observation { size: *size, round, rate: rate(*size) })
            .collect::<Vec<_>>()
    };
    (1..).zip(factors).flat_map(of_round).collect()
}

#[track_caller]
fn assert_close(measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() < 1e-6, "{measured} is not {expected}");
}

#[track_caller]
fn assert_estimate(estimate: Estimate, [value, low, high]: [f64; 3]) {
    assert_close(estimate.value, value);
    assert_close(estimate.low.unwrap(), low);
    assert_close(estimate.high.unwrap(), high);
}

// SciPy 1.17.1: scipy.optimize.least_squares on the logarithms less their mean in each round;
// numpy.linalg.lstsq for the step of each round; stats.t.ppf(0.975, 3) for the intervals;
// optimize.brentq on |mean(c)| - t * sem(c) with c = 1 - s - k * n**2 for the peak's; stats.f.sf.
#[test]
fn both_fits_equal_those_of_scipy() {
    let scaling = fit(&observations(&RATES)).unwrap();
    let amdahl = scaling.amdahl;
    assert_estimate(amdahl.rate_of_one, [1_034.291_913_768, 983.405_418_631, 1_087.811_547_068]);
    assert_estimate(amdahl.serial, [0.122_084_184_195, 0.119_163_391_587, 0.125_004_979_474]);
    assert_close(amdahl.residual_percent, 5.774_897_274_300);
    assert_close(amdahl.lack_of_fit.unwrap(), 1.102_359_090_9e-5);
    let usl = scaling.usl.unwrap();
    assert_estimate(usl.rate_of_one, [990.042_685_148, 928.005_570_394, 1_056.226_976_085]);
    assert_estimate(usl.contention, [0.068_031_430_499, 0.043_565_430_149, 0.092_497_429_578]);
    assert_estimate(usl.crosstalk, [0.003_574_054_283, 0.002_072_165_373, 0.005_075_943_279]);
    assert_estimate(
        usl.peak.unwrap(),
        [16.148_049_086_736, 13.726_021_098_324, 20.928_413_916_236],
    );
    assert_close(usl.residual_percent, 3.352_119_553_640);
    assert_close(usl.lack_of_fit.unwrap(), 0.753_582_013_431);
    assert_estimate(
        scaling.speedups[3].fold,
        [5.530_177_629_508, 5.412_773_909_527, 5.650_127_850_359],
    );
    assert_eq!(scaling.better, Law::Usl);
    assert_close(scaling.predict(1), 990.042_685_148);
}

#[test]
fn a_single_round_has_no_interval_and_prefers_the_simpler_law() {
    let scaling = fit(&observations(&RATES[..1])).unwrap();
    let usl = scaling.usl.unwrap();
    for estimate in [scaling.amdahl.serial, usl.crosstalk, usl.peak.unwrap()] {
        assert_eq!((estimate.low, estimate.high), (None, None));
    }
    assert_eq!((scaling.better, usl.lack_of_fit), (Law::Amdahl, None));
}

#[test]
fn a_coefficient_at_its_bound_has_a_one_sided_interval() {
    // Throughput grows more than in proportion to the size.
    let rates = RATES.map(|[one, ..]| [1.0, 2.1, 4.3, 8.9, 18.0].map(|fold| one * fold));
    let scaling = fit(&observations(&rates)).unwrap();
    let usl = scaling.usl.unwrap();
    for estimate in [scaling.amdahl.serial, usl.contention, usl.crosstalk] {
        assert_eq!((estimate.value, estimate.low), (0.0, Some(0.0)));
        assert!(estimate.high >= Some(0.0));
    }
    assert_eq!((usl.peak, scaling.better), (None, Law::Amdahl));
    assert_eq!(usl.lack_of_fit, Some(0.0));
}

#[test]
fn three_sizes_have_no_usl() {
    let three = |o: &Observation| o.size < 8;
    let all = observations(&RATES);
    let scaling = fit(&all.iter().copied().filter(three).collect::<Vec<_>>()).unwrap();
    assert_eq!((scaling.usl, scaling.better), (None, Law::Amdahl));
}

#[test]
fn unfit_observations_are_refused_with_a_reason() {
    let all = observations(&RATES);
    let with = |size, rate| [&all[..], &[Observation { size, round: 2, rate }]].concat();
    let refused = |observations: &[Observation]| fit(observations).unwrap_err().to_string();
    assert_eq!(refused(&with(0, 1.0)), "round 2 has a rate at size 0: sizes start at 1");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            refused(&with(4, rate)),
            format!("size 4 has a rate of {rate} in round 2: the fit needs finite rates above 0")
        );
    }
    let two: Vec<_> = all.iter().copied().filter(|o| o.size < 4).collect();
    assert_eq!(refused(&two), "rates at 2 distinct sizes fit any scaling law: measure at least 3");
    let alone = |o: &Observation| Observation { round: o.size, ..*o };
    for observations in [&[][..], &all.iter().map(alone).collect::<Vec<_>>()] {
        assert_eq!(
            refused(observations),
            "no round has rates at two sizes: measure every size in every round"
        );
    }
}

#[test]
fn results_survive_serialization() {
    let scaling = fit(&observations(&RATES)).unwrap();
    let json = serde_json::to_string(&scaling).unwrap();
    let again: Scaling = serde_json::from_str(&json).unwrap();
    assert_eq!(again.usl.unwrap().crosstalk.low.is_some(), scaling.usl.is_some());
    assert!(json.contains(r#""better":"usl""#), "{json}");
}

/// Sizes that determine a curve: one and several larger ones.
fn sizes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::btree_set(2_u32..64, 3..8)
        .prop_map(|others| [1].into_iter().chain(others).collect())
}

fn noisy() -> impl Strategy<Value = Vec<Observation>> {
    let rates = prop::collection::vec(prop::array::uniform5(100.0..1000.0), 1..6);
    rates.prop_map(|rates| observations(&rates))
}

fn wild() -> impl Strategy<Value = Vec<Observation>> {
    let size = prop_oneof![1_u32..9, any::<u32>()];
    let rate = prop_oneof![4 => prop::num::f64::POSITIVE, 4 => 1.0..1e4, 1 => any::<f64>()];
    let observation = (size, 1_u32..4, rate);
    prop::collection::vec(observation, 0..30).prop_map(|all| {
        all.into_iter().map(|(size, round, rate)| Observation { size, round, rate }).collect()
    })
}

fn estimates(scaling: &Scaling) -> Vec<Estimate> {
    let mut all = vec![scaling.amdahl.rate_of_one, scaling.amdahl.serial];
    all.extend(scaling.usl.iter().flat_map(|u| [u.rate_of_one, u.contention, u.crosstalk]));
    all.extend(scaling.usl.and_then(|usl| usl.peak));
    all.extend(scaling.speedups.iter().map(|speedup| speedup.fold));
    all
}

proptest! {
    #[test]
    fn exact_rates_recover_the_coefficients(
        contention in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        crosstalk in prop_oneof![Just(0.0), 1e-5..1.0],
        sizes in sizes(),
        rounds in prop::collection::vec(1.0..1e5, 2..5),
    ) {
        let scaling = fit(&exact([contention, crosstalk], &sizes, &rounds)).unwrap();
        let usl = scaling.usl.unwrap();
        let effect = factors(*sizes.last().unwrap())[1];
        prop_assert!((usl.contention.value - contention).abs() < 1e-6, "{usl:?}");
        prop_assert!((usl.crosstalk.value - crosstalk).abs() < 1e-6 * (crosstalk + 1.0 / effect));
        let amdahl = fit(&exact([contention, 0.0], &sizes, &rounds)).unwrap().amdahl;
        prop_assert!((amdahl.serial.value - contention).abs() < 1e-6, "{amdahl:?}");
        let mean = super::rounds::average(rounds.iter().map(|rate| rate.ln())).exp();
        prop_assert!((amdahl.rate_of_one.value / mean - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_unit_of_rates_scales_only_the_rate_of_one(all in noisy(), unit in 1e-3..1e3) {
        let scaled: Vec<_> =
            all.iter().map(|o| Observation { rate: o.rate * unit, ..*o }).collect();
        let (one, other) = (fit(&all).unwrap(), fit(&scaled).unwrap());
        let ratio = |one: f64, other: f64| other / unit / one;
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
        let rates = [one.amdahl.rate_of_one.value, other.amdahl.rate_of_one.value];
        prop_assert!(close(ratio(rates[0], rates[1]), 1.0));
        prop_assert!(close(one.amdahl.serial.value, other.amdahl.serial.value));
        prop_assert!(close(ratio(one.predict(16), other.predict(16)), 1.0));
        if let (Some(one), Some(other)) = (one.usl, other.usl) {
            prop_assert!(close(one.contention.value, other.contention.value));
            prop_assert!(close(one.crosstalk.value, other.crosstalk.value));
        }
    }

    #[test]
    fn the_order_of_observations_changes_nothing(
        (all, shuffled) in wild().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        if let (Ok(one), Ok(other)) = (fit(&all), fit(&shuffled)) {
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(fit(&all).is_ok(), fit(&shuffled).is_ok());
    }

    #[test]
    fn any_result_is_finite_and_has_its_value_within_the_interval(all in wild()) {
        if let Ok(scaling) = fit(&all) {
            for each in estimates(&scaling) {
                prop_assert!(each.is_finite(), "{scaling:?}");
                prop_assert!(each.low.is_none_or(|low| low <= each.value), "{scaling:?}");
                prop_assert!(each.high.is_none_or(|high| each.value <= high), "{scaling:?}");
            }
            let unit = Unit { one: "replica", many: "replicas" };
            prop_assert!(!sentence(&scaling, unit).contains("NaN"));
            prop_assert!([0, 1, u32::MAX].iter().all(|size| scaling.predict(*size) >= 0.0));
        }
    }
}
