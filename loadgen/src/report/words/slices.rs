//! Says whether more slices or more starts would make the intervals narrower.

use crate::analysis::{MostVariance, most_variance};
use crate::record::{RunRecord, SlicesPair};

/// Describes how much ratios vary within starts and from start to start, all pairs together, and which
/// would help if that is shown for each pair; `None` without slices or with fewer than two starts.
pub(super) fn variation(record: &RunRecord) -> Option<String> {
    let pairs = &record.slices.as_ref()?.pairs;
    let of = |figure: fn(&SlicesPair) -> Option<f64>| -> Option<Vec<f64>> {
        pairs.iter().map(figure).collect()
    };
    let slices = quadratic_mean(&of(|pair| Some(pair.slices_deviation_percent))?);
    let starts = quadratic_mean(&of(|pair| pair.starts_deviation_percent)?);
    let of_start = record.load.slices?;
    let mut most = pairs.iter().map(|pair| most_variance(pair, of_start));
    let first = most.next()?;
    let helps = match first.filter(|first| most.all(|other| other == Some(*first))) {
        Some(MostVariance::Starts) => {
            "; starts differ by more than their slices explain: more starts (--rounds) would help, longer \
                 ones hardly"
        }
        Some(MostVariance::Slices) => {
            "; slices explain most of what starts differ by: longer starts (--duration) would help as \
                  well as more of them (--rounds)"
        }
        None => "",
    };
    Some(format!(
        "ratios vary by {slices:.1} % from slice to slice of a start, and by {starts:.1} % from start to \
         start{helps}"
    ))
}

fn quadratic_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LoadRecord, SlicesRecord};

    /// Returns the sentence for pairs with these standard deviations in %, of slices and of starts.
    fn said(pairs: [(f64, Option<f64>); 2]) -> Option<String> {
        let pair = |(slices_deviation_percent, starts_deviation_percent)| SlicesPair {
            targets: ["a".to_owned(), "b".to_owned()],
            starts: 10,
            slices_deviation_percent,
            starts_deviation_percent,
            starts_own_percent: None,
        };
        let slices = Some(SlicesRecord { pairs: pairs.map(pair).into() });
        let load = LoadRecord { slices: Some(4), ..LoadRecord::default() };
        variation(&RunRecord { load, slices, ..RunRecord::default() })
    }

    #[test]
    fn a_level_that_is_shown_to_vary_more_is_named() {
        // (3² + 4²) / 2 = 3.54², (1² + 0.5²) / 2 = 0.79²
        let slices = said([(3.0, Some(1.0)), (4.0, Some(0.5))]).unwrap();
        let begins = "ratios vary by 3.5 % from slice to slice of a start, and by 0.8 % from start";
        assert!(slices.starts_with(begins) && slices.contains("--duration"), "{slices}");
        let starts = said([(3.0, Some(6.0)), (4.0, Some(9.0))]).unwrap();
        assert!(
            starts.ends_with("more starts (--rounds) would help, longer ones hardly"),
            "{starts}"
        );
        assert_eq!(said([(3.0, None); 2]), None);
        assert_eq!(variation(&RunRecord::default()), None);
    }

    #[test]
    fn nothing_is_advised_that_is_not_shown() {
        let unclear = said([(3.0, Some(2.0)), (3.0, Some(2.0))]).unwrap();
        assert!(unclear.ends_with("from start to start"), "{unclear}");
        let unlike = said([(3.0, Some(9.0)), (3.0, Some(0.5))]).unwrap();
        assert!(unlike.ends_with("from start to start"), "{unlike}");
    }
}
