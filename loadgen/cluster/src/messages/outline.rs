//! Estimates the memory of a decoded report from its outline: types of the
//! same shape, without the contents.

use std::fmt;

use serde::de::{IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer};

use loadgen_measure::Latencies;

/// Counts the histograms in a report that take much memory.
///
/// # Errors
/// Returns an error message if the bytes are not a report.
pub(super) fn histograms(bytes: &[u8]) -> Result<usize, String> {
    let Report { news } = super::decode(bytes)?;
    let News::Snapshot(Snapshot { intervals }, _) = news else { return Ok(0) };
    Ok(intervals.iter().map(|interval| interval.steps.0 + interval.flows.0).sum())
}

#[derive(Deserialize)]
struct Report {
    news: News,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum News {
    Snapshot(Snapshot, IgnoredAny),
    Finished(IgnoredAny, IgnoredAny),
    Failed(IgnoredAny),
}

#[derive(Deserialize)]
struct Snapshot {
    intervals: Vec<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    steps: Histograms,
    flows: Histograms,
}

/// Number of histograms that take much memory, in all steps or all flows of an interval.
struct Histograms(usize);

#[derive(Deserialize)]
struct Counts {
    answered: TakesMuch,
    first_byte: TakesMuch,
    service: TakesMuch,
    delay: TakesMuch,
    failed: TakesMuch,
    stream: Option<Stream>,
}

#[derive(Deserialize)]
struct Stream {
    first_event: TakesMuch,
    gaps: TakesMuch,
}

struct TakesMuch(bool);

impl<'de> Deserialize<'de> for Histograms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Steps;
        impl<'de> Visitor<'de> for Steps {
            type Value = Histograms;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the counts of each step")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut steps: A,
            ) -> Result<Histograms, A::Error> {
                let mut histograms = 0;
                while let Some(counts) = steps.next_element::<Counts>()? {
                    let Counts { answered, first_byte, service, delay, failed, stream } = counts;
                    let all = [answered, first_byte, service, delay, failed].into_iter();
                    let of_stream = stream.into_iter().flat_map(|it| [it.first_event, it.gaps]);
                    histograms += all.chain(of_stream).filter(|histogram| histogram.0).count();
                }
                Ok(Histograms(histograms))
            }
        }
        deserializer.deserialize_seq(Steps)
    }
}

impl<'de> Deserialize<'de> for TakesMuch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = TakesMuch;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an HdrHistogram in the V2 encoding")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<TakesMuch, E> {
                Ok(TakesMuch(Latencies::take_much(bytes)))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
