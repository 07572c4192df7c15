//! Compares targets by percentiles of their latencies, in words.

use super::ratio::times;
use crate::record::{Comparison, FEWEST_ROUNDS, Lack, Pair, Percentile, RankedBy};

/// Percentiles of which a sentence is about the first that shows a difference.
const TAIL: [Percentile; 3] = [Percentile::P99, Percentile::P95, Percentile::P90];

/// Ratio of a latency percentile of one target to that of another, with the lower and the upper end
/// of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// The ratio and the ends of its interval; below 1 where the first target is faster.
    pub ends: [f64; 3],
    /// Result of the test of the difference.
    pub difference: Difference,
}

/// Result of the test of two targets by a latency percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The difference is more than chance.
    Shown,
    /// The difference may be chance.
    NotShown,
    /// The percentile was not tested, because one before it in its sequence is not shown.
    NotTested,
}

/// Says which percentile is tested after which.
pub(crate) fn order_of_tests() -> String {
    let after = |two: &[Percentile]| format!("{} after {}", two[1], two[0]);
    let sequences = Percentile::SEQUENCES.iter();
    sequences.flat_map(|of| of.windows(2).map(after)).collect::<Vec<_>>().join(", ")
}

/// Returns the ratio of a latency percentile of `one` to that of `other`; `None` if they are not
/// compared by the percentile.
pub(crate) fn ratio(
    comparison: &Comparison,
    percentile: Percentile,
    one: &str,
    other: &str,
) -> Option<Ratio> {
    let pair = comparison.latency_pair(percentile, one, other)?;
    let Pair { ratio: Some(ratio), confidence_95: Some([low, high]), .. } = *pair else {
        return None;
    };
    let ends = match pair.better == one {
        true => [ratio, high, low].map(|value| 1.0 / value),
        false => [ratio, low, high],
    };
    let difference = match pair.shown {
        true => Difference::Shown,
        false if comparison.is_tested(percentile, one, other) => Difference::NotShown,
        false => Difference::NotTested,
    };
    Some(Ratio { ends, difference })
}

/// Compares the latencies of two targets, which are called by the names in `called`, in a sentence
/// about the tail, and about the median if the ranking is not by the median. `None` if no difference
/// is shown.
pub(crate) fn sentence(
    comparison: &Comparison,
    [one, other]: [&str; 2],
    called: [&str; 2],
) -> Option<String> {
    let shown = |percentile: Percentile| {
        let ratio = ratio(comparison, percentile, one, other)?;
        let [ratio, low, high] =
            (ratio.difference == Difference::Shown).then(|| times(ratio.ends))?;
        Some((percentile, ratio, format!("({low}–{high})")))
    };
    let by_median = comparison.ranked_by == RankedBy::Speed;
    let median = (!by_median).then(|| shown(Percentile::P50)).flatten();
    let mut all = TAIL.into_iter().find_map(shown).into_iter().chain(median);
    let [one, other] = called;
    let (percentile, ratio, ends) = all.next()?;
    let first = format!("{one}'s {percentile} is {ratio} times {other}'s {ends}");
    Some(all.fold(first, |said, (percentile, ratio, ends)| {
        format!("{said}, its {percentile} {ratio} times {ends}")
    }))
}

/// Says which of these targets are not compared by their latencies, or not by their p99, and why.
/// Empty for targets of which other sentences say the reason, and with too few rounds for any
/// claim. `called` returns the name of a target in a sentence.
pub(crate) fn lacking(
    comparison: &Comparison,
    targets: &[&str],
    called: impl Fn(&str) -> String,
) -> Vec<String> {
    let is_of_both =
        |pair: &&Pair| [&*pair.better, &*pair.worse].iter().all(|name| targets.contains(name));
    let compared = comparison.pairs.iter().filter(is_of_both);
    let rounds = compared.map(|pair| pair.rounds).max().unwrap_or(0);
    if targets.len() < 2 || rounds < FEWEST_ROUNDS {
        return Vec::new();
    }
    let lack = |target: &&&str| comparison.latency_lacking.get(**target)?.get(&Percentile::P99);
    let with = |lack_of: Lack| {
        let those = targets.iter().filter(move |target| lack(target) == Some(&lack_of));
        those.map(|target| called(target)).collect::<Vec<_>>()
    };
    let mut out = Vec::new();
    if comparison.ranked_by != RankedBy::Speed {
        let failing = with(Lack::TooManyErrors).into_iter();
        out.extend(
            failing.map(|name| {
                format!("{name} {}: its latencies are not compared", Lack::TooManyErrors)
            }),
        );
    }
    let short = with(Lack::TooFewAnswers);
    if !short.is_empty() {
        out.push(format!(
            "p99 is not compared for {}: a round has fewer than 1,000 expected responses",
            short.join(", ")
        ));
    }
    out
}
