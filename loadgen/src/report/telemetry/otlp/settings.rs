//! Reads where and how metrics and spans are exported, by the environment variables that OpenTelemetry defines
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use std::time::Duration;

use super::destination::{Destination, Signal};
use super::variables::{BadSetting, milliseconds, one_of, pairs};

/// Whether a message has the sums since the start, or what was added since the last message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::report::telemetry) enum Temporality {
    #[default]
    Cumulative,
    Delta,
}

/// Where and how metrics and, if any request is traced, spans are exported.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpSettings {
    pub(super) metrics: Destination,
    /// `None` if no request is traced.
    pub(super) traces: Option<Destination>,
    /// Time between two messages with metrics.
    pub(in crate::report::telemetry) interval: Duration,
    pub(super) temporality: Temporality,
}

impl OtlpSettings {
    /// Reads the settings. `url` is that of `--otlp`, if it has one, and `variable` returns the value of an environment
    /// variable; an empty value is none, as OpenTelemetry demands. `are_traced` tells whether there will be spans.
    /// Returns `None` if `OTEL_SDK_DISABLED` switches off all exports.
    ///
    /// # Errors
    /// If a setting cannot be followed.
    pub fn read(
        url: Option<&str>,
        are_traced: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, BadSetting> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if is_disabled(variable) {
            return Ok(None);
        }
        let interval = match variable("OTEL_METRIC_EXPORT_INTERVAL") {
            Some(text) => milliseconds("OTEL_METRIC_EXPORT_INTERVAL", &text)?,
            None => Duration::from_secs(1),
        };
        let preference = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
        let words = [
            ("cumulative", Temporality::Cumulative),
            ("delta", Temporality::Delta),
            // Differences of counters and histograms, which are all that loadgen has.
            ("lowmemory", Temporality::Delta),
        ];
        let temporality = match variable(preference) {
            Some(text) => one_of(preference, &text, &words)?,
            None => Temporality::default(),
        };
        let metrics = Destination::read(Signal::Metrics, url, variable)?;
        let traces = are_traced.then(|| Destination::read(Signal::Traces, url, variable));
        Ok(Some(Self { metrics, traces: traces.transpose()?, interval, temporality }))
    }
}

