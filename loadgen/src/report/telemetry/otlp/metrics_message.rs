//! Fills the messages with metrics (<https://opentelemetry.io/docs/specs/otel/metrics/data-model/>).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as NumberOf;
use opentelemetry_proto::tonic::metrics::v1::{
    self as v1, AggregationTemporality, DataPointFlags, ExponentialHistogramDataPoint,
    NumberDataPoint, ResourceMetrics, ScopeMetrics,
};

use super::parts::{attributes, nanoseconds, of_command, scope};
use super::settings::Temporality;
use crate::report::telemetry::durations::{Durations, SCALE};
use crate::report::telemetry::known::{Point, Points, Value};
use crate::report::telemetry::metrics::{Kind, Metric, all};

/// Time over which counters and histograms have counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counting {
    /// When counting began: with the command or, for differences, with the last message that arrived.
    pub start: SystemTime,
    pub end: SystemTime,
    pub temporality: Temporality,
}

/// Attributes of the gauges that have a value, by the name of the metric.
pub(super) type Gauges = BTreeMap<&'static str, BTreeSet<Vec<(&'static str, String)>>>;

/// Returns the gauges that have a value.
pub(super) fn gauges(points: &Points<'_>) -> Gauges {
    let gauges = points.iter().filter(|(metric, _)| metric.kind == Kind::Gauge);
    gauges
        .map(|(metric, points)| {
            (metric.name, points.iter().map(|point| point.attributes.clone()).collect())
        })
        .collect()
}

/// Returns the gauges of `earlier` that have no value now.
pub(super) fn ended(earlier: &Gauges, now: &Gauges) -> Gauges {
    let without = |(name, all): (&&'static str, &BTreeSet<_>)| {
        let present = now.get(name).cloned().unwrap_or_default();
        (*name, all.difference(&present).cloned().collect::<BTreeSet<_>>())
    };
    earlier.iter().map(without).filter(|(_, ended)| !ended.is_empty()).collect()
}

/// Returns the message with these values. `ended` has gauges that have no value any more: without a marker of that,
/// Prometheus would show the last value for five minutes.
pub(super) fn message(
    resource: &[(String, String)],
    points: &Points<'_>,
    ended: &Gauges,
    counting: Counting,
) -> ExportMetricsServiceRequest {
    let nothing = BTreeSet::new();
    let metrics = all().into_iter().filter_map(|of| {
        let points = points.iter().find(|(known, _)| known.name == of.name);
        let points = points.map_or(&[][..], |(_, points)| points);
        let ended = ended.get(of.name).unwrap_or(&nothing);
        (!points.is_empty() || !ended.is_empty()).then(|| metric(of, points, ended, counting))
    });
    let metrics = metrics.collect();
    let scope_metrics = ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(of_command(resource)),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

fn metric(
    of: &Metric,
    points: &[Point<'_>],
    ended: &BTreeSet<Vec<(&'static str, String)>>,
    counting: Counting,
) -> v1::Metric {
    let aggregation_temporality = match counting.temporality {
        Temporality::Cumulative => AggregationTemporality::Cumulative,
        Temporality::Delta => AggregationTemporality::Delta,
    }
    .into();
    let numbers = || {
        let ended = ended.iter().map(|attributes| without_value(attributes, counting.end));
        points.iter().filter_map(|point| number(point, counting)).chain(ended).collect()
    };
    let data = match of.kind {
        Kind::Gauge => Data::Gauge(v1::Gauge { data_points: numbers() }),
        Kind::Counter => Data::Sum(v1::Sum {
            data_points: numbers(),
            aggregation_temporality,
            is_monotonic: true,
        }),
        Kind::Histogram => {
            let data_points =
                points.iter().filter_map(|point| histogram(point, counting)).collect();
            let histogram = v1::ExponentialHistogram { data_points, aggregation_temporality };
            Data::ExponentialHistogram(histogram)
        }
    };
    v1::Metric {
        name: of.name.to_owned(),
        description: of.help.to_owned(),
        unit: of.unit.to_owned(),
        data: Some(data),
        ..v1::Metric::default()
    }
}

fn number(point: &Point<'_>, counting: Counting) -> Option<NumberDataPoint> {
    let (start, value) = match point.value {
        Value::Counter(n) => {
            (counting.start, NumberOf::AsInt(i64::try_from(n).unwrap_or(i64::MAX)))
        }
        // A gauge has no start.
        Value::Gauge(value) => (UNIX_EPOCH, NumberOf::AsDouble(value)),
        Value::Histogram(_) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(&point.attributes),
        start_time_unix_nano: nanoseconds(start),
        time_unix_nano: nanoseconds(counting.end),
        value: Some(value),
        ..NumberDataPoint::default()
    })
}

fn histogram(point: &Point<'_>, counting: Counting) -> Option<ExponentialHistogramDataPoint> {
    let Value::Histogram(durations) = point.value else { return None };
    Some(ExponentialHistogramDataPoint {
        attributes: attributes(&point.attributes),
        start_time_unix_nano: nanoseconds(counting.start),
        time_unix_nano: nanoseconds(counting.end),
        count: durations.count,
        sum: Some(durations.sum_s()),
        scale: SCALE,
        positive: Some(buckets(durations)),
        ..ExponentialHistogramDataPoint::default()
    })
}

/// Returns the counts of all buckets from the first to the last that has any.
fn buckets(durations: &Durations) -> Buckets {
    let ends = durations.exponential.first_key_value().zip(durations.exponential.last_key_value());
    let Some(((first, _), (last, _))) = ends else { return Buckets::default() };
    let count = |bucket| durations.exponential.get(&bucket).copied().unwrap_or(0);
    Buckets { offset: *first, bucket_counts: (*first..=*last).map(count).collect() }
}

/// Returns the marker that a gauge has no value any more.
fn without_value(of: &[(&'static str, String)], now: SystemTime) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(of),
        time_unix_nano: nanoseconds(now),
        flags: DataPointFlags::NoRecordedValueMask as u32,
        ..NumberDataPoint::default()
    }
}
