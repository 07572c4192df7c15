//! Says whether more slices or more starts would make the intervals narrower.

use crate::record::{RunRecord, SlicesPair};

/// Share of the variance over starts, in %, from which it counts as the starts' own.
const MOSTLY: f64 = 50.0;

/// Describes how much ratios vary within starts and from start to start, all pairs together, and which
/// would help; `None` without slices or with fewer than two starts.
pub(super) fn variation(record: &RunRecord) -> Option<String> {
    let pairs = &record.slices.as_ref()?.pairs;
    let of = |figure: fn(&SlicesPair) -> Option<f64>| -> Option<Vec<f64>> {
        pairs.iter().map(figure).collect()
    };
    let slices = quadratic_mean(&of(|pair| Some(pair.slices_deviation_percent))?);
    let starts = quadratic_mean(&of(|pair| pair.starts_deviation_percent)?);
    let own = of(|pair| pair.starts_own_percent)?;
    let own = own.iter().sum::<f64>() / own.len() as f64;
    let helps = match own >= MOSTLY {
        true => {
            "starts differ by more than their slices explain: more starts (--rounds) would help, longer \
                 ones hardly"
        }
        false => {
            "slices explain most of what starts differ by: longer starts (--duration) would help as \
                  well as more of them (--rounds)"
        }
    };
    Some(format!(
        "ratios vary by {slices:.1} % from slice to slice of a start, and by {starts:.1} % from start to \
         start; {helps}"
    ))
}

fn quadratic_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SlicesRecord;

    fn said(starts_own_percent: Option<f64>) -> Option<String> {
        let pair = |slices_deviation_percent, starts_deviation_percent| SlicesPair {
            targets: ["a".to_owned(), "b".to_owned()],
            starts: 5,
            slices_deviation_percent,
            starts_deviation_percent: starts_own_percent.and(Some(starts_deviation_percent)),
            starts_own_percent,
        };
        // (3² + 4²) / 2 = 3.54², (1² + 2²) / 2 = 1.58²
        let slices = SlicesRecord { pairs: vec![pair(3.0, 1.0), pair(4.0, 2.0)] };
        variation(&RunRecord { slices: Some(slices), ..RunRecord::default() })
    }

    #[test]
    fn the_level_that_varies_more_is_named() {
        let slices = said(Some(20.0)).unwrap();
        let begins = "ratios vary by 3.5 % from slice to slice of a start, and by 1.6 % from start";
        assert!(slices.starts_with(begins) && slices.contains("--duration"), "{slices}");
        let starts = said(Some(80.0)).unwrap();
        assert!(
            starts.ends_with("more starts (--rounds) would help, longer ones hardly"),
            "{starts}"
        );
        assert_eq!(said(None), None);
        assert_eq!(variation(&RunRecord::default()), None);
    }
}
