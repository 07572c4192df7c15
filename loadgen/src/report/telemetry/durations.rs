//! Folds latencies into the buckets of exponential and of classic histograms.

use std::collections::BTreeMap;

use crate::measure::Latencies;

/// Scale of the exponential histograms: each bucket is wider than the one before by a factor of 2^(2^-6), so that
/// a value within a bucket is known to 1.1 %. OpenTelemetry calls it scale, Prometheus schema.
pub(super) const SCALE: i32 = 6;

/// Upper bounds of the buckets of classic histograms, in µs, inclusive: five for each power of ten, from 10 µs to 63 s
/// (the series R5 of ISO 3).
pub(super) const BOUNDS_US: [u64; 35] = [
    10, 16, 25, 40, 63, //
    100, 160, 250, 400, 630, //
    1_000, 1_600, 2_500, 4_000, 6_300, //
    10_000, 16_000, 25_000, 40_000, 63_000, //
    100_000, 160_000, 250_000, 400_000, 630_000, //
    1_000_000, 1_600_000, 2_500_000, 4_000_000, 6_300_000, //
    10_000_000, 16_000_000, 25_000_000, 40_000_000, 63_000_000,
];

/// A distribution of durations, of which no count is lost: each latency, as it was recorded to three digits, is
/// whole in one bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Sum of the durations, in µs: of the recorded values, which are known to three digits. An integer, so that it
    /// never decreases by rounding, which Prometheus would take for a restart.
    pub sum_us: u64,
    /// Number of durations in each exponential bucket that has any. Bucket `i` has the durations, in s, above
    /// b^i and up to b^(i+1), where b is 2^(2^-[`SCALE`]).
    pub exponential: BTreeMap<i32, u64>,
    /// Number of durations in each classic bucket that has any, by its index in [`BOUNDS_US`]; the index after the
    /// last is that of longer durations.
    pub classic: BTreeMap<usize, u64>,
}

impl Durations {
    /// Adds latencies.
    pub(super) fn add(&mut self, latencies: &Latencies) {
        for (us, n) in latencies.recorded() {
            let sums = [(&mut self.count, n), (&mut self.sum_us, us.saturating_mul(n))];
            let buckets = [
                (self.exponential.entry(bucket(us)).or_default(), n),
                (
                    self.classic.entry(BOUNDS_US.partition_point(|bound| *bound < us)).or_default(),
                    n,
                ),
            ];
            for (sum, more) in sums.into_iter().chain(buckets) {
                *sum = sum.saturating_add(more);
            }
        }
    }

    /// Returns the durations that were added after `earlier`, an earlier state of this distribution.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count - earlier.count,
            sum_us: self.sum_us - earlier.sum_us,
            exponential: grown(&self.exponential, &earlier.exponential),
            classic: grown(&self.classic, &earlier.classic),
        }
    }

    /// Sum of the durations, in s.
    pub(super) fn sum_s(&self) -> f64 {
        self.sum_us as f64 / 1e6
    }
}

/// Returns by how much the counts have grown, without those that have not.
fn grown<K: Ord + Copy>(now: &BTreeMap<K, u64>, earlier: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let more = now.iter().map(|(key, n)| (*key, n - earlier.get(key).unwrap_or(&0)));
    more.filter(|(_, n)| *n > 0).collect()
}

/// Returns the upper bound of an exponential bucket, in s.
pub(super) fn upper_bound_s(bucket: i32) -> f64 {
    (f64::from(bucket + 1) / f64::from(1 << SCALE)).exp2()
}

/// Returns the index of the exponential bucket of a duration in µs, at least 1.
fn bucket(us: u64) -> i32 {
    let seconds = us.max(1) as f64 / 1e6;
    let guess = (seconds.log2() * f64::from(1 << SCALE)).ceil() as i32 - 1;
    // The logarithm may be rounded to the other side of a bound.
    if seconds > upper_bound_s(guess) {
        guess + 1
    } else if seconds <= upper_bound_s(guess - 1) {
        guess - 1
    } else {
        guess
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn latencies(values: &[(u64, u64)]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|(us, n)| latencies.record_n(Duration::from_micros(*us), *n));
        latencies
    }

    fn folded(latencies: &Latencies) -> Durations {
        let mut durations = Durations::default();
        durations.add(latencies);
        durations
    }

    /// Few values, and many different ones, which are held in another form.
    fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let near = vec((1_u64..50_000, 1_u64..5), 0..3_000);
        let far = vec((1_u64..600_000_000, 1_u64..1_000_000), 0..50);
        prop_oneof![near, far]
    }

    #[test]
    fn a_power_of_two_is_in_the_bucket_that_it_ends() {
        assert_eq!((bucket(1_000_000), upper_bound_s(-1)), (-1, 1.0));
        assert_eq!((bucket(1_000_001), bucket(2_000_000)), (0, 63));
        assert_eq!((bucket(500_000), bucket(500_001)), (-65, -64));
        // The shortest and the longest latency.
        assert_eq!((bucket(0), bucket(1), bucket(600_000_000)), (-1_276, -1_276, 590));
    }

    #[test]
    fn a_classic_bucket_has_the_latencies_up_to_its_bound() {
        let durations = folded(&latencies(&[(10, 1), (11, 2), (1_000, 4), (600_000_000, 8)]));
        assert_eq!(durations.classic, [(0, 1), (1, 2), (10, 4), (35, 8)].into());
    }

    proptest! {
        #[test]
        fn no_count_is_lost_and_each_value_lies_in_its_bucket(values in values()) {
            let latencies = latencies(&values);
            let durations = folded(&latencies);
            let all = |counts: &mut dyn Iterator<Item = &u64>| counts.sum::<u64>();
            prop_assert_eq!(durations.count, latencies.len());
            prop_assert_eq!(all(&mut durations.exponential.values()), latencies.len());
            prop_assert_eq!(all(&mut durations.classic.values()), latencies.len());
            for (us, n) in latencies.recorded() {
                let bucket = bucket(us);
                prop_assert!(durations.exponential[&bucket] >= n);
                let seconds = us as f64 / 1e6;
                let (above, to) = (upper_bound_s(bucket - 1), upper_bound_s(bucket));
                prop_assert!(above < seconds && seconds <= to, "{above} < {seconds} <= {to}");
                prop_assert!(to / above < 1.011);
            }
            // Recorded to three digits.
            let exact: u64 = values.iter().map(|(us, n)| us * n).sum();
            prop_assert!(durations.sum_us.abs_diff(exact) * 1_000 <= exact);
        }

        #[test]
        fn a_difference_added_again_is_the_whole(earlier in values(), later in values()) {
            let earlier = folded(&latencies(&earlier));
            let mut now = earlier.clone();
            now.add(&latencies(&later));
            let since = now.since(&earlier);
            prop_assert_eq!(&since, &folded(&latencies(&later)));
            prop_assert_eq!(now.since(&Durations::default()), now);
        }
    }
}
