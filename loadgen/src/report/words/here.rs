//! Formats figures in as few characters as their precision deserves, for tables and charts.

use crate::text::count;

/// Formats a figure to three digits, or to the unit.
pub(crate) fn brief(value: f64) -> String {
    let digits = 2 - magnitude(value);
    with_decimals(value, digits.clamp(0, 4))
}

/// Formats a figure with its 95 % confidence interval and its unit: `0.41 (0.40–0.42)`, `40 % (38–42)`. The
/// last digit is the first that the interval leaves uncertain, but at least the second: `1.8 (1.1–3.6)`.
pub(crate) fn with_interval(figure: f64, confidence_95: Option<[f64; 2]>, unit: &str) -> String {
    let gap = if unit.is_empty() || unit == "/s" { "" } else { " " };
    let Some([low, high]) = confidence_95 else {
        return format!("{}{gap}{unit}", brief(figure));
    };
    let of_digits = |digits: i32| digits - 1 - magnitude(figure);
    // An interval without a width leaves nothing uncertain, and four digits are enough for everybody.
    let decimals = match high > low {
        true => (-magnitude((high - low) / 2.0)).max(of_digits(2)).min(of_digits(4)),
        false if figure == 0.0 => 0,
        false => of_digits(3),
    };
    let decimals = decimals.clamp(0, 4);
    let [figure, low, high] = [figure, low, high].map(|value| with_decimals(value, decimals));
    format!("{figure}{gap}{unit} ({low}–{high})")
}

/// Returns the power of ten of the first digit; 0 for zero.
fn magnitude(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 }
}

fn with_decimals(value: f64, decimals: i32) -> String {
    match decimals {
        0 if value < 0.0 => format!("-{}", count(value.abs().round() as u64)),
        0 => count(value.round() as u64),
        n => format!("{value:.*}", n as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_digits() {
        let shown = [0.0, 0.000_12, 0.065_4, 0.412, 2.3, 39.21, 144.4, 36_154.2].map(brief);
        assert_eq!(shown, ["0.00", "0.0001", "0.0654", "0.412", "2.30", "39.2", "144", "36,154"]);
    }

    #[test]
    fn the_last_digit_of_an_interval_is_the_first_uncertain_one() {
        for (figure, interval, unit, text) in [
            (0.412_3, Some([0.401, 0.423]), "", "0.41 (0.40–0.42)"),
            (1.002, Some([0.998, 1.004]), "", "1.002 (0.998–1.004)"),
            (39.2, Some([37.1, 41.9]), "", "39 (37–42)"),
            (1_234.0, Some([-5.2, 2_400.0]), "ms", "1,234 ms (-5–2,400)"),
            (40.12, None, "%", "40.1 %"),
            (57_692.0, None, "/s", "57,692/s"),
            (2.2, Some([2.199_999_999, 2.2]), "", "2.200 (2.200–2.200)"),
            (0.0, Some([0.0, 0.0]), "%", "0 % (0–0)"),
            (1.84, Some([1.12, 3.6]), "", "1.8 (1.1–3.6)"),
        ] {
            assert_eq!(with_interval(figure, interval, unit), text);
        }
    }
}
