//! Latencies of few different values, which need little memory.

use hdrhistogram::Histogram;

use super::LONGEST_US;

/// Most different values that are kept here: 2 KiB, a hundredth of a histogram.
pub(super) const MOST: usize = 128;

/// Number of binary digits of a value that the histogram tells apart, for three decimal digits.
const BITS: u32 = 11;

/// Latencies of at most [`MOST`] different values: the shortest value of each counter of the histogram in which a
/// latency was counted, in µs, and the number of latencies there. In ascending order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Few(Vec<(u32, u64)>);

impl Few {
    /// Returns the content of a histogram; `None` if it has more different values.
    pub(super) fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let mut few = Self::default();
        for value in histogram.iter_recorded() {
            if few.0.len() == MOST {
                return None;
            }
            few.0.push((shortest(value.value_iterated_to()), value.count_at_value()));
        }
        Some(few)
    }

    /// Adds `n` latencies of a value between 1 and [`LONGEST_US`]. Returns whether there was room for them.
    pub(super) fn add(&mut self, us: u64, n: u64) -> bool {
        let value = shortest(us);
        match self.0.binary_search_by_key(&value, |(value, _)| *value) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(n),
            Err(_) if self.0.len() == MOST => return false,
            Err(at) => self.0.insert(at, (value, n)),
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of latencies.
    pub(super) fn len(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    /// Returns the shortest and the longest latency, as the histogram tells them.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        Some((first.into(), longest(last)))
    }

    /// Returns the values, in µs, and their numbers of latencies, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(value, n)| (u64::from(*value), *n))
    }
}

/// Returns the number of binary digits of `us` that the histogram does not tell.
fn untold(us: u64) -> u32 {
    (u64::BITS - us.leading_zeros()).saturating_sub(BITS)
}

/// Returns the shortest latency that the histogram does not tell from `us`.
fn shortest(us: u64) -> u32 {
    let (us, untold) = (us.min(LONGEST_US), untold(us));
    // `LONGEST_US` is less than 2^32.
    ((us >> untold) << untold) as u32
}

/// Returns the longest latency that the histogram does not tell from `value`.
fn longest(value: u32) -> u64 {
    let value = u64::from(value);
    value + (1 << untold(value)) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::DIGITS;
    use super::*;

    fn histogram() -> Histogram<u64> {
        Histogram::new_with_bounds(1, LONGEST_US, DIGITS).unwrap()
    }

    #[test]
    fn values_are_those_of_the_histogram() {
        let histogram = histogram();
        let powers = (0..29).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for us in powers.chain([2_047, 2_048, 2_049, 123_456, LONGEST_US]).filter(|us| *us > 0) {
            assert_eq!(u64::from(shortest(us)), histogram.lowest_equivalent(us), "{us}");
            assert_eq!(longest(shortest(us)), histogram.highest_equivalent(us), "{us}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(latencies in prop::collection::vec((1..=LONGEST_US, 1_u64..9), 0..200)) {
            let (mut few, mut all, mut fits) = (Few::default(), histogram(), true);
            for (us, n) in &latencies {
                fits &= few.add(*us, *n);
                all.record_n(*us, *n).unwrap();
            }
            let expected = Few::of(&all);
            prop_assert_eq!(expected.is_some(), fits);
            if fits {
                prop_assert_eq!(expected.as_ref(), Some(&few));
                prop_assert_eq!(few.len(), all.len());
                let ends = few.ends();
                prop_assert_eq!(ends, (!all.is_empty()).then(|| (all.min(), all.max())));
                let mut again = histogram();
                few.iter().for_each(|(us, n)| again.record_n(us, n).unwrap());
                prop_assert_eq!(again, all);
            }
        }
    }
}
