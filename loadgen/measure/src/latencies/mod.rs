//! A mergeable distribution of latencies, and its percentiles.

mod document;
mod encoding;
mod few;

use std::borrow::Cow;
use std::time::Duration;

use hdrhistogram::Histogram;

pub use self::document::Distribution;
use self::few::{Few, MOST as MOST_FEW};

/// Longest latency that is recorded, in µs: ten minutes. Longer latencies count as this value.
const LONGEST_US: u64 = 600_000_000;
/// Number of significant decimal digits of every value.
const DIGITS: u8 = 3;
/// Number of samples from which sums of counts may overflow. Only data from the network or from
/// files reaches this number: at 10 million requests per second, a run would take 29,000 years.
const TOO_MANY: u64 = 1 << 63;

/// A distribution of latencies in µs: an HDR histogram (G. Tene, <https://hdrhistogram.org>) with
/// three significant digits from 1 µs to 10 min. Takes little memory until many different latencies are
/// recorded, and merges without loss.
#[derive(Debug, Clone)]
pub struct Latencies(Held);

/// The latencies: those of few different values take less memory than a histogram.
#[derive(Debug, Clone)]
enum Held {
    Few(Few),
    /// More different values than are recorded in `Few`, or decoded to it: 180 KB.
    Many(Histogram<u64>),
}

impl PartialEq for Latencies {
    /// Compares values and their numbers. Equal distributions have different forms if one was recorded, and one decoded.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Held::Few(one), Held::Few(other)) => one == other,
            (Held::Many(one), Held::Many(other)) => one == other,
            (Held::Few(few), Held::Many(histogram)) | (Held::Many(histogram), Held::Few(few)) => {
                histogram_of(few) == *histogram
            }
        }
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self(Held::Few(Few::default()))
    }
}

impl Latencies {
    /// Adds one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_n(latency, 1);
    }

    /// Adds the same latency `n` times.
    pub fn record_n(&mut self, latency: Duration, n: u64) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US);
        self.record_us(us.clamp(1, LONGEST_US), n);
    }

    fn record_us(&mut self, us: u64, n: u64) {
        let few = match &mut self.0 {
            Held::Many(histogram) => return histogram.saturating_record_n(us, n),
            Held::Few(few) => few,
        };
        if n > 0 && !few.add(us, n) {
            let mut histogram = histogram_of(few);
            histogram.saturating_record_n(us, n);
            self.0 = Held::Many(histogram);
        }
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Self) {
        let theirs = match &other.0 {
            Held::Few(few) => return few.iter().for_each(|(us, n)| self.record_us(us, n)),
            Held::Many(theirs) => theirs,
        };
        match &mut self.0 {
            #[expect(clippy::expect_used, reason = "both have the same bounds and digits")]
            Held::Many(ours) => ours.add(theirs).expect("histograms of one shape"),
            Held::Few(few) => {
                let mut all = theirs.clone();
                few.iter().for_each(|(us, n)| all.saturating_record_n(us, n));
                self.0 = Held::Many(all);
            }
        }
    }

    /// Number of latencies.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Held::Few(few) => few.len(),
            Held::Many(histogram) => histogram.len(),
        }
    }

    /// Whether the latencies have many different values: see [`Self::take_much`].
    #[must_use]
    pub fn is_large(&self) -> bool {
        match &self.0 {
            Held::Few(few) => few.values() > MOST_FEW,
            Held::Many(_) => true,
        }
    }

    /// Whether there are no latencies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Held::Few(few) => few.is_empty(),
            Held::Many(_) => false,
        }
    }

    /// The shortest latency, in µs; `None` without latencies.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.ends().map(|(min, _)| min)
    }

    /// The arithmetic mean of the latencies, in µs. `None` without latencies, or with too many to
    /// be summed.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.summable().map(|histogram| histogram.mean())
    }

    /// The longest latency, in µs, to three significant digits; `None` without latencies.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.ends().map(|(_, max)| max)
    }

    fn ends(&self) -> Option<(u64, u64)> {
        match &self.0 {
            Held::Few(few) => few.ends(),
            Held::Many(histogram) => Some((histogram.min(), histogram.max())),
        }
    }

    /// Returns the latency, in µs, at the quantile `q` (0 to 1). Returns `None` if fewer than ten
    /// samples lie beyond the quantile, because they are too few for an estimate.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        // In units of 10^-6, so that 100 samples support the 90th percentile although 1.0 - 0.9
        // is a little less than 0.1.
        let share = ((1.0 - q) * 1e6).round() as u64;
        let beyond_millionths = self.len().saturating_mul(share);
        if beyond_millionths < 10_000_000 {
            return None;
        }
        self.summable().map(|histogram| histogram.value_at_quantile(q))
    }

    /// Returns the number of latencies that are longer than `us`, a value of [`Self::quantile`].
    #[must_use]
    pub fn above(&self, us: u64) -> u64 {
        self.recorded().into_iter().filter(|(value, _)| *value > us).map(|(_, count)| count).sum()
    }

    /// Estimates the latencies as if a request had been sent every `interval`, rather than after
    /// the response to the previous request. For a latency longer than `interval`, adds the
    /// requests that were not sent during the wait, each with the rest of the wait as its latency.
    /// The method is the correction for *coordinated omission* in G. Tene's HdrHistogram.
    #[must_use]
    pub fn without_coordination(&self, interval: Duration) -> Self {
        let us = u64::try_from(interval.as_micros()).unwrap_or(LONGEST_US);
        let corrected = self.summable().map(|histogram| histogram.clone_correct(us.max(1)));
        corrected.map(Self::from).unwrap_or_default()
    }

    /// Returns each recorded latency (in µs, to three significant digits) with its number of
    /// samples, in ascending order.
    #[must_use]
    pub fn recorded(&self) -> Vec<(u64, u64)> {
        let Some(histogram) = self.summable() else { return Vec::new() };
        let each = histogram.iter_recorded();
        each.map(|value| (value.value_iterated_to(), value.count_at_value())).collect()
    }

    /// Returns the latencies as a histogram; `None` without latencies.
    fn filled(&self) -> Option<Cow<'_, Histogram<u64>>> {
        match &self.0 {
            Held::Many(histogram) => Some(Cow::Borrowed(histogram)),
            Held::Few(few) if few.is_empty() => None,
            Held::Few(few) => Some(Cow::Owned(histogram_of(few))),
        }
    }

    /// Returns the histogram if sums of its counts cannot overflow. Histograms from the network,
    /// each of fewer than [`TOO_MANY`] samples, may together have more samples.
    fn summable(&self) -> Option<Cow<'_, Histogram<u64>>> {
        if self.len() < TOO_MANY { self.filled() } else { None }
    }
}

impl From<Histogram<u64>> for Latencies {
    /// Takes a histogram of our bounds and digits.
    fn from(histogram: Histogram<u64>) -> Self {
        Self(Few::of(&histogram).map_or(Held::Many(histogram), Held::Few))
    }
}

fn histogram_of(few: &Few) -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "1 < 2 × 1 <= LONGEST_US, and DIGITS is within 0 to 5")]
    let mut histogram = Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("constant bounds");
    few.iter().for_each(|(us, n)| histogram.saturating_record_n(us, n));
    histogram
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
