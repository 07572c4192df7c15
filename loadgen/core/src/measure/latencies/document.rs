//! Encodes latencies for documents.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use super::Latencies;

/// All latencies of a step, in µs, for the run record: an HdrHistogram in its own encoding (V2,
/// DEFLATE, base64), which HdrHistogram's libraries for other languages read. Merges without loss.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution(Latencies);

/// Steps of the latency-by-percentile curve for each tenfold of requests.
const STEPS: u32 = 20;
/// Maximum number of tenfolds of the curve: up to the 99.9999th percentile.
const TENFOLDS: u32 = 6;

impl From<Latencies> for Distribution {
    fn from(latencies: Latencies) -> Self {
        Self(latencies)
    }
}

impl Distribution {
    /// Returns the latencies in mergeable form.
    #[must_use]
    pub fn latencies(&self) -> &Latencies {
        &self.0
    }

    /// Returns HdrHistogram's text: V2 encoding, compressed, in base64. Empty without latencies.
    ///
    /// # Errors
    ///
    /// If one latency has more than 2^63 - 1 samples, which the encoding can't hold.
    pub fn to_text(&self) -> Result<String, String> {
        self.0.to_text()
    }

    /// The shares of requests (0 to 1) at which [`Self::curve`] has its points: evenly spaced in
    /// the logarithm of 1/(1-q), as in HdrHistogram's own plots.
    pub fn shares() -> impl Iterator<Item = f64> {
        (0..=STEPS * TENFOLDS).map(|i| 1.0 - 0.1_f64.powf(f64::from(i) / f64::from(STEPS)))
    }

    /// Returns the latency, in µs, that each of [`Self::shares`] did not exceed. Ends before the
    /// first share with fewer than ten samples beyond it.
    #[must_use]
    pub fn curve(&self) -> Vec<u64> {
        Self::shares().map_while(|q| self.0.quantile(q)).collect()
    }

    /// Counts the latencies in each bucket of `width_us`, from 0 on. Returns at most `most`
    /// buckets; latencies beyond those are not counted.
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
    use std::time::Duration;

    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::super::encoded;
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
