//! Simulates how often the confidence intervals contain the truth, and how often crosstalk is
//! claimed that does not exist. Only in a simulation is the truth known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::law::relative;
use super::*;
use crate::record::{Estimate, Law};
use crate::statistics::LEVEL;

/// A simulated target on a noisy machine.
#[derive(Debug, Clone, Copy)]
struct Truth {
    contention: f64,
    crosstalk: f64,
    sizes: &'static [u32],
    rounds: u32,
    /// Standard deviation of the lognormal noise of each rate.
    own: f64,
    /// Like `own`, of the noise that the rates of a round have in common.
    common: f64,
    /// Factor of `own` at the largest size. The noise of the smallest size has a factor of 1.
    growth: f64,
    /// Standard deviation of the change in the machine's speed from one size to the next.
    drift: f64,
    /// Share of rates (0 to 1) that are missing.
    missing: f64,
}

const RATE_OF_ONE: f64 = 1000.0;

const TYPICAL: Truth = Truth {
    contention: 0.08,
    crosstalk: 0.005,
    sizes: &[1, 2, 4, 8],
    rounds: 5,
    own: 0.05,
    common: 0.03,
    growth: 1.0,
    drift: 0.0,
    missing: 0.0,
};

/// Share of simulated sets in which each interval contains the truth, and other shares.
#[derive(Debug, Default, Clone, Copy)]
struct Shares {
    amdahl_rate: f64,
    serial: f64,
    rate: f64,
    contention: f64,
    crosstalk: f64,
    peak: f64,
    /// Sets whose preferred law is the USL.
    usl: f64,
    /// Sets whose rates contradict the USL.
    lack_of_fit: f64,
    /// Sets whose peak has an upper bound.
    bounded: f64,
}

impl Truth {
    fn observations(&self, random: &mut ChaCha8Rng) -> Vec<Observation> {
        let mut observations = Vec::new();
        for round in 1..=self.rounds {
            let mut speed = self.common * normal(random);
            for (i, &size) in (0_u32..).zip(self.sizes) {
                speed += self.drift * normal(random);
                let noise = self.own * (1.0 + (self.growth - 1.0) * self.place(i)) * normal(random);
                let expected = RATE_OF_ONE * relative([self.contention, self.crosstalk], size);
                if random.random::<f64>() >= self.missing {
                    let rate = expected * (speed + noise).exp();
                    observations.push(Observation { size, round, rate });
                }
            }
        }
        observations
    }

    /// Returns the place of a size among the sizes, 0 to 1.
    fn place(&self, i: u32) -> f64 {
        f64::from(i) / f64::from(u32::try_from(self.sizes.len() - 1).unwrap())
    }

    fn shares(&self, seed: u64, sets: u32) -> Shares {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut shares = Shares::default();
        let peak = ((1.0 - self.contention) / self.crosstalk).sqrt().max(1.0);
        for _ in 0..sets {
            // A set with many missing rates can lack a size in all rounds.
            let (scaling, usl) = std::iter::repeat_with(|| self.observations(&mut random))
                .filter_map(|observations| fit(&observations).ok())
                .find_map(|scaling| Some((scaling.clone(), scaling.usl?)))
                .unwrap();
            let mut count = |share: fn(&mut Shares) -> &mut f64, yes: bool| {
                *share(&mut shares) += if yes { 1.0 / f64::from(sets) } else { 0.0 };
            };
            count(|s| &mut s.amdahl_rate, contains(scaling.amdahl.rate_of_one, RATE_OF_ONE));
            count(|s| &mut s.serial, contains(scaling.amdahl.serial, self.contention));
            count(|s| &mut s.rate, contains(usl.rate_of_one, RATE_OF_ONE));
            count(|s| &mut s.contention, contains(usl.contention, self.contention));
            count(|s| &mut s.crosstalk, contains(usl.crosstalk, self.crosstalk));
            count(|s| &mut s.peak, usl.peak.is_none_or(|it| contains(it, peak)));
            count(|s| &mut s.usl, scaling.better == Law::Usl);
            count(|s| &mut s.lack_of_fit, usl.lack_of_fit.is_some_and(|p| p < LEVEL));
            count(|s| &mut s.bounded, usl.peak.is_some_and(|peak| peak.high.is_some()));
        }
        shares
    }
}

