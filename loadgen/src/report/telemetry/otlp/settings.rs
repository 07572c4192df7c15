//! Reads where and how metrics and spans are exported, by the environment variables that OpenTelemetry defines
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// Where the collector is, unless somebody says otherwise.
const ENDPOINT: &str = "http://localhost:4318";

/// Protocol in which loadgen exports.
const PROTOCOL: &str = "http/protobuf";

/// Whether a message has the sums since the start, or what was added since the last message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::report::telemetry) enum Temporality {
    #[default]
    Cumulative,
    Delta,
}

/// What is exported: OpenTelemetry has an address and settings for each signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Metrics,
    Traces,
}

impl Signal {
    /// The signal as a part of the name of an environment variable.
    fn name(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Traces => "TRACES",
        }
    }

    /// Path below the collector's URL.
    fn path(self) -> &'static str {
        match self {
            Self::Metrics => "v1/metrics",
            Self::Traces => "v1/traces",
        }
    }
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

/// Where and how the messages of one signal are sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Destination {
    /// URL that takes the messages.
    pub url: Url,
    /// Headers of each message, which may have a secret.
    pub headers: HeaderMap,
    /// Longest time for a message and its answer.
    pub timeout: Duration,
    pub is_compressed: bool,
    /// Files in PEM form: certificates of authorities to trust, own certificate, and its private key.
    pub authorities: Option<PemFile>,
    pub certificate: Option<PemFile>,
    pub key: Option<PemFile>,
}

/// A file in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PemFile {
    /// Environment variable that names it.
    setting: String,
    path: PathBuf,
}

impl PemFile {
    pub(super) fn read(&self) -> Result<Vec<u8>, BadSetting> {
        std::fs::read(&self.path).map_err(|error| self.wrong(&format!("cannot read it: {error}")))
    }

    pub(super) fn wrong(&self, what: &str) -> BadSetting {
        BadSetting {
            message: format!("{} names {}: {what}", self.setting, self.path.display()),
            help: "name a file in PEM form".to_owned(),
        }
    }
}

/// A setting that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// What is wrong, with the name of the setting.
    pub message: String,
    /// What to do about it.
    pub help: String,
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

impl Destination {
    /// Reads the settings for a signal.
    fn read(
        signal: Signal,
        url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BadSetting> {
        let own = |name: &str| format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.name());
        // The variable for the signal has precedence over that for all signals.
        let either = |name: &str| {
            let names = [own(name), format!("OTEL_EXPORTER_OTLP_{name}")];
            names.into_iter().find_map(|name| variable(&name).map(|value| (name, value)))
        };
        if let Some((name, protocol)) = either("PROTOCOL").filter(|(_, it)| it.trim() != PROTOCOL) {
            let help = format!(
                "set {}={PROTOCOL}, and name a URL that takes it: --otlp={ENDPOINT}",
                own("PROTOCOL")
            );
            let message = format!("{name} is \"{protocol}\", but loadgen exports only {PROTOCOL}");
            return Err(BadSetting { message, help });
        }
        let endpoint = own("ENDPOINT");
        let url = match (url, variable(&endpoint)) {
            // The URL of the command line is first that of metrics.
            (_, Some(url)) if signal == Signal::Traces => parsed(&endpoint, &url)?,
            (Some(url), _) => below("--otlp", beginning(url), signal)?,
            (None, Some(url)) => parsed(&endpoint, &url)?,
            (None, None) => match variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(url) => below("OTEL_EXPORTER_OTLP_ENDPOINT", &url, signal)?,
                None => below("--otlp", ENDPOINT, signal)?,
            },
        };
        let headers = match either("HEADERS") {
            Some((name, text)) => headers(&name, &text)?,
            None => HeaderMap::new(),
        };
        let timeout = match either("TIMEOUT") {
            Some((name, text)) => milliseconds(&name, &text)?,
            None => Duration::from_secs(10),
        };
        let is_compressed = match either("COMPRESSION") {
            Some((name, text)) => one_of(&name, &text, &[("gzip", true), ("none", false)])?,
            None => false,
        };
        let path =
            |name| either(name).map(|(setting, path)| PemFile { setting, path: path.into() });
        Ok(Self {
            url,
            headers,
            timeout,
            is_compressed,
            authorities: path("CERTIFICATE"),
            certificate: path("CLIENT_CERTIFICATE"),
            key: path("CLIENT_KEY"),
        })
    }

    /// Returns the URL without a password.
    pub fn shown_url(&self) -> String {
        let mut shown = self.url.clone();
        // Refused only by URLs that cannot have one.
        let _ = shown.set_password(None).and_then(|()| shown.set_username(""));
        // The query may have a key.
        shown.set_query(None);
        shown.set_fragment(None);
        shown.to_string()
    }
}

/// Returns the URL of a signal below that of a collector.
fn below(name: &str, text: &str, signal: Signal) -> Result<Url, BadSetting> {
    let mut url = parsed(name, text)?;
    let path = format!("{}/{}", url.path().trim_end_matches('/'), signal.path());
    url.set_path(&path);
    Ok(url)
}

/// Returns the URL of a collector, if that of the command line has the path of metrics already.
fn beginning(text: &str) -> &str {
    let whole = format!("/{}", Signal::Metrics.path());
    text.trim_end_matches('/').strip_suffix(&whole).unwrap_or(text)
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

fn parsed(name: &str, text: &str) -> Result<Url, BadSetting> {
    let wrong = |what: &str| BadSetting {
        message: format!("{name}: {what}"),
        help: format!("name the URL of a collector, such as {ENDPOINT}"),
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(&format!("a collector has an http:// or https:// URL, not {scheme}:"))),
    }
}

fn headers(name: &str, text: &str) -> Result<HeaderMap, BadSetting> {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(name, text)? {
        // The value may be a secret.
        let wrong = || BadSetting {
            message: format!(
                "{name}: \"{key}\" is no header, or has a value that no header may have"
            ),
            help: "write NAME=VALUE,NAME=VALUE, with percent-encoded values".to_owned(),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(HeaderName::try_from(&key).map_err(|_| wrong())?, value);
    }
    Ok(headers)
}

/// Splits `key=value,key=value`, which is percent-encoded.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, BadSetting> {
    let written = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
        let decoded =
            |text: &str| Some(percent_decode_str(text.trim()).decode_utf8().ok()?.into_owned());
        Some((decoded(key)?, decoded(value)?))
    };
    // An entry may be a secret.
    let wrong = |number: usize| BadSetting {
        message: format!("{name}: entry {} is not KEY=VALUE", number + 1),
        help: "write KEY=VALUE,KEY=VALUE, with percent-encoded values".to_owned(),
    };
    written.enumerate().map(|(number, text)| pair(text).ok_or_else(|| wrong(number))).collect()
}

fn milliseconds(name: &str, text: &str) -> Result<Duration, BadSetting> {
    let ms = text.trim().parse().ok().filter(|ms| *ms > 0);
    ms.map(Duration::from_millis).ok_or_else(|| BadSetting {
        message: format!("{name} is \"{text}\", which is no number of milliseconds above 0"),
        help: format!("set it to a whole number, such as {name}=10000"),
    })
}

fn one_of<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, BadSetting> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim()));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        BadSetting {
            message: format!("{name} is \"{text}\", which loadgen does not know"),
            help: format!("use one of: {}", words.join(", ")),
        }
    })
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
        assert_eq!(url(Some("https://a/otlp/v1/metrics"), &[]), "https://a/otlp/v1/traces");
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
