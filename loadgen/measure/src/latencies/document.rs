//! Encodes latencies as text for saved documents.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use super::Latencies;

/// All latencies of a step, in µs, for the record of a run. Encodes the latencies as an
/// HdrHistogram (V2 encoding, DEFLATE, base64), which HdrHistogram's libraries for other languages
/// can read and merge without loss.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
#[schemars(with = "String")]
pub struct Distribution(Latencies);

/// Number of points of the latency curve for each factor of ten in 1/(1-q), where q is the
/// quantile: such as from the 90th to the 99th percentile.
const STEPS: u32 = 20;
/// Number of factors of ten in 1/(1-q), where q is the quantile, that the latency curve covers: up
/// to the 99.9999th percentile.
const TENFOLDS: u32 = 6;

impl From<Latencies> for Distribution {
    fn from(latencies: Latencies) -> Self {
        Self(latencies)
    }
}

impl Distribution {
    /// Adds one latency.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.record(latency);
    }

    /// Adds all latencies of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// Returns the latencies as a distribution that can be merged with other distributions.
    #[must_use]
    pub fn latencies(&self) -> &Latencies {
        &self.0
    }

    /// Encodes the latencies as HdrHistogram's text: V2 encoding, compressed, in base64. Returns an
    /// empty text without latencies.
    ///
    /// # Errors
    ///
    /// If one latency has more than 2^63 - 1 samples, which the encoding can't hold.
    pub fn to_text(&self) -> Result<String, String> {
        self.0.to_text()
    }

    /// Returns the quantiles (0 to 1) at which [`Self::curve`] has its points. The points are
    /// evenly spaced in the logarithm of 1/(1-q), as in HdrHistogram's own plots.
    pub fn shares() -> impl Iterator<Item = f64> {
        (0..=STEPS * TENFOLDS).map(|i| 1.0 - 0.1_f64.powf(f64::from(i) / f64::from(STEPS)))
    }

    /// Returns the latency, in µs, at each quantile of [`Self::shares`]. The list ends before the
    /// first quantile with fewer than ten samples beyond it.
    #[must_use]
    pub fn curve(&self) -> Vec<u64> {
        Self::shares().map_while(|q| self.0.quantile(q)).collect()
    }

    /// Counts the latencies in consecutive buckets of `width_us` µs, of which the first begins at
    /// 0. Returns at most `most` buckets; latencies beyond the last bucket are not counted.
    #[must_use]
    pub fn buckets(&self, width_us: u64, most: usize) -> Vec<u64> {
        let mut buckets = Vec::new();
        for (us, n) in self.0.recorded() {
            let bucket = usize::try_from(us / width_us.max(1)).unwrap_or(usize::MAX);
            if bucket >= most {
                break;
            }
            if buckets.len() <= bucket {
                buckets.resize(bucket + 1, 0);
            }
            buckets[bucket] += n;
        }
        buckets
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text().map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Latencies::from_text(&text).map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::super::encoding::encoded;
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut latencies = Latencies::default();
        values.iter().for_each(|us| latencies.record(Duration::from_micros(*us)));
        latencies.into()
    }

    #[test]
    fn a_curve_ends_where_too_few_samples_lie_beyond() {
        let thousand = of(&[7; 1_000]);
        // From q = 0 to q = 0.99, beyond which ten samples lie.
        assert_eq!(thousand.curve(), [7; 41]);
        assert_eq!(of(&[7; 9]).curve(), [0; 0]);
        let shares: Vec<f64> = Distribution::shares().collect();
        assert_eq!((shares[0], shares.len()), (0.0, 121));
        assert!((shares[40] - 0.99).abs() < 1e-12 && (shares[120] - 0.999_999).abs() < 1e-12);
    }

    #[test]
    fn buckets_count_the_latencies_within_them() {
        let some = of(&[1, 999, 1_000, 1_001, 3_500, 9_000]);
        assert_eq!(some.buckets(1_000, 100), [2, 2, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(some.buckets(1_000, 3), [2, 2]);
        assert_eq!(of(&[]).buckets(1_000, 3), [0; 0]);
    }

    #[test]
    fn a_foreign_histogram_is_refused() {
        for text in ["\"not base64\"", "\"AAAA\"", "7"] {
            assert!(serde_json::from_str::<Distribution>(text).is_err(), "{text}");
        }
        let other = Histogram::<u64>::new_with_bounds(1, 1_000, 2).unwrap();
        let text = encoded(&other).unwrap();
        let refused = Latencies::from_text(&text).unwrap_err();
        assert_eq!(refused, "a histogram of another shape");
    }

    proptest! {
        #[test]
        fn a_document_loses_no_latency(values in prop::collection::vec(1u64..700_000_000, 0..50)) {
            let distribution = of(&values);
            let text = serde_json::to_string(&distribution).unwrap();
            prop_assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), distribution);
        }

        #[test]
        fn each_latency_is_in_one_bucket(values in prop::collection::vec(1u64..2_000_000, 0..50)) {
            let all: u64 = of(&values).buckets(1_000, 10_000).iter().sum();
            prop_assert_eq!(all, values.len() as u64);
        }
    }
}