/// Returns a standard normal random number (Box and Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (1.0 - random.random::<f64>(), random.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Returns whether the interval contains a value, except for rounding errors.
fn contains(estimate: Estimate, value: f64) -> bool {
    estimate.low.unwrap() <= value + 1e-12 && estimate.high.is_none_or(|high| value - 1e-12 <= high)
}

const AMDAHL: Truth = Truth { contention: 0.2, crosstalk: 0.0, ..TYPICAL };
const DRIFTING: Truth = Truth { own: 0.02, drift: 0.05, ..TYPICAL };
const MANY_SIZES: Truth = Truth { sizes: &[1, 2, 3, 4, 6, 8, 12, 16], ..TYPICAL };

#[track_caller]
fn assert_covered(shares: &[f64]) {
    assert!(shares.iter().all(|share| *share >= 0.925), "{shares:?}");
}

#[test]
fn intervals_of_the_usl_contain_the_truth() {
    for truth in [
        TYPICAL,
        DRIFTING,
        MANY_SIZES,
        Truth { rounds: 3, ..TYPICAL },
        Truth { growth: 4.0, ..TYPICAL },
        Truth { missing: 0.1, ..TYPICAL },
        Truth { contention: 0.0, crosstalk: 0.0, ..TYPICAL },
    ] {
        let shares = truth.shares(1, 1_000);
        assert_covered(&[shares.rate, shares.contention, shares.crosstalk, shares.peak]);
    }
}

#[test]
fn intervals_of_amdahls_law_contain_the_truth_without_crosstalk() {
    for truth in [AMDAHL, Truth { crosstalk: 0.0, ..DRIFTING }, Truth { contention: 1.0, ..AMDAHL }]
    {
        let shares = truth.shares(1, 1_000);
        assert_covered(&[shares.amdahl_rate, shares.serial]);
    }
}

#[test]
fn few_sets_claim_crosstalk_that_does_not_exist() {
    for contention in [0.0, 0.2, 1.0] {
        let shares = Truth { contention, ..AMDAHL }.shares(1, 1_000);
        assert!(shares.usl <= 0.04, "{shares:?}");
        assert!(shares.bounded <= shares.usl, "{shares:?}");
    }
}

#[test]
fn few_sets_that_follow_the_law_contradict_it() {
    for truth in [TYPICAL, AMDAHL, MANY_SIZES] {
        let shares = truth.shares(1, 1_000);
        assert!((0.03..=0.07).contains(&shares.lack_of_fit), "{shares:?}");
    }
}

/// Prints the shares of many kinds of noise, with the command:
///
/// `cargo test --lib -- --ignored --nocapture scaling::simulations`
#[test]
#[ignore = "prints a table"]
#[expect(clippy::print_stdout, reason = "the table is for the documentation")]
fn prints_the_table_of_shares() {
    for (name, truth) in [
        ("typical", TYPICAL),
        ("2 rounds", Truth { rounds: 2, ..TYPICAL }),
        ("3 rounds", Truth { rounds: 3, ..TYPICAL }),
        ("10 rounds", Truth { rounds: 10, ..TYPICAL }),
        ("noisier at large sizes", Truth { growth: 4.0, ..TYPICAL }),
        ("drifting", DRIFTING),
        ("10 % missing", Truth { missing: 0.1, ..TYPICAL }),
        ("30 % missing", Truth { missing: 0.3, ..TYPICAL }),
        ("much crosstalk", Truth { crosstalk: 0.05, ..TYPICAL }),
        ("falling", Truth { contention: 0.5, crosstalk: 1.0, ..TYPICAL }),
        ("noise 1 %", Truth { own: 0.01, ..TYPICAL }),
        ("noise 20 %", Truth { own: 0.2, ..TYPICAL }),
        ("eight sizes", MANY_SIZES),
        ("amdahl", AMDAHL),
        ("amdahl, 10 rounds", Truth { rounds: 10, ..AMDAHL }),
        ("linear", Truth { contention: 0.0, ..AMDAHL }),
        ("constant", Truth { contention: 1.0, ..AMDAHL }),
    ] {
        println!("{name}: {:.3?}", truth.shares(1, 2_000));
    }
}
