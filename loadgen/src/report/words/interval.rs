//! 95 % confidence intervals as people read them.

/// What a legend says of means that have intervals.
pub const LEGEND: &str = ", ± its 95 % confidence interval";

/// Half the width of an interval as a share of its mean, rounded up, to stand behind the mean: ` ±3 %`.
/// Nothing where there is no interval, or the mean is not above zero.
pub fn plus_minus(mean: f64, confidence_95: Option<[f64; 2]>) -> String {
    percent(mean, confidence_95).map_or(String::new(), |percent| format!(" ±{percent:.0} %"))
}

/// The same with room for two digits, so that the rows of a terminal's table align.
pub fn aligned_plus_minus(mean: f64, confidence_95: Option<[f64; 2]>) -> String {
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
    fn half_the_width_is_rounded_up() {
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