/// Whether `OTEL_SDK_DISABLED` switches off all exports.
pub fn is_disabled(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// Reads the attributes that the user gives to all metrics.
///
/// # Errors
/// If they cannot be read.
pub fn resource_attributes(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, BadSetting> {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let mut attributes = match variable("OTEL_RESOURCE_ATTRIBUTES") {
        Some(text) => pairs("OTEL_RESOURCE_ATTRIBUTES", &text)?,
        None => Vec::new(),
    };
    if let Some(name) = variable("OTEL_SERVICE_NAME") {
        attributes.retain(|(key, _)| key != "service.name");
        attributes.push(("service.name".to_owned(), name));
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: Option<&str>, set: &[(&str, &str)]) -> Result<Option<OtlpSettings>, BadSetting> {
        let value = |name: &str| set.iter().find(|(set, _)| *set == name);
        OtlpSettings::read(url, true, |name| value(name).map(|(_, value)| (*value).to_owned()))
    }

    fn url(url: Option<&str>, set: &[(&str, &str)]) -> String {
        read(url, set).unwrap().unwrap().metrics.url.to_string()
    }

    const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const METRICS: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";

    #[test]
    fn metrics_go_below_the_url_of_a_collector() {
        assert_eq!(url(None, &[]), "http://localhost:4318/v1/metrics");
        let with_path = "http://prometheus:9090/api/v1/otlp/";
        for (given, set) in [(Some(with_path), None), (None, Some((ALL, with_path)))] {
            let set = set.as_slice();
            assert_eq!(url(given, set), "http://prometheus:9090/api/v1/otlp/v1/metrics");
        }
        assert_eq!(url(Some("https://a/v1/metrics"), &[]), "https://a/v1/metrics");
        assert_eq!(url(Some("https://a/apiv1/metrics"), &[]), "https://a/apiv1/metrics/v1/metrics");
        assert_eq!(url(None, &[(ALL, "http://a/v1/metrics")]), "http://a/v1/metrics/v1/metrics");
        // What the command line says has precedence, and then the variable for metrics, which is used as it is.
        let set = [(ALL, "http://all"), (METRICS, "http://metrics/")];
        assert_eq!(url(None, &set), "http://metrics/");
        assert_eq!(url(Some("http://named"), &set), "http://named/v1/metrics");
        assert_eq!(url(None, &[(ALL, " "), (METRICS, "")]), "http://localhost:4318/v1/metrics");
    }

    #[test]
    fn spans_go_where_metrics_go_unless_a_variable_says_otherwise() {
        let url = |url, set: &[_]| read(url, set).unwrap().unwrap().traces.unwrap().url.to_string();
        assert_eq!(url(None, &[]), "http://localhost:4318/v1/traces");
        for given in ["https://a/otlp/v1/metrics", "https://a/otlp/v1/traces/", "https://a/otlp/"] {
            assert_eq!(url(Some(given), &[]), "https://a/otlp/v1/traces");
        }
        assert_eq!(url(None, &[(ALL, "http://a")]), "http://a/v1/traces");
        let set = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://tempo:4318/v1/traces")];
        assert_eq!(url(Some("http://prometheus"), &set), "http://tempo:4318/v1/traces");
        let settings = OtlpSettings::read(None, false, |_| None).unwrap().unwrap();
        assert_eq!(settings.traces, None);
    }

    #[test]
    fn variables_say_how_to_export() {
        let set = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=all"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "api-key = a%20b%2C, other=1,"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "DELTA"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
            ("OTEL_RESOURCE_ATTRIBUTES", "te%20am=shop,service.name=ignored"),
            ("OTEL_SERVICE_NAME", "nightly"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
        ];
        let settings = read(None, &set).unwrap().unwrap();
        let headers = &settings.metrics.headers;
        assert_eq!(headers["api-key"], "a b,");
        assert_eq!((headers.len(), headers["other"].is_sensitive()), (2, true));
        assert_eq!(settings.traces.unwrap().headers["api-key"], "all");
        assert_eq!((settings.metrics.timeout.as_millis(), settings.interval.as_secs()), (250, 5));
        let said = (settings.metrics.is_compressed, settings.temporality);
        assert_eq!(said, (true, Temporality::Delta));
        let value = |name: &str| set.iter().find(|(set, _)| *set == name);
        let attributes =
            resource_attributes(|name| value(name).map(|(_, value)| (*value).to_owned())).unwrap();
        let expected = [("te am", "shop"), ("service.name", "nightly")];
        assert_eq!(attributes, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(read(None, &[("OTEL_SDK_DISABLED", "True")]), Ok(None));
    }

    #[test]
    fn a_bad_setting_is_named_and_no_secret_is_told() {
        let said = |set| read(None, &[set]).unwrap_err().message;
        insta::assert_snapshot!(
            [
                said(("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")),
                said((ALL, "localhost:4317")),
                said((METRICS, "http://")),
                said(("OTEL_EXPORTER_OTLP_HEADERS", "authorization: secret")),
                said(("OTEL_EXPORTER_OTLP_HEADERS", "a key=secret")),
                said(("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "key=sec%0Aret")),
                said(("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")),
                said(("OTEL_METRIC_EXPORT_INTERVAL", "0")),
                said(("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")),
                said(("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both")),
                resource_attributes(|_| Some("team".to_owned())).unwrap_err().message,
            ]
            .join("\n")
        );
        let shown = read(Some("https://me:secret@a/otlp?key=secret"), &[]).unwrap().unwrap();
        assert_eq!(shown.metrics.shown_url(), "https://a/otlp/v1/metrics");
    }
}
