//! Tests of the sentences.

use super::*;
use crate::scaling::{Observation, fit};

/// Noise of the rates of each of three rounds, in %.
const NOISE: [[f64; 5]; 3] =
    [[1.0, -1.0, 0.5, 1.5, -0.5], [-1.5, 0.5, 1.0, -0.5, 1.0], [0.5, 0.0, -1.5, -1.0, -0.5]];

/// Returns the sentence about these rates at the sizes 1, 2, 4, 8 and 16, times the noise.
fn about<const N: usize>(rates: [f64; N], rounds: usize) -> String {
    let sizes = [1, 2, 4, 8, 16];
    let of_round = |(round, noise): (u32, &[f64; 5])| {
        let noisy = rates.iter().zip(noise).map(|(rate, noise)| rate * (1.0 + noise / 100.0));
        let with_sizes = sizes.into_iter().zip(noisy);
        with_sizes.map(|(size, rate)| Observation { size, round, rate }).collect::<Vec<_>>()
    };
    let all: Vec<_> = (1..).zip(&NOISE[..rounds]).flat_map(of_round).collect();
    sentence(&fit(&all).unwrap(), Unit { one: "replica", many: "replicas" })
}

#[test]
fn a_sentence_states_growth_and_serial_share() {
    assert_eq!(
        about([100.0, 185.0, 322.0, 512.0, 727.0], 3),
        "throughput grows 7.3-fold from 1 to 16 replicas (95 %: 6.9 to 7.7); serial share 8 % \
         (95 %: 7.6 % to 8.4 %); no crosstalk shown, but up to 0.08 % is possible and counts as \
         serial"
    );
    assert_eq!(
        about([100.0, 185.0, 322.0], 3),
        "throughput grows 3.2-fold from 1 to 4 replicas (95 %: 3.0 to 3.4); serial share 8.1 % \
         (95 %: 5.8 % to 10 %)"
    );
}

#[test]
fn a_sentence_states_crosstalk_and_the_peak() {
    assert_eq!(
        about([100.0, 180.0, 290.0, 340.0, 270.0], 3),
        "throughput grows 3.4-fold from 1 to 8 replicas (95 %: 3.3 to 3.5), and is 2.7-fold at \
         16; serial share 5.8 % (95 %: 3.9 % to 7.7 %); crosstalk 1.7 % (95 %: 1.6 % to 1.7 %); \
         peak at 8 replicas (95 %: 7 to 8)"
    );
    let beyond = about([100.0, 189.6, 339.0, 537.0, 681.0], 3);
    assert!(beyond.ends_with("extrapolated beyond 16"), "{beyond}");
}

#[test]
fn a_sentence_says_if_more_adds_nothing_or_costs_throughput() {
    let constant = [100.0, 101.0, 100.0, 99.0, 101.0];
    assert_eq!(
        about(constant, 3),
        "adding replicas adds nothing that these rounds can show: 1.01-fold from 1 to 16 \
         replicas (95 %: 0.96 to 1.07)"
    );
    assert_eq!(
        about(constant, 1),
        "adding replicas adds nothing: 1.00-fold from 1 to 16 replicas; a single round has no \
         confidence interval"
    );
    let falling = about([100.0, 60.0, 40.0, 25.0, 14.0], 3);
    assert!(
        falling.starts_with(
            "adding replicas costs throughput: 0.14-fold from 1 to 16 replicas (95 %: 0.13 to \
             0.15); "
        ),
        "{falling}"
    );
    assert!(falling.ends_with("peak at 1 replica"), "{falling}");
}

#[test]
fn rates_that_contradict_the_law_have_coefficients_without_intervals() {
    assert_eq!(
        about([100.0, 200.0, 400.0, 420.0, 420.0], 3),
        "throughput grows 4.2-fold from 1 to 8 replicas (95 %: 4.1 to 4.3), and is 4.2-fold at \
         16; the rates are 8.2 % off the curve of the Universal Scalability Law, more than noise \
         explains, and give roughly: serial share 1 %; crosstalk 1.2 %; peak at 9 replicas"
    );
}

#[test]
fn numbers_have_few_digits() {
    let shares = [0.0, 0.0004, 0.0123, 0.08, 0.254, 1.0].map(percent);
    assert_eq!(shares, ["0 %", "0.04 %", "1.2 %", "8 %", "25 %", "100 %"]);
    assert_eq!([0.987, 1.5, 3.21].map(times), ["0.99", "1.50", "3.2"]);
}
