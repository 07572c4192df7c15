//! Answers Prometheus, which asks for the metrics.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
    prometheus_protobuf, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};

use super::durations::{BOUNDS_US, Durations, SCALE};
use super::known::{Known, Value};
use super::metrics::{Kind, Metric, in_prometheus};
use super::shared::Shared;

/// Returns the routes of the server that Prometheus asks.
pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(metrics)).route("/", get(root)).with_state(shared)
}

async fn root() -> &'static str {
    "loadgen: the metrics are at /metrics\n"
}

/// Returns all metrics in the format that the request prefers.
async fn metrics(
    State(shared): State<Arc<Shared>>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::preferred(accept);
    let is_all = shared.all_told.is_cancelled();
    let known = Describe {
        known: shared.known().clone(),
        resource: shared.resource.clone(),
        start: shared.start,
    };
    match format.encoded(known) {
        Ok(body) => {
            if method == Method::GET {
                shared.scraped(Instant::now(), is_all);
            }
            // A connection that stays would keep others out.
            ([(CONTENT_TYPE, format.media_type()), (CONNECTION, "close")], body).into_response()
        }
        Err(fmt::Error) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The only one with native histograms.
    Protobuf,
    OpenMetrics,
    /// What Prometheus had before OpenMetrics, and people read.
    Text,
}

impl Format {
    /// Returns the format that the request's header prefers: of those with the greatest weight, the first.
    fn preferred(accept: &str) -> Self {
        let mut best = (0.0, Self::Text);
        for range in accept.split(',') {
            let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
            let parameter = |name: &str| {
                let mut pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
                pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
            };
            let format = match kind.trim() {
                "application/vnd.google.protobuf"
                    if parameter("proto") == Some("io.prometheus.client.MetricFamily")
                        && parameter("encoding") == Some("delimited") =>
                {
                    Self::Protobuf
                }
                "application/openmetrics-text" => Self::OpenMetrics,
                "text/plain" => Self::Text,
                _ => continue,
            };
            let weight = parameter("q").map_or(Ok(1.0), str::parse).unwrap_or(0.0);
            if weight > best.0 {
                best = (weight, format);
            }
        }
        best.1
    }

    const fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    fn encoded(self, known: Describe) -> Result<Vec<u8>, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(known));
        let mut out = String::new();
        match self {
            Self::Protobuf => {
                return prometheus_protobuf::encode_to_vec(&registry).map_err(|_| fmt::Error);
            }
            Self::OpenMetrics => text::encode(&mut out, &registry)?,
            Self::Text => prometheus_text::encode(&mut out, &registry)?,
        }
        Ok(out.into())
    }
}

/// Describes what is known to the encoders.
#[derive(Debug)]
struct Describe {
    known: Known,
    resource: Vec<(String, String)>,
    start: SystemTime,
}

impl Collector for Describe {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Attributes of the program that measures.";
        let mut target = encoder.encode_descriptor("target", help, None, MetricType::Info)?;
        target.encode_info(&labels(&self.resource))?;
        for (metric, points) in self.known.points() {
            let (name, unit) = (in_prometheus(metric.name), unit(metric));
            let kind = kind(metric.kind);
            let mut family = encoder.encode_descriptor(&name, metric.help, unit.as_ref(), kind)?;
            for point in points {
                let labels = labels(&point.attributes);
                let mut encoder = family.encode_family(&labels)?;
                match point.value {
                    Value::Counter(n) => encoder.encode_counter(&n, NO_EXEMPLAR)?,
                    Value::Gauge(value) => encoder.encode_gauge(&value)?,
                    Value::Histogram(durations) => {
                        encode_histogram(&mut encoder, durations, self.start)?
                    }
                }
            }
        }
        Ok(())
    }
}

const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

/// Returns attributes as labels. The values of attributes that have the same name in Prometheus are joined.
fn labels<K: AsRef<str>>(attributes: &[(K, String)]) -> Vec<(String, String)> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for (key, value) in attributes {
        let name = in_prometheus(key.as_ref());
        match labels.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => *values += &format!(";{value}"),
            None => labels.push((name, value.clone())),
        }
    }
    labels
}

fn unit(metric: &Metric) -> Option<Unit> {
    match metric.unit_in_prometheus()? {
        "seconds" => Some(Unit::Seconds),
        "bytes" => Some(Unit::Bytes),
        other => Some(Unit::Other(other.to_owned())),
    }
}

const fn kind(kind: Kind) -> MetricType {
    match kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    }
}

fn encode_histogram(
    encoder: &mut MetricEncoder<'_>,
    durations: &Durations,
    start: SystemTime,
) -> Result<(), fmt::Error> {
    let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
    let count = |at| durations.classic.get(&at).copied().unwrap_or(0);
    let classic: Vec<(f64, u64)> = (0..).zip(bounds).map(|(at, to)| (to, count(at))).collect();
    let (spans, deltas) = native(durations);
    let native = NativeHistogram {
        schema: SCALE,
        zero_threshold: 0.0,
        zero_count: 0,
        negative: NativeHistogramBuckets { spans: &[], deltas: &[] },
        positive: NativeHistogramBuckets { spans: &spans, deltas: &deltas },
        created: Some(start),
    };
    let (sum, count) = (durations.sum_s(), durations.count);
    encoder.encode_histogram_with_native::<NoLabelSet>(sum, count, &classic, None, native)
}

/// Returns the buckets of a native histogram: spans of successive buckets, each with the distance from the one before
/// and the number of its buckets, and the difference of each count from the one before.
///
/// Without buckets, an empty span says that the histogram is a native one.
fn native(durations: &Durations) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i32, u32)>, _) = (Vec::new(), Vec::new());
    // Bucket 0 of Prometheus ends with 1 s, and that of OpenTelemetry begins with it.
    let (mut next, mut before) = (0, 0);
    for (bucket, n) in &durations.exponential {
        let bucket = bucket + 1;
        match spans.last_mut() {
            Some((_, length)) if bucket == next => *length += 1,
            _ => spans.push((bucket - next, 1)),
        }
        let n = i64::try_from(*n).unwrap_or(i64::MAX);
        deltas.push(n - before);
        (next, before) = (bucket + 1, n);
    }
    if spans.is_empty() {
        spans.push((0, 0));
    }
    (spans, deltas)
}
