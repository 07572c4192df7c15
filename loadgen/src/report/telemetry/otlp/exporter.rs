//! Sends what is known to a collector, again and again.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Identity, Response, redirect};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::message::{Gauges, Span, ended, gauges, message};
use super::settings::{BadSetting, OtlpSettings, Temporality};
use crate::report::telemetry::known::Known;
use crate::report::telemetry::shared::Shared;
use crate::text::in_one_line;

/// Time in which the last message must arrive, after the end of the measurement.
const PATIENCE: Duration = Duration::from_secs(5);

/// Wait after a message that did not arrive, and the longest wait after several.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Statuses after which the same message may be sent again, by the specification of OTLP.
const REPEATABLE: [u16; 4] = [429, 502, 503, 504];

/// Most bytes of a collector's answer that are read.
const MOST: usize = 64 * 1024;

/// Sends what is known to a collector.
pub(in crate::report::telemetry) struct Exporter {
    client: Client,
    settings: OtlpSettings,
    shared: Arc<Shared>,
    /// What the collector knows, and since when; only for differences.
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
        let delivered = (Known::default(), shared.start);
        Ok(Self { client, settings, shared, delivered, gauges: Gauges::new() })
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
            shared.unless_all_told(ticks.tick()).await;
            let is_all = shared.all_told.is_cancelled();
            match self.export(is_all).await {
                Ok(()) if is_all => return,
                Ok(()) => wait = FIRST_WAIT,
                // The same message again would be refused again.
                Err(refused) if is_all && !refused.may_be_repeated => return,
                Err(Refused { retry_after, .. }) if is_all => {
                    sleep(retry_after.unwrap_or_default().max(FIRST_WAIT)).await;
                }
                Err(Refused { retry_after, .. }) => {
                    shared.unless_all_told(sleep(retry_after.unwrap_or_default().max(wait))).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                    ticks.reset_immediately();
                }
            }
        }
    }

    /// Sends what is known. `is_all` tells whether that is all that was measured. Fails if it has not arrived.
    async fn export(&mut self, is_all: bool) -> Result<(), Refused> {
        let end = SystemTime::now();
        let known = self.shared.known().clone();
        let temporality = self.settings.temporality;
        let since;
        let (of, start) = match temporality {
            Temporality::Cumulative => (&known, self.shared.start),
            Temporality::Delta => {
                since = known.since(&self.delivered.0);
                (&since, self.delivered.1)
            }
        };
        let points = of.points();
        let present = gauges(&points);
        let ended = ended(&self.gauges, &present);
        if points.is_empty() && ended.is_empty() && !is_all {
            return Ok(());
        }
        let span = Span { start, end, temporality };
        let body = message(&self.shared.resource, &points, &ended, span).encode_to_vec();
        match self.send(body).await {
            Ok(rejected) => {
                self.shared.delivered(rejected, is_all);
                self.gauges = present;
                self.keep(known, end);
                Ok(())
            }
            Err(refused) => {
                // What the collector does not want must not be sent again. Sums are not: they have grown.
                let is_lost = temporality == Temporality::Delta && !refused.may_be_repeated;
                self.shared.failed(&refused.why, is_lost);
                if is_lost {
                    self.keep(known, end);
                }
                Err(refused)
            }
        }
    }

    /// Keeps what the collector knows, from which the next difference begins.
    fn keep(&mut self, known: Known, end: SystemTime) {
        if self.settings.temporality == Temporality::Delta {
            self.delivered = (known, end);
        }
    }

    /// Sends a message, and returns the number of values that the collector rejected, with its reason.
    async fn send(&self, body: Vec<u8>) -> Result<Option<(u64, String)>, Refused> {
        let OtlpSettings { url, headers, timeout, is_compressed, .. } = &self.settings;
        let mut request = self.client.post(url.clone()).timeout(*timeout);
        request = request.header(CONTENT_TYPE, "application/x-protobuf").headers(headers.clone());
        let request = match is_compressed {
            true => request.header(CONTENT_ENCODING, "gzip").body(compressed(&body)),
            false => request.body(body),
        };
        let response = request.send().await.map_err(|error| Refused {
            why: described(error),
            may_be_repeated: true,
            retry_after: None,
        })?;
        let status = response.status();
        let retry_after = retry_after(&response);
        // Whoever answers with success has the message, whatever becomes of the answer.
        let answer = read(response).await;
        if !status.is_success() {
            let said = shortened(&String::from_utf8_lossy(&answer));
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(Refused {
                why: format!("it answers {status}{said}"),
                may_be_repeated: REPEATABLE.contains(&status.as_u16()),
                retry_after,
            });
        }
        let answer = ExportMetricsServiceResponse::decode(&*answer).unwrap_or_default();
        let partial = answer.partial_success.filter(|partial| partial.rejected_data_points > 0);
        Ok(partial.map(|partial| {
            let values = u64::try_from(partial.rejected_data_points).unwrap_or(0);
            (values, shortened(&partial.error_message))
        }))
    }
}

/// Why a message has not arrived.
struct Refused {
    why: String,
    /// Whether the same message may be sent again.
    may_be_repeated: bool,
    /// Time for which the collector wants to be left alone, if it named one.
    retry_after: Option<Duration>,
}

/// Returns the time in seconds of the header `retry-after`, up to the longest wait.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// Returns the beginning of what a collector says, without what a terminal would obey.
fn shortened(text: &str) -> String {
    let start: String = text.trim().chars().take(200).collect();
    in_one_line(&start).into_owned()
}

fn client(settings: &OtlpSettings) -> Result<Client, BadSetting> {
    let mut builder = Client::builder().redirect(redirect::Policy::none());
    if let Some(authorities) = &settings.authorities {
        let pem = authorities.read()?;
        let all = reqwest::Certificate::from_pem_bundle(&pem);
        let all = all.map_err(|error| authorities.wrong(&root(&error)))?;
        if all.is_empty() {
            return Err(authorities.wrong("it has no certificate"));
        }
        builder = builder.tls_certs_merge(all);
    }
    match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => {
            let mut pem = certificate.read()?;
            pem.push(b'\n');
            pem.extend(key.read()?);
            let identity = Identity::from_pem(&pem);
            let identity = identity.map_err(|error| certificate.wrong(&root(&error)))?;
            builder = builder.identity(identity);
        }
        (Some(one), None) => return Err(one.wrong("a certificate needs its private key")),
        (None, Some(one)) => return Err(one.wrong("a private key needs its certificate")),
        (None, None) => {}
    }
    builder.build().map_err(|error| BadSetting {
        message: format!("the system does not allow to connect to a collector: {}", root(&error)),
        help: "leave out --otlp".to_owned(),
    })
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writes to memory don't fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// Reads an answer, or as much of it as arrives and is of interest.
async fn read(mut response: Response) -> Vec<u8> {
    let mut answer = Vec::new();
    while let Ok(Some(part)) = response.chunk().await {
        answer.extend_from_slice(&part[..part.len().min(MOST - answer.len())]);
        if answer.len() == MOST {
            break;
        }
    }
    answer
}

/// Describes an error by its cause, without the URL, which may have a password.
fn described(error: reqwest::Error) -> String {
    match error.is_timeout() {
        true => "it did not answer in time".to_owned(),
        false => root(&error.without_url()),
    }
}

/// Returns the first cause of an error.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(of) = cause.source() {
        cause = of;
    }
    cause.to_string()
}
