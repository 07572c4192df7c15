//! Checks whether an answer is the expected one.

mod capture;
mod conditions;
pub(super) mod expectations;
mod json;
mod known;
mod pointer;

use std::time::Duration;

use serde_json::Value;

use self::capture::Captures;
use self::conditions::Conditions;
use self::expectations::{checks_body, is_expected, reads_json};
use self::json::Lookup;
use self::known::Known;
use super::content_encoding::Undecodable;
use super::transport::{Answer, REDIRECTS, is_redirect};
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Action, Data, Step};

/// Difference between a step's expectation and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Kind of error as which the request counts.
    pub kind: ErrorKind,
    /// The step's expectation, in words.
    pub expected: String,
    /// The answer that came instead, in words.
    pub got: String,
}

impl Wrong {
    /// Returns expectation and answer in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("expected {}, got {}", self.expected, self.got)
    }
}

impl From<Undecodable> for Wrong {
    fn from(Undecodable { expected, got }: Undecodable) -> Self {
        Self { kind: ErrorKind::Expectation, expected, got }
    }
}

/// Checks the answers to one step against the step's expectations. Prepared once for all users.
#[derive(Debug)]
pub struct Check {
    step: Step,
    checks_body: bool,
    reads_json: bool,
    conditions: Conditions,
    lookup: Option<Lookup>,
    known: Known,
    captures: Captures,
}

impl Check {
    /// Prepares the check of a step's answers.
    #[must_use]
    pub fn new(step: &Step) -> Self {
        let (conditions, captures) = (Conditions::new(&step.expect), Captures::new(step));
        let (lookup, known) = (Lookup::new(step), Known::new());
        let (checks_body, reads_json) = (checks_body(step), reads_json(step));
        let step = step.clone();
        Self { step, checks_body, reads_json, conditions, lookup, known, captures }
    }

    /// Compares an answer with the step's expectation, and reads the answer's counters into
    /// `counters`. Returns the first difference.
    pub fn hold(&self, answer: &Answer<'_>, counters: &mut Vec<u64>) -> Result<(), Wrong> {
        counters.clear();
        self.status(answer)?;
        self.conditions.headers(answer.headers)?;
        self.stream(answer)?;
        if !self.checks_body || self.known.has(answer.codings(), &answer.body, counters) {
            return Ok(());
        }
        let body = answer.plain()?;
        self.conditions.text(body)?;
        self.json(body, counters)?;
        self.known.keep(answer.codings(), &answer.body, counters);
        Ok(())
    }

    /// Compares an answer with the step's expectation, reads the answer's counters
    /// into `counters` and captures the answer's values into `data`. `latency` is
    /// `None` if it does not matter. After an error, `counters` is empty and `data` is unchanged.
    pub fn take(
        &self,
        answer: &Answer<'_>,
        latency: Option<Duration>,
        counters: &mut Vec<u64>,
        data: &mut Data,
    ) -> Result<(), Wrong> {
        self.hold(answer, counters)?;
        latency
            .map_or(Ok(()), |latency| self.latency(latency))
            .and_then(|()| self.captures.take(answer, data))
            .inspect_err(|_| counters.clear())
    }

    /// Returns whether a step with a WebSocket ends not with this message but with a later one: the message
    /// lacks what the step expects, and has nothing of what must not come.
    #[must_use]
    pub fn passes_over(&self, answer: &Answer<'_>) -> bool {
        self.step.action.ends_with_message() && self.conditions.is_other(&answer.body)
    }

    fn status(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        if is_expected(&self.step, answer.status) {
            return self.grpc_status(answer);
        }
        let expected = format!("status {}", self.step.expect.status);
        let redirect = match answer.status {
            status if is_redirect(status) && self.step.action == Action::Connect => {
                ", a redirect, which an opening handshake does not follow"
            }
            status if is_redirect(status) && self.step.redirects > 0 => {
                ", a redirect without a `location` that can be followed"
            }
            status if is_redirect(status) => ", a redirect, which `redirects` would follow",
            200..=299
                if self.step.redirects > 0
                    && REDIRECTS.iter().any(|it| self.step.expect.status.has(*it)) =>
            {
                " (`redirects` follows a redirect, and `redirects = 0` would leave it)"
            }
            _ => "",
        };
        let got = format!("{}{redirect}: {}", answer.status, answer.shown());
        Err(Wrong { kind: ErrorKind::Status, expected, got })
    }

