//! Measures the noise of a series whose level may change.

/// Least noise that is assumed, as a standard deviation of logarithms: half a percent. Rates and CPU
/// times are whole numbers, so that a quiet series may have no noise at all.
const LEAST: f64 = 0.005;

/// Difference of two successive values, in standard deviations, to which greater differences are
/// reduced: they are changes of the level, or disturbances.
const GREATEST: f64 = 3.0;

/// Returns the standard deviation of the noise of a series, at least [`LEAST`], from the differences of
/// successive values, in which the level cancels out (von Neumann, Kent, Bellinson and Hart, "The Mean
/// Square Successive Difference", 1941). `None` for fewer than two values.
pub(super) fn deviation(series: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = series.windows(2).map(|two| two[1] - two[0]).collect();
    let most = GREATEST * spread(&steps)?;
    let squares = steps.iter().map(|step| step.clamp(-most, most).powi(2)).sum::<f64>();
    Some((squares / steps.len() as f64 / 2.0).sqrt().max(LEAST))
}

/// Returns the median of the absolute values, in the scale of a standard deviation of normal noise;
/// `None` without values.
fn spread(values: &[f64]) -> Option<f64> {
    const NORMAL: f64 = 1.482_602_218_505_602;
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let (below, above) = (sizes.len().checked_sub(1)? / 2, sizes.len() / 2);
    Some(NORMAL * f64::midpoint(sizes[below], sizes[above]))
}

#[cfg(test)]
mod tests {
    use super::*;

    // scipy.stats.median_abs_deviation([1, -2, 4, -7, 11], center=lambda *_: 0, scale="normal")
    #[test]
    fn the_spread_equals_that_of_scipy() {
        assert!(
            (spread(&[1.0, -2.0, 4.0, -7.0, 11.0]).unwrap() - 5.930_408_874_022_408).abs() < 1e-9
        );
        assert!((spread(&[1.0, -2.0]).unwrap() - 2.223_903_327_758_403).abs() < 1e-9);
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn changes_of_the_level_are_no_noise() {
        let noise = |i: usize| [0.01, -0.02, 0.03, -0.01, 0.0, 0.02, -0.03][i * 3 % 7];
        let level: Vec<f64> = (0..40).map(noise).collect();
        let changing: Vec<f64> =
            level.iter().enumerate().map(|(i, value)| value + f64::from(i >= 25)).collect();
        let (of_level, of_changing) = (deviation(&level).unwrap(), deviation(&changing).unwrap());
        assert!(of_level < of_changing && of_changing < 1.3 * of_level, "{of_level} {of_changing}");
        assert_eq!(deviation(&[5.0; 20]), Some(LEAST));
        assert_eq!(deviation(&[5.0]), None);
    }
}
