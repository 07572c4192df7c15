//! Presents the metrics of telemetry as they are declared.

use loadgen::report::telemetry::metrics::{COMMON, Kind, Metric, all};

use crate::markdown::{self, code};

/// Returns the table of all metrics.
pub fn table() -> String {
    let head = ["in OpenTelemetry", "in Prometheus", "kind, unit", "what", "attributes"];
    markdown::table(&head, all().into_iter().map(row))
}

fn row(metric: &Metric) -> [String; 5] {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let unit = match metric.unit {
        "" => String::new(),
        unit => format!(", {}", code(unit)),
    };
    let common = if metric.is_of_target { &COMMON[..] } else { &[] };
    let attributes: Vec<String> =
        common.iter().chain(metric.attributes).map(|name| code(name)).collect();
    [
        code(metric.name),
        code(&metric.name_in_prometheus()),
        format!("{kind}{unit}"),
        metric.help.to_owned(),
        attributes.join(", "),
    ]
}
