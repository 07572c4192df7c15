//! Where and how the messages of one signal are sent, by the variables for it.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::HeaderMap;
use url::Url;

use super::variables::{BadSetting, ENDPOINT, headers, milliseconds, one_of, parsed};

/// Protocol in which loadgen exports.
const PROTOCOL: &str = "http/protobuf";

/// Metrics or spans: OpenTelemetry has an address and settings for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
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

impl Destination {
    /// Reads the settings for a signal. `url` and `variable` are as for [`super::OtlpSettings::read`].
    ///
    /// # Errors
    /// If a setting cannot be followed.
    pub fn read(
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

/// Returns the URL of a collector, if that of the command line has the path of a signal already.
fn beginning(text: &str) -> &str {
    let without = |signal: Signal| {
        let path = format!("/{}", signal.path());
        text.trim_end_matches('/').strip_suffix(&path)
    };
    without(Signal::Metrics).or_else(|| without(Signal::Traces)).unwrap_or(text)
}
