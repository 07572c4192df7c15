//! Checks whether an answer is the expected one.

mod capture;
mod conditions;
pub(super) mod expectations;
mod json;
mod known;

use std::time::Duration;

use serde_json::Value;

use self::capture::Captures;
use self::conditions::Conditions;
use self::expectations::{checks_body, is_expected, reads_json};
use self::json::Lookup;
use self::known::Known;
use super::content_encoding::Undecodable;
use super::transport::Answer;
use crate::measure::ErrorKind;
use crate::scenario::{Action, Data, Step};

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
        Self { step: step.clone(), checks_body, reads_json, conditions, lookup, known, captures }
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
        self.step.action.ends_with_message()
            && self.hold(answer, &mut Vec::new()).is_err()
            && self.conditions.is_other(&answer.body)
    }

    fn status(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        if is_expected(&self.step, answer.status) {
            return self.grpc_status(answer);
        }
        let expected = format!("status {}", self.step.expect.status);
        let redirect = match answer.status {
            301 | 302 | 303 | 307 | 308 if self.step.action == Action::Connect => {
                ", a redirect, which an opening handshake does not follow"
            }
            301 | 302 | 303 | 307 | 308 => ", a redirect, which `redirects` in [http] would follow",
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
mod tests {
    use super::*;
    use crate::engine::transport::{Body, Headers};
    use crate::scenario;

    fn step(keys: &str) -> Step {
        let text = format!("[[step]]\nget = \"/\"\n{keys}");
        scenario::parse("test", "test.toml", &text).unwrap().steps.remove(0)
    }

    fn judge(keys: &str, status: u16, body: &str) -> Result<Vec<u64>, String> {
        let body = Body::Kept(body.as_bytes());
        let answer = Answer { status, headers: Headers::Unkept, body, form: None, streamed: None };
        let mut counters = vec![99];
        Check::new(&step(keys))
            .hold(&answer, &mut counters)
            .map(|()| counters)
            .map_err(|wrong| format!("{}: {}", wrong.kind, wrong.sentence()))
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let keys = "expect = { json = { \"/id\" = 9007199254740993 } }";
        assert_eq!(judge(keys, 200, r#"{"id": 9007199254740993}"#), Ok(vec![]));
        for id in ["9007199254740992", "9007199254740994", "-9007199254740993"] {
            assert!(judge(keys, 200, &format!("{{\"id\": {id}}}")).is_err(), "{id}");
        }
        let keys = "expect = { json = { \"/n\" = 2 } }";
        assert_eq!(judge(keys, 200, r#"{"n": 2.0}"#), Ok(vec![]), "one number in JSON");
    }

    #[test]
    fn without_an_expectation_any_2xx_is_accepted() {
        assert_eq!(judge("", 204, ""), Ok(vec![]));
        for (status, body, got) in [
            (500, "oh\nno", "500: oh no"),
            (304, "", "304: an empty body"),
            (307, "", "307, a redirect, which `redirects` in [http] would follow: an empty body"),
        ] {
            let wrong = format!("status: expected status 2xx, got {got}");
            assert_eq!(judge("", status, body), Err(wrong));
        }
    }

    #[test]
    fn several_statuses_and_classes_may_be_expected() {
        let keys = "expect = { status = [200, \"3xx\", 404] }";
        for status in [200, 302, 404] {
            assert_eq!(judge(keys, status, ""), Ok(vec![]), "{status}");
        }
        assert_eq!(
            judge(keys, 201, ""),
            Err("status: expected status 200, 3xx or 404, got 201: an empty body".to_owned())
        );
    }

    #[test]
    fn json_pointers_must_find_their_value() {
        let keys = r#"expect = { status = 200, json = { "/values/0" = "a", "/n" = 1 } }"#;
        assert_eq!(judge(keys, 200, r#"{"values": ["a"], "n": 1.0}"#), Ok(vec![]));
        assert_eq!(
            judge(keys, 200, r#"{"values": ["b"], "n": 1}"#),
            Err(r#"expectation: expected "a" at "/values/0", got "b" at "/values/0""#.to_owned())
        );
        assert_eq!(
            judge(keys, 200, "<html>"),
            Err("expectation: expected a JSON body, got <html>".to_owned())
        );
    }

    #[test]
    fn a_body_must_contain_its_text() {
        let keys = r#"expect = { body = "Hello" }"#;
        assert_eq!(judge(keys, 200, "Oh, Hello you"), Ok(vec![]));
        assert!(judge(keys, 200, "").is_err());
    }

    #[test]
    fn each_condition_must_hold_and_none_under_not() {
        let body = r#"{"id": 7, "items": ["a", "b"], "error": null, "state": "done"}"#;
        for (keys, holds) in [
            (r#"regex = '"id": \d+'"#, true),
            (r"regex = '^\d+$'", false),
            (r#"json_type = { "/items" = "array", "/error" = "null", "/id" = "number" }"#, true),
            (r#"json_type = { "/items" = "object" }"#, false),
            (r#"json_type = { "/none" = "null" }"#, false),
            (r#"json_size = { "/items" = 2, "/state" = ">= 4", "" = "< 5" }"#, true),
            (r#"json_size = { "/items" = "> 2" }"#, false),
            (r#"json_size = { "/id" = "> 0" }"#, false),
            (r#"not = { body = "failed", regex = 'err\d', json = { "/state" = "failed" } }"#, true),
            (r#"not = { body = "done" }"#, false),
            (r#"not = { json = { "/state" = "done" } }"#, false),
            (r#"not = { json_type = { "/error" = "null" } }"#, false),
            (r#"not = { json_size = { "/items" = 0 } }"#, true),
            (r#"json = { "/id" = 7 }, json_type = { "/state" = "number" }"#, false),
        ] {
            let judged = judge(&format!("expect = {{ {keys} }}"), 200, body);
            assert_eq!(judged.is_ok(), holds, "{keys}: {judged:?}");
        }
        let wrong = |keys: &str| judge(&format!("expect = {{ {keys} }}"), 200, body).unwrap_err();
        insta::assert_snapshot!(
            [
                wrong(r"regex = '^\d+$'"),
                wrong(r#"json_type = { "/items" = "object" }"#),
                wrong(r#"json_size = { "/items" = "> 2" }"#),
                wrong(r#"not = { body = "done" }"#),
                wrong(r#"not = { json = { "/state" = "done" } }"#),
            ]
            .join("\n"),
            @r#"
        expectation: expected a body that matches '^\d+$', got {"id": 7, "items": ["a", "b"], "error": null, "state": "done"}
        expectation: expected an object at "/items", got ["a","b"] at "/items"
        expectation: expected a size > 2 at "/items", got ["a","b"] at "/items"
        expectation: expected anything but a body that contains "done", got {"id": 7, "items": ["a", "b"], "error": null, "state": "done"}
        expectation: expected anything but "done" at "/state", got "done" at "/state"
        "#
        );
    }

    #[test]
    fn a_header_is_expected_or_not() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        let judge = |keys: &str| {
            let body = Body::Kept(b"");
            let answer = Answer {
                status: 200,
                headers: Headers::Head(head),
                body,
                form: None,
                streamed: None,
            };
            let step = step(&format!("expect = {{ {keys} }}"));
            Check::new(&step).hold(&answer, &mut Vec::new()).map_err(|wrong| wrong.sentence())
        };
        for keys in [
            "headers = { content-type = true }",
            "headers = { Content-Type = { regex = '^text/' } }",
            "headers = { content-type = \"text/html; charset=utf-8\" }",
            "not = { headers = { x-error = true, content-type = \"text/html\" } }",
        ] {
            assert_eq!(judge(keys), Ok(()), "{keys}");
        }
        insta::assert_snapshot!(
            [
                judge("headers = { x-error = true }").unwrap_err(),
                judge("headers = { content-type = \"text/html\" }").unwrap_err(),
                judge("not = { headers = { content-type = { regex = 'html' } } }").unwrap_err(),
            ]
            .join("\n"),
            @r#"
        expected a header "x-error", got none
        expected a header "content-type" of "text/html", got "text/html; charset=utf-8"
        expected anything but a header "content-type" that matches 'html', got "text/html; charset=utf-8"
        "#
        );
    }

    #[test]
    fn a_late_answer_is_not_the_expected_one() {
        let step = step("expect = { within = \"200ms\", status = \"2xx\" }");
        let judge = |status, latency: Option<u64>| {
            let answer = Answer {
                status,
                headers: Headers::Unkept,
                body: Body::Kept(b""),
                form: None,
                streamed: None,
            };
            let latency = latency.map(Duration::from_millis);
            let mut data = Data::new(1, 1);
            let taken = Check::new(&step).take(&answer, latency, &mut Vec::new(), &mut data);
            taken.map_err(|wrong| format!("{}: {}", wrong.kind, wrong.sentence()))
        };
        assert_eq!((judge(200, Some(200)), judge(200, None)), (Ok(()), Ok(())));
        let late = judge(200, Some(341)).unwrap_err();
        assert_eq!(late, "expectation: expected a response within 200ms, got a later one");
        assert!(judge(500, Some(341)).unwrap_err().starts_with("status: "));
    }

    #[test]
    fn counters_are_read_only_from_expected_answers() {
        let keys = r#"counters = { items = "/n" }"#;
        assert_eq!(judge(keys, 200, r#"{"n": 7}"#), Ok(vec![7]));
        assert!(judge(keys, 200, r#"{"n": -7}"#).unwrap_err().contains("a whole number"));
        assert!(judge(keys, 500, r#"{"n": 7}"#).is_err());
    }
}
