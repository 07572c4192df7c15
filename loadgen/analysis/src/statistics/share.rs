//! Provides the interval of a share.

use statrs::distribution::{ContinuousCDF, Normal};

use super::LEVEL;

/// Returns the 95 % confidence interval of a share, 0 to 1, of which `count` of `all` were seen: the score
/// interval of E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal
/// of the American Statistical Association 22, 1927. It has a width where nothing or everything was seen,
/// too. `None` if `all` is 0.
#[must_use]
pub fn wilson_95(count: f64, all: f64) -> Option<[f64; 2]> {
    let z = Normal::standard().inverse_cdf(1.0 - LEVEL / 2.0);
    let (share, z2) = (count / all, z * z / all);
    let middle = (share + z2 / 2.0) / (1.0 + z2);
    let half_width = (z2 * (share * (1.0 - share) + z2 / 4.0)).sqrt() / (1.0 + z2);
    (all > 0.0).then_some([middle - half_width, middle + half_width])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_wilsons() {
        // statsmodels.stats.proportion.proportion_confint(count, 50, method="wilson")
        for (count, expected) in [
            (0.0, [0.0, 0.071_347_6]),
            (10.0, [0.112_437_5, 0.330_371_1]),
            (50.0, [0.928_652_4, 1.0]),
        ] {
            let interval = wilson_95(count, 50.0).unwrap();
            for (end, expected) in interval.into_iter().zip(expected) {
                assert!((end - expected).abs() < 1e-6, "{count}: {interval:?}");
            }
        }
        assert_eq!(wilson_95(0.0, 0.0), None);
    }
}
