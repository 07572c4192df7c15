//! Builds the table of the ratios of latencies.

use maud::{Markup, html};

use super::table::{Called, table};
use crate::record::{Comparison, Pair, Percentile, RunRecord};
use crate::report::words::latencies::{Ratio, ratio};
use crate::report::words::ratio::times;

const CAPTION: &str = "Latency of the first target over that of the second, with its 95 % confidence \
                       interval; – if no difference is shown after the correction for all comparisons \
                       of the run";

/// Returns a table with a row for each two targets that are compared, and a column for each latency
/// percentile; nothing if no percentile is compared.
pub(super) fn latencies(record: &RunRecord) -> Markup {
    let pairs = record.comparison.iter().flat_map(|of| of.pairs.iter().map(move |pair| (of, pair)));
    let rows: Vec<(String, Vec<Option<Ratio>>)> = pairs
        .map(|(comparison, pair)| {
            (format!("{} / {}", pair.better, pair.worse), of(comparison, pair))
        })
        .filter(|(_, ratios)| ratios.iter().any(Option::is_some))
        .collect();
    let names = Percentile::ALL.map(|percentile| percentile.to_string());
    let columns: Vec<&str> =
        std::iter::once("Targets").chain(names.iter().map(String::as_str)).collect();
    let body = html! {
        @for (name, ratios) in &rows {
            tr { th scope="row" { (name) } @for ratio in ratios { td { (cell(*ratio)) } } }
        }
    };
    html! {
        @if !rows.is_empty() {
            section {
                h2 id="latencies" { "Ratios of latencies" }
                (table(&Called::Heading("latencies"), CAPTION, &columns, &body))
            }
        }
    }
}

fn of(comparison: &Comparison, pair: &Pair) -> Vec<Option<Ratio>> {
    let of = |percentile| ratio(comparison, percentile, &pair.better, &pair.worse);
    Percentile::ALL.map(of).into()
}

fn cell(ratio: Option<Ratio>) -> String {
    match ratio {
        None => String::new(),
        Some(Ratio { ends, shown: true }) => {
            let [ratio, low, high] = times(ends);
            format!("{ratio} ({low}–{high})")
        }
        Some(Ratio { ends: [_, low, high], shown: false }) => format!("– ({low:.2}–{high:.2})"),
    }
}
