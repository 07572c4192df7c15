//! A mergeable distribution of latencies, and its percentiles.

mod document;
mod encoding;

use std::time::Duration;

use hdrhistogram::Histogram;

pub use self::document::Distribution;

/// Longest latency that is recorded, in µs: ten minutes. Longer latencies count as this value.
const LONGEST_US: u64 = 600_000_000;
/// Number of significant decimal digits of every value.
const DIGITS: u8 = 3;
/// Number of samples from which sums of counts may overflow. Only data from the network or from
/// files reaches this number: at 10 million requests per second, a run would take 29,000 years.
const TOO_MANY: u64 = 1 << 63;

/// A distribution of latencies in µs: an HDR histogram (G. Tene, <https://hdrhistogram.org>) with
/// three significant digits from 1 µs to 10 min. Takes no memory until the first latency is
/// recorded, and merges without loss.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    /// Adds one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_n(latency, 1);
    }

    /// Adds the same latency `n` times.
    pub fn record_n(&mut self, latency: Duration, n: u64) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US);
        self.histogram().saturating_record_n(us.clamp(1, LONGEST_US), n);
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.0 else { return };
        #[expect(clippy::expect_used, reason = "both have the same bounds and digits")]
        self.histogram().add(theirs).expect("histograms of one shape");
    }

    /// Number of latencies.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// Whether there are no latencies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shortest latency, in µs; `None` without latencies.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.filled().map(Histogram::min)
    }

    /// The arithmetic mean of the latencies, in µs. `None` without latencies, or with too many to
    /// be summed.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.summable().map(Histogram::mean)
    }

    /// The longest latency, in µs, to three significant digits; `None` without latencies.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.filled().map(Histogram::max)
    }

    /// Returns the latency, in µs, at the quantile `q` (0 to 1). Returns `None` if fewer than ten
    /// samples lie beyond the quantile, because they are too few for an estimate.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let histogram = self.summable()?;
        // In units of 10^-6, so that 100 samples support the 90th percentile although 1.0 - 0.9
        // is a little less than 0.1.
        let share = ((1.0 - q) * 1e6).round() as u64;
        let beyond_millionths = histogram.len().saturating_mul(share);
        (beyond_millionths >= 10_000_000).then(|| histogram.value_at_quantile(q))
    }

    /// Returns the number of latencies that are longer than `us`, a value of [`Self::quantile`].
    #[must_use]
    pub fn above(&self, us: u64) -> u64 {
        self.recorded().filter(|(value, _)| *value > us).map(|(_, count)| count).sum()
    }

    /// Estimates the latencies as if a request had been sent every `interval`, rather than after
    /// the response to the previous request. For a latency longer than `interval`, adds the
    /// requests that were not sent during the wait, each with the rest of the wait as its latency.
    /// The method is the correction for *coordinated omission* in G. Tene's HdrHistogram.
    #[must_use]
    pub fn without_coordination(&self, interval: Duration) -> Self {
        let us = u64::try_from(interval.as_micros()).unwrap_or(LONGEST_US);
        Self(self.summable().map(|histogram| histogram.clone_correct(us.max(1))))
    }

    /// Returns each recorded latency (in µs, to three significant digits) with its number of
    /// samples, in ascending order.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        let each = self.summable().into_iter().flat_map(Histogram::iter_recorded);
        each.map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    fn filled(&self) -> Option<&Histogram<u64>> {
        self.0.as_ref().filter(|histogram| !histogram.is_empty())
    }

    /// Returns the histogram if sums of its counts cannot overflow. Histograms from the network,
    /// each of fewer than [`TOO_MANY`] samples, may together have more samples.
    fn summable(&self) -> Option<&Histogram<u64>> {
        self.filled().filter(|histogram| histogram.len() < TOO_MANY)
    }

    fn histogram(&mut self) -> &mut Histogram<u64> {
        #[expect(
            clippy::expect_used,
            reason = "1 < 2 × 1 <= LONGEST_US, and DIGITS is within 0 to 5"
        )]
        self.0.get_or_insert_with(|| {
            Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("constant bounds")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|us| latencies.record(Duration::from_micros(*us)));
        latencies
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        assert_eq!(of(&[5; 19]).quantile(0.5), None);
        assert_eq!(of(&[5; 20]).quantile(0.5), Some(5));
        assert_eq!(of(&[5; 999]).quantile(0.99), None);
        assert_eq!(of(&[5; 1_000]).quantile(0.99), Some(5));
        assert_eq!(of(&[5; 10_000]).quantile(0.999), Some(5));
        assert_eq!(of(&[5; 100_000]).quantile(0.9999), Some(5));
        assert_eq!(of(&[5; 99_999]).quantile(0.9999), None);
    }

    #[test]
    fn latencies_above_a_quantile_are_counted() {
        let latencies = of(&(1..=10_000).map(|i| i * 10).collect::<Vec<_>>());
        let p90 = latencies.quantile(0.9).unwrap();
        assert!(latencies.above(p90).abs_diff(1_000) <= 10, "{}", latencies.above(p90));
        assert_eq!(latencies.above(latencies.max().unwrap()), 0);
        assert_eq!(Latencies::default().above(0), 0);
    }

    #[test]
    fn latencies_beyond_the_range_are_kept() {
        let latencies = of(&[0, u64::MAX]);
        assert_eq!(latencies.len(), 2);
        assert_eq!(latencies.min(), Some(1));
        assert!(latencies.max() >= Some(LONGEST_US));
        assert_eq!(Latencies::default().max(), None);
    }

    #[test]
    fn the_correction_counts_requests_that_a_stall_prevented() {
        // 9 s of requests that took 1 ms each, and 1 s without an answer.
        let mut latencies = of(&[1_000; 9_000]);
        latencies.record(Duration::from_secs(1));
        assert_eq!(latencies.quantile(0.99), Some(1_000));
        let all = latencies.without_coordination(Duration::from_millis(1));
        // 1,000 of 10,000 requests waited for 0 to 1 s, so 5 % of all waited for over 0.5 s.
        assert_eq!(all.len(), 10_000);
        let p95 = all.quantile(0.95).unwrap();
        assert!((495_000..505_000).contains(&p95), "{p95}");
    }

    proptest! {
        #[test]
        fn merging_is_the_same_as_recording_all(
            a in prop::collection::vec(1u64..700_000_000, 0..50),
            b in prop::collection::vec(1u64..700_000_000, 0..50),
        ) {
            let (mut ab, mut ba) = (of(&a), of(&b));
            ab.merge(&of(&b));
            ba.merge(&of(&a));
            prop_assert_eq!(&ab, &ba);
            prop_assert_eq!(ab, of(&[a, b].concat()));
        }
    }
}
