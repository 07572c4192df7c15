//! Latencies of few different values, which need little memory.

use hdrhistogram::Histogram;

use super::LONGEST_US;

/// Most different values that are recorded here: 2 KiB, a hundredth of a histogram. Each new value costs a search and a move.
pub(super) const MOST: usize = 128;

/// Most different values that are decoded to here: 16 KiB. A manager of a thousand workers decodes and merges a few thousand
/// distributions in a second, for each of which a histogram would be allocated, cleared and added in whole.
const MOST_DECODED: usize = 1_024;

/// Number of counters of the histogram.
const COUNTERS: u64 = 21 << (BITS - 1);

/// Number of binary digits of a value that the histogram tells apart, for three decimal digits.
const BITS: u32 = 11;

/// Latencies of few different values: the shortest value of each counter of the histogram in which a
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

    /// Decodes the counters of a histogram: a positive number is the count of the next one, and a negative number counts
    /// further ones without latencies. `None` if there are more than [`MOST_DECODED`] different values, or if no
    /// histogram has such counters.
    pub(super) fn decode(numbers: impl Iterator<Item = Option<i64>>) -> Option<Self> {
        let (mut few, mut index) = (Self::default(), 0_u64);
        for number in numbers {
            let number = number?;
            let passed = if number < 0 { number.unsigned_abs() } else { 1 };
            if number > 0 {
                let value = value_at(index)?;
                if few.0.len() == MOST_DECODED {
                    return None;
                }
                few.0.push((value, number.unsigned_abs()));
            }
            index = index.checked_add(passed).filter(|index| *index <= COUNTERS)?;
        }
        Some(few)
    }

    /// Number of different values.
    pub(super) fn values(&self) -> usize {
        self.0.len()
    }

    /// Adds `n` latencies of a value between 1 and [`LONGEST_US`]. Returns whether there was room for them.
    pub(super) fn add(&mut self, us: u64, n: u64) -> bool {
        let value = shortest(us);
        match self.0.binary_search_by_key(&value, |(value, _)| *value) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(n),
            Err(_) if self.0.len() >= MOST => return false,
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

/// Returns the shortest latency of the counter of this index, in µs; `None` beyond [`LONGEST_US`].
fn value_at(index: u64) -> Option<u32> {
    let half = 1 << (BITS - 1);
    let value = match index / half {
        0 | 1 => index,
        octave => (index % half + half).checked_shl(u32::try_from(octave - 1).ok()?)?,
    };
    u32::try_from(value).ok().filter(|value| u64::from(*value) <= LONGEST_US)
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

    #[test]
    fn counters_are_those_of_the_histogram() {
        let mut histogram = histogram();
        assert_eq!(histogram.distinct_values() as u64, COUNTERS);
        let last = (0..COUNTERS).rev().find(|index| value_at(*index).is_some()).unwrap();
        assert_eq!(value_at(last), Some(shortest(LONGEST_US)));
        let mut values = Vec::new();
        for index in 0..=last {
            let value = value_at(index).unwrap();
            histogram.record(value.into()).unwrap();
            values.push(value);
        }
        let each: Vec<_> = histogram.iter_recorded().map(|at| at.count_at_value()).collect();
        assert_eq!(each, vec![1; values.len()], "each value has a counter of its own");
        assert!(values.is_sorted());
    }

    #[test]
    fn counters_that_no_histogram_has_are_not_decoded() {
        let decoded = |numbers: &[i64]| Few::decode(numbers.iter().map(|number| Some(*number)));
        let most = COUNTERS as i64;
        assert_eq!(decoded(&[-5, 7, 0, 2, -3]), Some(Few(vec![(5, 7), (7, 2)])));
        assert!(decoded(&[-most]).is_some());
        for none in
            [&[-most, 0][..], &[-most - 1], &[i64::MIN], &[1 - most, 1], &[1; MOST_DECODED + 1]]
        {
            assert_eq!(decoded(none), None, "{:?}", &none[..1]);
        }
        assert_eq!(Few::decode([None].into_iter()), None);
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
