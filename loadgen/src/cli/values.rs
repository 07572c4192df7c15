//! Values that several options share, and their parsers.

use std::ops::RangeInclusive;

use clap::ValueEnum;

/// Format of a list on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// A table, for people.
    Table,
    /// A line of JSON, for programs.
    Json,
}

/// Returns a parser of percentages in a range, such as `5` or `5%`.
pub fn percent(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.trim().trim_end_matches('%').trim_end().parse() {
        Ok(percent) if range.contains(&percent) => Ok(percent),
        _ => Err(format!("expected a percentage from {} to {}", range.start(), range.end())),
    }
}
