//! Formats 95 % confidence intervals.

/// Text for a legend that explains the interval behind a mean.
pub(crate) const LEGEND: &str = ", ± its 95 % confidence interval";

/// Returns the distance from the mean to the upper end of the interval, as a share of the mean,
/// rounded up: ` ±3 %`. Empty without an interval, or if the mean is not above zero.
pub(crate) fn plus_minus(mean: f64, confidence_95: Option<[f64; 2]>) -> String {
    percent(mean, confidence_95).map_or(String::new(), |percent| format!(" ±{percent:.0} %"))
}

/// Like [`plus_minus`], but with room for two digits, so that the rows of a terminal's table align.
pub(crate) fn aligned_plus_minus(mean: f64, confidence_95: Option<[f64; 2]>) -> String {
    percent(mean, confidence_95).map_or(String::new(), |percent| format!(" ±{percent:>2.0} %"))
}

fn percent(mean: f64, confidence_95: Option<[f64; 2]>) -> Option<f64> {
    let [_, high] = confidence_95.filter(|_| mean > 0.0)?;
    Some(((high / mean - 1.0) * 100.0).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_width_of_an_interval_is_rounded_up() {
        for (mean, interval, text, aligned) in [
            (100.0, Some([95.0, 105.2]), " ±6 %", " ± 6 %"),
            (100.0, Some([50.0, 111.5]), " ±12 %", " ±12 %"),
            (100.0, None, "", ""),
            (0.0, Some([0.0, 1.0]), "", ""),
        ] {
            assert_eq!(plus_minus(mean, interval), text);
            assert_eq!(aligned_plus_minus(mean, interval), aligned);
        }
    }
}
