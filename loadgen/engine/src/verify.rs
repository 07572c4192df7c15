//! Verifies, before a round is measured, that the server answers: with one request for each step.

use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

use super::plan::Plan;
use super::transport::{PARTLY, PROXY, REDIRECTED};
use super::trial::{Trial, TrialAnswer, Tried};
use loadgen_measure::ErrorKind;
use loadgen_scenario::Step;

/// Difference between a server's answer and a step's expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the step.
    pub step: String,
    /// Method and URL of the request.
    pub request: String,
    /// The step's expectation, in words.
    pub expected: String,
    /// The answer that came instead, or the error, in words.
    pub got: String,
    /// Status of the answer; `None` if none came.
    pub status: Option<u16>,
    /// Kind of the failure; `None` if anything of an answer came, or nothing was sent.
    pub kind: Option<ErrorKind>,
}

impl Mismatch {
    /// Returns the difference between the answer to a step and the step's expectation, if any.
    pub(super) fn of(step: &Step, tried: Tried) -> Option<Self> {
        let Tried { request, answer, wrong, kind, .. } = tried;
        let (expected, got) = wrong?;
        let status = answer.map(|answer| answer.status);
        Some(Self { step: step.name.clone(), request, expected, got, status, kind })
    }

    /// Returns whether nothing of an answer came.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.status.is_none() && self.kind.is_some_and(is_of_connection)
    }

    /// Returns the fix for a server that does not answer; `None` if it answers.
    fn fix_of_silence(&self) -> Option<&'static str> {
        let got = self.got.to_lowercase();
        match self.status {
            Some(_) => None,
            None if got.starts_with("not sent") => {
                Some("correct what the step sends, or what an earlier step captures for it")
            }
            None if got.contains("closed the websocket") => {
                Some("the server closed the WebSocket: see its log, and what its code means")
            }
            None if got.contains(PARTLY) => Some("the server broke off its response: see its log"),
            None if got.contains("refused the tls connection")
                || got.contains("no tls version or cipher in common") =>
            {
                Some(
                    "see which versions of TLS and which ciphers the server allows; `version` in [http.tls] \
                     chooses loadgen's",
                )
            }
            None if got.contains(PROXY) => {
                Some("see whether the proxy runs and lets loadgen pass: `proxy` in [http]")
            }
            None if got.contains(REDIRECTED) => {
                Some("see to which host the server redirects, and whether that host can be reached")
            }
            None if self.is_over_socket() && self.kind == Some(ErrorKind::Connect) => Some(
                "see whether the server listens at this socket; a path of requests follows a colon: unix:PATH:/search",
            ),
            None if got.contains("refused") => Some(
                "nothing listens at this address: start the server, or correct the host and the port",
            ),
            None if got.contains("authority") => Some(
                "trust the certificate with --cacert or [http.tls], or accept any with --insecure",
            ),
            None if got.contains("names no host") => Some(
                "issue the certificate with a subject alternative name, or accept any with --insecure",
            ),
            None if got.contains("certificate is for") => Some(
                "write a host of the certificate in the URL, or name it as `server_name` in [http.tls]",
            ),
            None if got.contains("server's certificate") => {
                Some("renew the certificate of the server, or accept any with --insecure")
            }
            // What rustls says of a response in the clear, and what `http1` and `http2` say.
            None if got.contains("invalidcontenttype") || got.contains("does not speak tls") => {
                Some("the server does not speak TLS at this port: write http://")
            }
            None if got.contains("during the tls handshake") => Some(
                "see whether the server speaks TLS at this port, in a version that [http.tls] allows",
            ),
            None if got.contains("before the response") => Some(self.fix_of_an_early_end()),
            // Something came, but not what the step expects.
            None if self.kind.is_none_or(|kind| !is_of_connection(kind)) => None,
            None => Some("see whether the server runs, or correct the host and the port"),
        }
    }

    /// Whether the request went to a Unix domain socket.
    fn is_over_socket(&self) -> bool {
        [" unix:", " http+unix:"].iter().any(|begin| self.request.contains(begin))
    }

    /// Returns the fix for a server that closes the connection without a response.
    fn fix_of_an_early_end(&self) -> &'static str {
        match self.request.contains(" https://") {
            true => {
                "see whether the server runs, or requires a certificate of the client: --cert and --key"
            }
            false if self.is_over_socket() => "see whether the server runs",
            false => "see whether the server runs, or speaks TLS at this port: write https://",
        }
    }
}

/// Whether nothing that the server has sent explains a failure of this kind.
fn is_of_connection(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connect | ErrorKind::Reset | ErrorKind::Timeout)
}

/// Reason why a verification failed.
#[derive(Debug, Error, Diagnostic)]
pub enum VerifyError {
    /// The server answered otherwise than expected, or not at all.
    #[error(
        "{who} does not respond as the scenario expects\n  step      {}\n  request   {}\n  expected  {}\n  got       {}",
        mismatch.step, mismatch.request, mismatch.expected, mismatch.got
    )]
    #[diagnostic(code(unexpected_response), help("{help}"))]
    Mismatch {
        /// Name of the target, or its URL.
        who: String,
        /// The first difference that was found.
        mismatch: Box<Mismatch>,
        /// Fix.
        help: String,
    },
    /// The HTTP client could not be created.
    #[error("cannot create an HTTP client: {0}")]
    #[diagnostic(
        code(no_http_client),
        help("check [http] in the scenario, or the files of --cacert, --cert and --key")
    )]
    Client(String),
}

