//! Encodes latencies as HdrHistogram's bytes for workers, and as its text for saved documents. Checks
//! what comes from the network or from files before it is decoded.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize, de, ser};

use super::{DIGITS, Few, Held, LONGEST_US, Latencies, MOST_FEW, TOO_MANY};

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

/// Message about a histogram with [`TOO_MANY`] samples.
const TOO_MANY_SAMPLES: &str = "more samples than a run can have";

/// Length of the longest encoded count, in bytes.
const LONGEST_COUNT: usize = 9;

/// Serializes the latencies as bytes of the HdrHistogram V2 encoding; an empty distribution takes
/// no bytes.
impl Serialize for Latencies {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        if let Some(histogram) = self.filled() {
            V2Serializer::new().serialize(&*histogram, &mut bytes).map_err(ser::Error::custom)?;
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
        if let Some(few) = Few::decode(counts(&bytes[HEADER..]).map(number)) {
            return match few.len() >= TOO_MANY {
                true => Err(TOO_MANY_SAMPLES.to_owned()),
                false => Ok(Self(Held::Few(few))),
            };
        }
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes).map_err(|e| e.to_string())?;
        if histogram.len() >= TOO_MANY {
            return Err(TOO_MANY_SAMPLES.to_owned());
        }
        Ok(Self(Held::Many(histogram)))
    }
}

impl Latencies {
    /// Whether latencies in the HdrHistogram V2 encoding may take 180 KB in memory, once others are added: they have many
    /// different values.
    #[must_use]
    pub fn take_much(encoded: &[u8]) -> bool {
        // A count of samples is even in the encoding, and a number of several counters without samples is odd.
        let has_samples = |count: &&[u8]| {
            count.first().is_some_and(|byte| byte % 2 == 0)
                && count.iter().any(|byte| byte & 0x7f != 0)
        };
        counts(encoded.get(HEADER..).unwrap_or_default()).filter(has_samples).count() > MOST_FEW
    }

    /// Encodes the latencies as text for saved documents: see [`encoded`]. The text of an empty
    /// distribution is empty.
    pub(super) fn to_text(&self) -> Result<String, String> {
        self.filled().map_or(Ok(String::new()), |histogram| encoded(&histogram))
    }

    /// Decodes the text of [`Self::to_text`], with the checks of [`Self::decode`].
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let bytes = STANDARD.decode(text).map_err(|e| e.to_string())?;
        let compressed = bytes.get(DEFLATE_HEADER..).unwrap_or_default();
        let mut inflated = Vec::new();
        let read = ZlibDecoder::new(compressed).take(MOST_BYTES).read_to_end(&mut inflated);
        read.map_err(|e| e.to_string())?;
        match inflated.is_empty() {
            true => Err("a histogram without content".to_owned()),
            false => Self::decode(&inflated),
        }
    }
}

/// Encodes a histogram as HdrHistogram's text: V2 encoding, compressed, in base64.
pub(super) fn encoded(histogram: &Histogram<u64>) -> Result<String, String> {
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
fn has_least_count(encoded: &[u8]) -> bool {
    counts(encoded).any(|count| count == [0xff; LONGEST_COUNT])
}

/// Decodes the bytes of a count: seven bits in each byte, the lowest first, and eight in the ninth byte; the lowest bit of
/// the number is its sign (ZigZag). `None` if the bytes are cut off.
fn number(count: &[u8]) -> Option<i64> {
    let is_cut_off = count.len() < LONGEST_COUNT && count.last().is_none_or(|byte| *byte >= 0x80);
    let bits = |byte: u8, at: usize| {
        let own = if at + 1 < LONGEST_COUNT { byte & 0x7f } else { byte };
        u64::from(own) << (7 * at)
    };
    let number = count.iter().enumerate().fold(0, |sum, (at, byte)| sum | bits(*byte, at));
    let sign = -((number & 1) as i64);
    (!is_cut_off).then_some((number >> 1) as i64 ^ sign)
}

/// Returns the bytes of each encoded count.
fn counts(mut encoded: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let most = encoded.iter().take(LONGEST_COUNT - 1);
        let goes_on = most.take_while(|byte| **byte >= 0x80).count();
        let (count, others) = encoded.split_at((goes_on + 1).min(encoded.len()));
        encoded = others;
        (!count.is_empty()).then_some(count)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|us| latencies.record(Duration::from_micros(*us)));
        latencies
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
            V2Serializer::new().serialize(&*latencies.filled().unwrap(), &mut bytes).unwrap();
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
        let evaluated = (too_many.quantile(0.99), too_many.mean(), too_many.recorded().len());
        assert_eq!(evaluated, (None, None, 0));
    }

    #[test]
    fn memory_is_known_before_decoding() {
        for (values, expected) in [(1, false), (MOST_FEW, false), (MOST_FEW + 1, true)] {
            let each: Vec<u64> = (1..=values as u64).map(|value| value * 3_000).collect();
            let bytes = rmp_serde::to_vec(&[of(&each), of(&each)].iter().fold(
                Latencies::default(),
                |mut all, one| {
                    all.merge(one);
                    all
                },
            ));
            // Skips the type and length that MessagePack writes.
            let bytes = bytes.unwrap();
            let at = bytes.windows(4).position(|word| word == V2.to_be_bytes()).unwrap();
            assert_eq!(Latencies::take_much(&bytes[at..]), expected, "{values}");
        }
        assert!(!Latencies::take_much(&[]));
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
        fn a_histogram_survives_serialization(a in prop::collection::vec(1u64..700_000_000, 0..50)) {
            let bytes = rmp_serde::to_vec(&of(&a)).unwrap();
            prop_assert_eq!(rmp_serde::from_slice::<Latencies>(&bytes).unwrap(), of(&a));
        }

        #[test]
        fn decoded_latencies_are_those_of_the_histogram(
            a in prop::collection::vec((0u64..700_000_000, 1u64..1 << 40), 0..1_500),
            run in 0u64..3_000,
        ) {
            let mut latencies = of(&(0..run).collect::<Vec<_>>());
            a.iter().for_each(|(us, n)| latencies.record_n(Duration::from_micros(*us), *n));
            let Some(histogram) = latencies.filled() else { return Ok(()) };
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&*histogram, &mut bytes).unwrap();
            let decoded = Latencies::decode(&bytes).unwrap();
            let told: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            prop_assert_eq!(&*decoded.filled().unwrap(), &told);
            prop_assert_eq!(decoded.len(), told.len());
            prop_assert_eq!(&decoded, &latencies);
            prop_assert_eq!(decoded.is_large(), Latencies::take_much(&bytes));
        }

        #[test]
        fn what_is_decoded_is_what_the_histogram_decodes(counts in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = rmp_serde::to_vec(&of(&[5])).unwrap()[2..][..HEADER].to_vec();
            bytes[4..8].copy_from_slice(&u32::try_from(counts.len()).unwrap().to_be_bytes());
            bytes.extend(&counts);
            if !has_least_count(&counts) {
                let told: Result<Histogram<u64>, _> = Deserializer::new().deserialize(&mut &bytes[..]);
                let told = told.ok().filter(|told| told.len() < TOO_MANY);
                let decoded = Latencies::decode(&bytes).ok();
                prop_assert_eq!(decoded.is_some(), told.is_some());
                let recorded = |of: &Latencies| of.filled().map(|it| it.into_owned()).filter(|it| !it.is_empty());
                prop_assert_eq!(decoded.as_ref().and_then(recorded), told.filter(|it| !it.is_empty()));
            }
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Latencies::decode(&bytes);
        }
    }
}
