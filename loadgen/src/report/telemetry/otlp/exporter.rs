//! Sends what is known to a collector, again and again.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, Identity, Response, redirect};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::message::{Gauges, Span, gauges, message};
use super::settings::{BadSetting, OtlpSettings, Temporality};
use crate::report::telemetry::known::Known;
use crate::report::telemetry::shared::Shared;
use crate::text::in_one_line;

/// Time in which the last message must arrive, after the end of the measurement.
const PATIENCE: Duration = Duration::from_secs(5);

/// Wait after a message that did not arrive, and the longest wait after several.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Most bytes of a collector's answer that are read.
const MOST: usize = 64 * 1024;

/// Sends what is known to a collector.
pub(in crate::report::telemetry) struct Exporter {
    client: Client,
    settings: OtlpSettings,
    shared: Arc<Shared>,
    /// When counting began.
    start: SystemTime,
    /// What the collector knows, and since when.
    delivered: (Known, SystemTime),
    /// Gauges that have a value there.
    gauges: Gauges,
}

impl Exporter {
    /// Prepares to send what is known to a collector. Reads the files that the settings name.
    ///
    /// # Errors
    /// If a file cannot be read, or holds no certificate or key.
    pub(in crate::report::telemetry) fn new(
        settings: OtlpSettings,
        shared: Arc<Shared>,
    ) -> Result<Self, BadSetting> {
        let client = client(&settings)?;
        let start = SystemTime::now();
        Ok(Self {
            client,
            settings,
            shared,
            start,
            delivered: (Known::default(), start),
            gauges: Gauges::new(),
        })
    }

    /// Sends what is known until the end of the measurement, and then all of it.
    pub(in crate::report::telemetry) async fn run(mut self) {
        let shared = self.shared.clone();
        let overdue = async {
            shared.all_told.cancelled().await;
            sleep(PATIENCE).await;
        };
        tokio::select! {
            biased;
            () = self.export_all() => {}
            () = overdue => shared.overdue(),
        }
    }

    /// Sends what is known, again and again, until a message has arrived that has all of it.
    async fn export_all(&mut self) {
        let shared = self.shared.clone();
        let mut ticks = interval(self.settings.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut wait = FIRST_WAIT;
        loop {
            shared.until_told(ticks.tick()).await;
            let is_all = shared.all_told.is_cancelled();
            match self.export(is_all).await {
                true if is_all => return,
                true => wait = FIRST_WAIT,
                false if is_all => sleep(FIRST_WAIT).await,
                false => {
                    shared.until_told(sleep(wait)).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    /// Sends what is known, and returns whether it has arrived. `is_all` tells whether that is all that was measured.
    async fn export(&mut self, is_all: bool) -> bool {
        let end = SystemTime::now();
        let known = self.shared.known().clone();
        let (of, start) = match self.settings.temporality {
            Temporality::Cumulative => (known.clone(), self.start),
            Temporality::Delta => (known.since(&self.delivered.0), self.delivered.1),
        };
        let span = Span { start, end, temporality: self.settings.temporality };
        let points = of.points();
        let present = gauges(&points);
        let gone = self.gauges.difference(&present).cloned().collect();
        let body = message(&self.shared.resource, &points, &gone, span).encode_to_vec();
        self.shared.attempted();
        match self.send(body).await {
            Ok(rejected) => {
                self.shared.delivered(rejected, is_all);
                (self.delivered, self.gauges) = ((known, end), present);
                true
            }
            Err(why) => {
                self.shared.failed(&why);
                false
            }
        }
    }

    /// Sends a message, and returns the number of values that the collector rejected, with its reason.
    async fn send(&self, body: Vec<u8>) -> Result<Option<(u64, String)>, String> {
        let OtlpSettings { url, headers, timeout, is_compressed, .. } = &self.settings;
        let mut request = self.client.post(url.clone()).timeout(*timeout);
        request = request.header(CONTENT_TYPE, "application/x-protobuf").headers(headers.clone());
        let request = match is_compressed {
            true => request.header(CONTENT_ENCODING, "gzip").body(compressed(&body)),
            false => request.body(body),
        };
        let response = request.send().await.map_err(described)?;
        let status = response.status();
        let answer = read(response).await?;
        if !status.is_success() {
            let said = shortened(&String::from_utf8_lossy(&answer));
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(format!("it answers {status}{said}"));
        }
        let answer = ExportMetricsServiceResponse::decode(&*answer).unwrap_or_default();
        let partial = answer.partial_success.filter(|partial| partial.rejected_data_points > 0);
        Ok(partial.map(|partial| {
            let values = u64::try_from(partial.rejected_data_points).unwrap_or(0);
            (values, shortened(&partial.error_message))
        }))
    }
}

/// Returns the beginning of what a collector says, without what a terminal would obey.
fn shortened(text: &str) -> String {
    let start: String = text.trim().chars().take(200).collect();
    in_one_line(&start).into_owned()
}

fn client(settings: &OtlpSettings) -> Result<Client, BadSetting> {
    let mut builder = Client::builder().redirect(redirect::Policy::none());
    let file = |name: &str, path: &std::path::Path| {
        std::fs::read(path).map_err(|error| BadSetting {
            message: format!("OTEL_EXPORTER_OTLP_{name}: cannot read {}: {error}", path.display()),
            help: "name a file in PEM form".to_owned(),
        })
    };
    let wrong = |name: &str, error: &reqwest::Error| BadSetting {
        message: format!("OTEL_EXPORTER_OTLP_{name}: {error}"),
        help: "name a file in PEM form".to_owned(),
    };
    if let Some(path) = &settings.authorities {
        let pem = file("CERTIFICATE", path)?;
        let of = reqwest::Certificate::from_pem_bundle(&pem);
        let of = of.map_err(|error| wrong("CERTIFICATE", &error))?;
        builder = builder.tls_certs_merge(of);
    }
    if let (Some(certificate), Some(key)) = (&settings.certificate, &settings.key) {
        let mut pem = file("CLIENT_CERTIFICATE", certificate)?;
        pem.push(b'\n');
        pem.extend(file("CLIENT_KEY", key)?);
        let identity = Identity::from_pem(&pem);
        builder = builder.identity(identity.map_err(|error| wrong("CLIENT_CERTIFICATE", &error))?);
    }
    builder.build().map_err(|error| wrong("CERTIFICATE", &error))
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writes to memory don't fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// Reads an answer, or as much of it as is of interest.
async fn read(mut response: Response) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    while let Some(part) = response.chunk().await.map_err(described)? {
        answer.extend_from_slice(&part[..part.len().min(MOST - answer.len())]);
        if answer.len() == MOST {
            break;
        }
    }
    Ok(answer)
}

/// Describes an error by its cause, without the URL, which may have a password.
fn described(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(of) = cause.source() {
        cause = of;
    }
    cause.to_string()
}
