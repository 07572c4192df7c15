//! Formats ratios, and says how many rounds distinguish them from 1.

use crate::record::Pair;
use crate::text::count;

/// Says how many more rounds would find a difference of 5 % in a pair that shows no difference so
/// far.
pub(crate) fn what_it_takes(pair: &Pair) -> String {
    match pair.more_rounds_for_5_percent {
        Some(0) => "; a difference of 5 % would most likely have been shown".to_owned(),
        Some(1) => ": 1 more round would settle 5 %".to_owned(),
        Some(n) => format!(": {} more rounds would settle 5 %", count(n.into())),
        None => ": more than 1,000 rounds are needed to settle 5 %".to_owned(),
    }
}

/// Formats a ratio, and the lower and upper end of the ratio's interval, which lie on the same side
/// of 1. Uses two decimals; three if the ends would look alike; up to four if an end is so close to 1
/// that the end would look like 1; and fewer if the upper end is at least 10.
pub(crate) fn times([ratio, low, high]: [f64; 3]) -> [String; 3] {
    let to_one = if high < 1.0 { 1.0 - high } else { low - 1.0 };
    let shows = |distance: f64, decimals: i32| distance >= 0.5 * 0.1_f64.powi(decimals);
    let decimals = match high {
        high if high >= 100.0 => 0,
        high if high >= 10.0 => 1,
        _ => {
            // An interval too narrow for three decimals needs none of them.
            let apart = (2..4).find(|n| shows(high - low, *n)).unwrap_or(2);
            (2..4).find(|n| shows(to_one, *n)).unwrap_or(4).max(apart)
        }
    };
    [ratio, low, high].map(|value| match decimals {
        0 => count(value.round() as u64),
        n => format!("{value:.*}", n as usize),
    })
}
