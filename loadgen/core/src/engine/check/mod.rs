//! Checks whether an answer is the expected one.

mod capture;
pub(super) mod expectations;
mod json;
mod known;

use memchr::memmem::Finder;
use serde_json::Value;

use self::capture::Captures;
use self::expectations::{checks_body, is_expected, reads_json};
use self::json::Lookup;
use self::known::Known;
use super::transport::Answer;
use crate::measure::ErrorKind;
use crate::scenario::{Data, Step};

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

/// Checks the answers to one step against the step's expectations. Prepared once for all users.
#[derive(Debug)]
pub struct Check {
    step: Step,
    text: Option<Finder<'static>>,
    lookup: Option<Lookup>,
    known: Known,
    captures: Captures,
}

impl Check {
    /// Prepares the check of a step's answers.
    #[must_use]
    pub fn new(step: &Step) -> Self {
        let text = step.expect.body.as_ref().map(|text| Finder::new(text).into_owned());
        let (lookup, captures) = (Lookup::new(step), Captures::new(step));
        Self { step: step.clone(), text, lookup, known: Known::new(), captures }
    }

    /// Compares an answer with the step's expectation, and reads the answer's counters into
    /// `counters`. Returns the first difference.
    pub fn hold(&self, answer: &Answer<'_>, counters: &mut Vec<u64>) -> Result<(), Wrong> {
        counters.clear();
        self.status(answer)?;
        if !checks_body(&self.step) || self.known.has(&answer.body, counters) {
            return Ok(());
        }
        self.text(answer)?;
        self.json(answer, counters)?;
        self.known.keep(&answer.body, counters);
        Ok(())
    }

    /// Compares an answer with the step's expectation, reads the answer's counters
    /// into `counters` and captures the answer's values into `data`. After an
    /// error, `counters` is empty and `data` is unchanged.
    pub fn take(
        &self,
        answer: &Answer<'_>,
        counters: &mut Vec<u64>,
        data: &mut Data,
    ) -> Result<(), Wrong> {
        self.hold(answer, counters)?;
        self.captures.take(answer, data).inspect_err(|_| counters.clear())
    }

    fn status(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        if is_expected(&self.step, answer.status) {
            return Ok(());
        }
        let expected = match self.step.expect.status {
            Some(status) => format!("status {status}"),
            None => "a 2xx or 3xx status".to_owned(),
        };
        let got = format!("{}: {}", answer.status, shown(&answer.body));
        Err(Wrong { kind: ErrorKind::Status, expected, got })
    }

    fn text(&self, answer: &Answer<'_>) -> Result<(), Wrong> {
        match (&self.text, &self.step.expect.body) {
            (Some(finder), Some(text)) if finder.find(&answer.body).is_none() => Err(Wrong {
                kind: ErrorKind::Expectation,
                expected: format!("a body that contains {text:?}"),
                got: shown(&answer.body),
            }),
            _ => Ok(()),
        }
    }

    fn json(&self, answer: &Answer<'_>, counters: &mut Vec<u64>) -> Result<(), Wrong> {
        if !reads_json(&self.step) {
            return Ok(());
        }
        counters.resize(self.step.counters.len(), 0);
        if self.lookup.as_ref().is_some_and(|lookup| lookup.passes(&answer.body, counters)) {
            return Ok(());
        }
        counters.clear();
        self.json_in_memory(answer, counters)
    }

    /// Checks a body that the lookup did not confirm. Parses the whole
    /// document, so that an error can show what is wrong.
    fn json_in_memory(&self, answer: &Answer<'_>, counters: &mut Vec<u64>) -> Result<(), Wrong> {
        let wrong = |expected: String, got: String| {
            Err(Wrong { kind: ErrorKind::Expectation, expected, got })
        };
        let Ok(json) = serde_json::from_slice::<Value>(&answer.body) else {
            return wrong("a JSON body".to_owned(), shown(&answer.body));
        };
        let at = |pointer: &str| match json.pointer(pointer) {
            Some(found) => format!("{} at {pointer:?}", shown(found.to_string().as_bytes())),
            None => format!("nothing at {pointer:?} of {}", shown(&answer.body)),
        };
        for (pointer, expected) in &self.step.expect.json {
            if json.pointer(pointer).is_none_or(|found| !same(found, expected)) {
                return wrong(format!("{expected} at {pointer:?}"), at(pointer));
            }
        }
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
        let answer = Answer { status, headers: Headers::Unkept, body };
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
    fn without_an_expectation_any_2xx_or_3xx_is_accepted() {
        assert_eq!(judge("", 204, ""), Ok(vec![]));
        assert_eq!(judge("", 302, ""), Ok(vec![]));
        assert_eq!(
            judge("", 500, "oh\nno"),
            Err("status: expected a 2xx or 3xx status, got 500: oh no".to_owned())
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
    fn counters_are_read_only_from_expected_answers() {
        let keys = r#"counters = { items = "/n" }"#;
        assert_eq!(judge(keys, 200, r#"{"n": 7}"#), Ok(vec![7]));
        assert!(judge(keys, 200, r#"{"n": -7}"#).unwrap_err().contains("a whole number"));
        assert!(judge(keys, 500, r#"{"n": 7}"#).is_err());
    }
}
