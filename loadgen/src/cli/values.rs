//! Parsers of values that several options share.

use std::ops::RangeInclusive;

/// Returns a parser of percentages in a range, such as `5` or `5%`.
pub fn percent(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.trim().trim_end_matches('%').trim_end().parse() {
        Ok(percent) if range.contains(&percent) => Ok(percent),
        _ => Err(format!("expected a percentage from {} to {}", range.start(), range.end())),
    }
}
