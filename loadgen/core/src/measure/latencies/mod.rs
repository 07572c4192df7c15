//! A mergeable distribution of latencies, and its percentiles.

mod document;

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize, de, ser};

pub use self::document::Distribution;

/// Longest latency that is recorded, in µs: ten minutes. Longer latencies count as this value.
const LONGEST_US: u64 = 600_000_000;
/// Number of significant decimal digits of every value.
const DIGITS: u8 = 3;
/// Number with which the V2 encoding of HdrHistogram begins.
const V2: u32 = 0x1c84_9313;
/// Length of the header of HdrHistogram's V2 encoding, in bytes. The counts follow the header.
const HEADER: usize = 40;
/// Length of the header of HdrHistogram's compressed encoding, in bytes. The header holds a magic
/// number and the length of the compressed V2 encoding, which follows.
const DEFLATE_HEADER: usize = 8;
/// Limit for a decompressed histogram, in bytes. No histogram with our bounds and digits reaches
/// the limit: each has 22,000 counters of up to 9 bytes.
const MOST_BYTES: u64 = 1 << 20;

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
    pub(in crate::measure) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
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

/// Serializes the latencies as bytes of the HdrHistogram V2 encoding; an empty distribution takes
/// no bytes.
impl Serialize for Latencies {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        if let Some(histogram) = self.filled() {
            V2Serializer::new().serialize(histogram, &mut bytes).map_err(ser::Error::custom)?;
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Latencies;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an HdrHistogram in the V2 encoding")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Latencies, E> {
                Latencies::decode(bytes).map_err(E::custom)
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl Latencies {
    /// Decodes bytes from the network or from a file. Refuses a histogram with other bounds or
    /// digits than ours, so that merging cannot fail.
    fn decode(mut bytes: &[u8]) -> Result<Self, String> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        if !has_our_header(bytes) {
            return Err("a histogram of another shape".to_owned());
        }
        if has_least_count(&bytes[HEADER..]) {
            return Err("a count that no histogram can have".to_owned());
        }
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes).map_err(|e| e.to_string())?;
        if histogram.len() >= TOO_MANY {
            return Err("more samples than a run can have".to_owned());
        }
        Ok(Self(Some(histogram)))
    }
}

/// Encodes latencies as text, for saved documents; the text is empty for an empty distribution.
impl Latencies {
    pub(in crate::measure) fn to_text(&self) -> Result<String, String> {
        self.filled().map_or(Ok(String::new()), encoded)
    }

    pub(in crate::measure) fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let bytes = STANDARD.decode(text).map_err(|e| e.to_string())?;
        let compressed = bytes.get(DEFLATE_HEADER..).unwrap_or_default();
        let mut inflated = Vec::new();
        let read = ZlibDecoder::new(compressed).take(MOST_BYTES).read_to_end(&mut inflated);
        read.map_err(|e| e.to_string())?;
        match inflated.is_empty() {
            true => Err("a histogram without a word".to_owned()),
            false => Self::decode(&inflated),
        }
    }
}

/// Encodes a histogram as HdrHistogram's text: V2 encoding, compressed, in base64.
pub(in crate::measure) fn encoded(histogram: &Histogram<u64>) -> Result<String, String> {
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    written.map(|_| STANDARD.encode(bytes)).map_err(|e| e.to_string())
}

/// Whether the bytes have a header with our bounds and digits, and the length that the header
/// declares. Must be checked before decoding, because bytes from the network may declare up to 4
/// GB, or bounds that take hundreds of MB.
fn has_our_header(bytes: &[u8]) -> bool {
    let Some((header, counts)) = bytes.split_at_checked(HEADER) else { return false };
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let length = u32::try_from(counts.len()).unwrap_or(u32::MAX);
    let normalizing_offset = 0;
    let ours = [
        words(&[V2, length, normalizing_offset, DIGITS.into()]),
        1_u64.to_be_bytes().to_vec(),
        LONGEST_US.to_be_bytes().to_vec(),
        1_f64.to_be_bytes().to_vec(),
    ];
    header == ours.concat()
}

