//! Builds the table of the ratios of latencies.

use maud::{Markup, html};

use super::table::{Called, table};
use crate::record::{Comparison, Pair, Percentile, RunRecord};
use crate::report::words::latencies::{Difference, Ratio, order_of_tests, ratio};
use crate::report::words::ratio::times;

const CAPTION: &str = "Latency of the first target over that of the second, with its 95 % confidence \
                       interval";

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
                (table(&Called::Heading("latencies"), &caption(&rows), &columns, &body))
            }
        }
    }
}

/// Returns the caption, which explains each kind of cell without a ratio that the table has.
fn caption(rows: &[(String, Vec<Option<Ratio>>)]) -> String {
    let has = |difference: Option<Difference>| {
        let mut cells = rows.iter().flat_map(|(_, ratios)| ratios);
        cells.any(|ratio| ratio.map(|it| it.difference) == difference)
    };
    let not_shown =
        "– if no difference is shown after the correction for all comparisons of the run";
    let not_tested = format!(
        "not tested if the percentile to test before it is not shown ({})",
        order_of_tests()
    );
    let lacking = "empty if a round has too few responses for the percentile";
    let legends = [
        (Some(Difference::NotShown), not_shown),
        (Some(Difference::NotTested), &not_tested),
        (None, lacking),
    ];
    let legends =
        legends.into_iter().filter(|(difference, _)| has(*difference)).map(|(_, text)| text);
    std::iter::once(CAPTION).chain(legends).collect::<Vec<_>>().join("; ")
}

fn of(comparison: &Comparison, pair: &Pair) -> Vec<Option<Ratio>> {
    let of = |percentile| ratio(comparison, percentile, &pair.better, &pair.worse);
    Percentile::ALL.map(of).into()
}

fn cell(ratio: Option<Ratio>) -> String {
    let Some(Ratio { ends: ends @ [_, low, high], difference }) = ratio else {
        return String::new();
    };
    match difference {
        Difference::Shown => {
            let [ratio, low, high] = times(ends);
            format!("{ratio} ({low}–{high})")
        }
        Difference::NotShown => format!("– ({low:.2}–{high:.2})"),
        Difference::NotTested => format!("not tested ({low:.2}–{high:.2})"),
    }
}
