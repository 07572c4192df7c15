//! Sends messages to a collector.

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Identity, Response, redirect};

use super::destination::Destination;
use super::patience::LONGEST_WAIT;
use super::variables::BadSetting;
use crate::text::in_one_line;

/// Statuses after which the same message may be sent again, by the specification of OTLP.
const REPEATABLE: [u16; 4] = [429, 502, 503, 504];

/// Most bytes of a collector's answer that are read.
const MOST: usize = 64 * 1024;

/// Sends the messages of one signal to a collector.
pub(super) struct Sender {
    client: Client,
    to: Destination,
}

impl Sender {
    /// Prepares to send. Reads the files that the settings name.
    ///
    /// # Errors
    /// If a file cannot be read, or holds no certificate or key.
    pub(super) fn new(to: Destination) -> Result<Self, BadSetting> {
        Ok(Self { client: client(&to)?, to })
    }

    /// Sends a message, and returns the collector's answer.
    pub(super) async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, Refused> {
        let Destination { url, headers, timeout, is_compressed, .. } = &self.to;
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
        let is_page = is_page(&response);
        // A collector that answers with success has the message, even if the rest of its answer is lost.
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
        if is_page {
            let why = format!("it answers {status} with a page of HTML, and is no collector");
            return Err(Refused { why, may_be_repeated: false, retry_after: None });
        }
        Ok(answer)
    }
}

/// Why a message has not arrived.
pub(super) struct Refused {
    pub why: String,
    /// Whether the same message may be sent again.
    pub may_be_repeated: bool,
    /// Time for which the collector wants to be left alone, if it named one.
    pub retry_after: Option<Duration>,
}

/// Whether the answer is a page, as that of a login in between or of a wrong path. Collectors answer with a message of
/// the protocol, and some with nothing.
fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

/// Returns the time in seconds of the header `retry-after`, up to the longest wait.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// Returns the beginning of what a collector says, without what a terminal would obey.
pub(super) fn shortened(text: &str) -> String {
    let start: String = text.trim().chars().take(200).collect();
    in_one_line(&start).into_owned()
}

fn client(to: &Destination) -> Result<Client, BadSetting> {
    let mut builder = Client::builder().redirect(redirect::Policy::none());
    if let Some(authorities) = &to.authorities {
        let pem = authorities.read()?;
        let all = reqwest::Certificate::from_pem_bundle(&pem);
        let all = all.map_err(|error| authorities.wrong(&root(&error)))?;
        if all.is_empty() {
            return Err(authorities.wrong("it has no certificate"));
        }
        builder = builder.tls_certs_merge(all);
    }
    match (&to.certificate, &to.key) {
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