/// Whether one of the encoded counts is `i64::MIN`. hdrhistogram 7.6 negates this value, which
/// panics if overflow is checked. Each count is a varint: bytes with the highest bit set, up to a
/// byte without that bit or to the ninth byte.
fn has_least_count(mut counts: &[u8]) -> bool {
    const LONGEST: usize = 9;
    while !counts.is_empty() {
        let goes_on = counts.iter().take(LONGEST - 1).take_while(|byte| **byte >= 0x80).count();
        let (count, others) = counts.split_at((goes_on + 1).min(counts.len()));
        if count == [0xff; LONGEST] {
            return true;
        }
        counts = others;
    }
    false
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

    #[test]
    fn a_claim_of_another_shape_is_refused_before_it_takes_memory() {
        let bytes = rmp_serde::to_vec(&of(&[5])).unwrap();
        // Skips the type and length that MessagePack writes.
        let ours = &bytes[2..];
        assert_eq!(Latencies::decode(ours), Ok(of(&[5])));
        for (at, claim) in [(0, 0x1c84_9314_u32), (4, u32::MAX), (12, 5), (24, u32::MAX)] {
            let mut foreign = ours.to_vec();
            foreign[at..at + 4].copy_from_slice(&claim.to_be_bytes());
            let refused = Latencies::decode(&foreign).unwrap_err();
            assert_eq!(refused, "a histogram of another shape", "byte {at}");
        }
        assert!(Latencies::decode(&ours[..39]).is_err());
    }

    #[test]
    fn the_smallest_count_is_refused_at_any_position() {
        let with_counts = |counts: &[u8]| {
            let mut bytes = rmp_serde::to_vec(&of(&[5])).unwrap()[2..][..HEADER].to_vec();
            bytes[4..8].copy_from_slice(&u32::try_from(counts.len()).unwrap().to_be_bytes());
            bytes.extend(counts);
            Latencies::decode(&bytes)
        };
        let least = [0xff; 9];
        let refused = Err("a count that no histogram can have".to_owned());
        assert_eq!(with_counts(&least), refused);
        assert_eq!(with_counts(&[&[2, 0x80, 1], least.as_slice()].concat()), refused);
        // Nine bytes of ones, but not in one count.
        assert!(!has_least_count(&[&[0x80], least.as_slice(), &[1]].concat()));
        assert!(!has_least_count(&least[..8]));
    }

    #[test]
    fn sums_of_samples_that_overflow_are_refused_or_not_evaluated() {
        let with = |count: u64| {
            let mut latencies = Latencies::default();
            latencies.record_n(Duration::from_millis(1), count);
            latencies
        };
        let decoded = |latencies: &Latencies| {
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(latencies.0.as_ref().unwrap(), &mut bytes).unwrap();
            Latencies::decode(&bytes)
        };
        let most = with(i64::MAX as u64);
        assert_eq!(decoded(&most).as_ref(), Ok(&most));
        assert_eq!(most.quantile(0.5), Some(1_000));
        let mut too_many = most.clone();
        too_many.record_n(Duration::from_millis(2), 1);
        assert_eq!(decoded(&too_many), Err("more samples than a run can have".to_owned()));
        too_many.merge(&most);
        too_many.merge(&most);
        let evaluated = (too_many.quantile(0.99), too_many.mean(), too_many.recorded().count());
        assert_eq!(evaluated, (None, None, 0));
    }

    #[test]
    fn compressed_text_of_another_shape_is_refused() {
        let text = of(&[5]).to_text().unwrap();
        assert_eq!(Latencies::from_text(&text), Ok(of(&[5])));
        let mut inflated = Vec::new();
        let bytes = STANDARD.decode(&text).unwrap();
        ZlibDecoder::new(&bytes[DEFLATE_HEADER..]).read_to_end(&mut inflated).unwrap();
        let compressed = |inflated: &[u8]| {
            let mut deflate = flate2::read::ZlibEncoder::new(inflated, flate2::Compression::fast());
            let mut text = bytes[..DEFLATE_HEADER].to_vec();
            deflate.read_to_end(&mut text).unwrap();
            STANDARD.encode(text)
        };
        assert_eq!(Latencies::from_text(&compressed(&inflated)), Ok(of(&[5])));
        inflated[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let refused = Latencies::from_text(&compressed(&inflated));
        assert_eq!(refused, Err("a histogram of another shape".to_owned()));
        // A thousand times as long as its text.
        assert!(Latencies::from_text(&compressed(&vec![0; 64 << 20])).is_err());
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAA"] {
            assert_eq!(Latencies::from_text(text).is_ok(), text.is_empty(), "{text}");
        }
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

        #[test]
        fn a_histogram_survives_serialization(a in prop::collection::vec(1u64..700_000_000, 0..50)) {
            let bytes = rmp_serde::to_vec(&of(&a)).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<Latencies>(&bytes).unwrap(), of(&a));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Latencies::decode(&bytes);
        }
    }
}