impl VerifyError {
    /// Returns the error of a step that did not go as expected; `None` if it did. `fix` is the fix for a server that
    /// answers.
    pub(super) fn of(who: &str, step: &Step, tried: Tried, fix: &str) -> Option<Self> {
        let mismatch = Mismatch::of(step, tried)?;
        let help = mismatch.fix_of_silence().unwrap_or(fix).to_owned();
        Some(Self::Mismatch { who: who.to_owned(), mismatch: Box::new(mismatch), help })
    }
}

/// Responses that a verification demands of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The expected answer to each step, at the latest at the third attempt: a step may have
    /// legitimate failures.
    Expected,
    /// Any answer to each step, because the server has passed a verification before. A failure that
    /// persists is measured.
    Answer,
}

/// Answers of a server that passed the verification.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Values of each step's counters, in the order of the steps; empty for a step without an
    /// expected answer.
    pub counters: Vec<Vec<u64>>,
    /// Expected answer to each step, in the order of the steps; `None` for a step that was left out
    /// or got another answer.
    pub answers: Vec<Option<TrialAnswer>>,
    /// Number of requests without the expected answer. The server may have carried them out.
    pub failed: u64,
}

/// Fix for an unexpected answer to a step of a scenario's file.
const FIX: &str = "fix the server, or the `expect` of the step; `verify = false` leaves a step out that \
                   may fail";

/// Number of attempts at a step, and the pause between them.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Sends each step of the plan that is to be verified, in order, and compares the answers with what is
/// demanded. `who` names the server in an error. These requests are not counted.
pub async fn verify(plan: &Plan, who: &str, demand: Demand) -> Result<Verified, VerifyError> {
    let mut verified = Verified::default();
    let trial = Trial::new(plan).map_err(VerifyError::Client)?;
    let mut user = trial.user(0);
    let mut left_out = false;
    for (index, step) in plan.scenario.steps.iter().enumerate() {
        let mut last = Tried::default();
        if step.verify {
            for attempt in 0..ATTEMPTS {
                if attempt > 0 {
                    tokio::time::sleep(PAUSE).await;
                }
                last = user.send(index).await;
                verified.failed += u64::from(last.is_sent && last.wrong.is_some());
                // A server that does not answer at all will not answer a moment later.
                let is_done = last.wrong.is_none() || last.answer.is_none();
                if is_done || demand == Demand::Answer {
                    break;
                }
            }
        }
        let is_left_out = !step.verify || last.left_out.is_some();
        let is_excused = match demand {
            // The step may need a value of a step that was left out.
            Demand::Expected => left_out && !last.is_sent,
            Demand::Answer => last.answer.is_some() || !last.is_sent,
        };
        left_out |= is_left_out;
        if last.wrong.is_none() && !is_left_out {
            verified.counters.push(last.counters);
            verified.answers.push(last.answer);
            continue;
        }
        if let Some(error) = VerifyError::of(who, step, last, FIX).filter(|_| !is_excused) {
            return Err(error);
        }
        verified.counters.push(Vec::new());
        verified.answers.push(None);
    }
    Ok(verified)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_fits_the_cause() {
        let fix = |url: &str, kind: Option<ErrorKind>, got: &str| {
            let request = format!("GET {url}/");
            let (step, expected) = ("it".to_owned(), "a response".to_owned());
            let got = got.to_owned();
            let mismatch = Mismatch { step, request, expected, got, status: None, kind };
            mismatch.fix_of_silence().unwrap_or(FIX)
        };
        let closed = "a reset error: the connection was closed before the response was complete";
        for (url, kind, got, part) in [
            (
                "http://a",
                Some(ErrorKind::Connect),
                "a connect error: Connection refused (os error 111)",
                "nothing listens",
            ),
            ("http://a", Some(ErrorKind::Reset), closed, "https://"),
            ("https://a", Some(ErrorKind::Reset), closed, "--cert and --key"),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server does not speak TLS",
                "write http://",
            ),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server's certificate has expired",
                "renew",
            ),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server's certificate is for another host name: it is for b",
                "server_name",
            ),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server's certificate is its own authority, which …",
                "--cacert",
            ),
            (
                "http://a",
                Some(ErrorKind::Protocol),
                "a protocol error: the response is no HTTP",
                "`expect`",
            ),
            ("http://a", None, "no expected message within 1s, but another: x", "`expect`"),
            ("http://a", Some(ErrorKind::Timeout), "none", "see whether the server runs"),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server refused the TLS connection: alert ProtocolVersion",
                "versions of TLS",
            ),
            (
                "https://a",
                Some(ErrorKind::Connect),
                "a connect error: the server's certificate names no host: it has no subject alternative name",
                "subject alternative name",
            ),
            (
                "http://a",
                Some(ErrorKind::Reset),
                "a reset error: the server closed the WebSocket with code 1013: \"try later\"",
                "the server closed the WebSocket",
            ),
            (
                "http://a",
                Some(ErrorKind::Reset),
                "a reset error: Connection reset by peer (os error 104), after a part of the response",
                "broke off its response",
            ),
            (
                "http://a",
                Some(ErrorKind::Connect),
                "a connect error: 127.0.0.1:9, to which the server redirects: Connection refused (os error 111)",
                "to which host the server redirects",
            ),
            (
                "http://a",
                Some(ErrorKind::Connect),
                "a connect error: the proxy 127.0.0.1:9: Connection refused (os error 111)",
                "whether the proxy runs",
            ),
        ] {
            let fix = fix(url, kind, got);
            assert!(fix.contains(part), "{got}: {fix}");
        }
    }
}