    fn grpc_status(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        match (&self.step.expect.grpc_status, answer.reply()) {
            (Some(expected), Some(reply)) if !expected.has(reply.status()) => {
                let message = match reply.message() {
                    "" => String::new(),
                    message => format!(": {}", shown(message.as_bytes())),
                };
                let expected = format!("grpc-status {expected}");
                let got = format!("{}{message}", reply.status());
                Err(Wrong { kind: ErrorKind::Status, expected, got })
            }
            _ => Ok(()),
        }
    }

    /// Compares the stream with the expected one.
    fn stream(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        let (Some(stream), Some(streamed)) = (&self.step.expect.stream, answer.streamed) else {
            return Ok(());
        };
        let wrong = |got| Wrong { kind: ErrorKind::Stream, expected: stream.to_string(), got };
        streamed.compare(stream).map_err(wrong)
    }

    /// Compares the latency with the longest expected one.
    fn latency(&self, latency: Duration) -> Result<(), Wrong> {
        match self.step.expect.within {
            Some(within) if latency > within => Err(Wrong {
                kind: ErrorKind::Expectation,
                expected: format!("a response within {}", humantime::format_duration(within)),
                got: "a later one".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn json(&self, body: &[u8], counters: &mut Vec<u64>) -> Result<(), Wrong> {
        if !self.reads_json {
            return Ok(());
        }
        let body = without_mark(body);
        counters.resize(self.step.counters.len(), 0);
        if self.lookup.as_ref().is_some_and(|lookup| lookup.passes(body, counters)) {
            return Ok(());
        }
        counters.clear();
        self.json_in_memory(body, counters)
    }

    /// Checks a body that the lookup did not confirm. Parses the whole
    /// document, so that an error can show what is wrong.
    fn json_in_memory(&self, body: &[u8], counters: &mut Vec<u64>) -> Result<(), Wrong> {
        let wrong = |expected: String, got: String| {
            Err(Wrong { kind: ErrorKind::Expectation, expected, got })
        };
        let Ok(json) = serde_json::from_slice::<Value>(body) else {
            return wrong("a JSON body".to_owned(), shown(body));
        };
        let at = |pointer: &str| match json.pointer(pointer) {
            Some(found) => format!("{} at {pointer:?}", shown(found.to_string().as_bytes())),
            None => format!("nothing at {pointer:?} of {}", shown(body)),
        };
        self.conditions.json(&json, at)?;
        for counter in &self.step.counters {
            match json.pointer(&counter.pointer).and_then(Value::as_u64) {
                Some(n) => counters.push(n),
                None => {
                    counters.clear();
                    let expected = format!("a whole number at {:?}", counter.pointer);
                    return wrong(expected, at(&counter.pointer));
                }
            }
        }
        Ok(())
    }
}

impl Answer<'_> {
    /// Returns the beginning of the body on one line, for an error message.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.beginning())
    }
}

/// Returns a body without the byte order mark that it may begin with. Browsers and other clients ignore it before
/// JSON, too (RFC 8259, section 8.1, and the Fetch standard).
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// Whether two JSON values are equal; 1 and 1.0 are the same number. Whole numbers are compared
/// exactly, because beyond 2^53 several whole numbers share one floating-point number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, a)| b.get(k).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Returns the first 120 characters of a body on one line, for an error message.
fn shown(body: &[u8]) -> String {
    const LONGEST: usize = 120;
    if body.is_empty() {
        return "an empty body".to_owned();
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * LONGEST)]);
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
