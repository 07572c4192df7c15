//! Captures values from a step's answers, for later requests of the same user.

use std::collections::HashMap;

use regex::Regex;
use serde_json::value::RawValue;

use super::json::is_index;
use super::{Wrong, shown, without_mark};
use crate::transport::Answer;
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Capture, Data, Source, Step};

/// Values to capture from a step's answers. Regular expressions are
/// compiled once for all users of the process.
#[derive(Debug)]
pub(super) struct Captures(Vec<(Capture, Option<Regex>)>);

impl Captures {
    /// Prepares the captures of `step`: compiles their regular expressions.
    pub(super) fn new(step: &Step) -> Self {
        let ready = step.captures.iter().map(|capture| {
            let regex = match &capture.source {
                // The scenario's parser has refused invalid patterns.
                Source::Regex(pattern) => Regex::new(pattern).ok(),
                _ => None,
            };
            (capture.clone(), regex)
        });
        Self(ready.collect())
    }

    /// Captures all values from `answer` into `data`. If a value is missing that is not optional,
    /// captures none and returns the error.
    pub(super) fn take(&self, answer: &Answer<'_>, data: &mut Data) -> Result<(), Wrong> {
        if self.0.is_empty() {
            return Ok(());
        }
        let values = self.0.iter().map(|(capture, regex)| {
            // A body that cannot be read does not show that the value is missing.
            if !matches!(capture.source, Source::Header(_)) {
                answer.plain()?;
            }
            match value(capture, regex.as_ref(), answer) {
                Err(_) if capture.optional => Ok(None),
                found => found.map(Some),
            }
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        for ((capture, _), value) in self.0.iter().zip(values) {
            match value {
                Some(value) => data.capture(&capture.name, value),
                None => data.forget(&capture.name),
            }
        }
        Ok(())
    }
}

fn value(capture: &Capture, regex: Option<&Regex>, answer: &Answer<'_>) -> Result<String, Wrong> {
    let wrong = |what: String, got: String| {
        let expected = format!("{what}, to capture as {:?}", capture.name);
        Wrong { kind: ErrorKind::Expectation, expected, got }
    };
    match &capture.source {
        Source::Json(pointer) => at(answer.plain()?, pointer)
            .map_err(|got| wrong(format!("a value at {pointer:?}"), got)),
        Source::Header(name) => {
            let missing = |got: &str| wrong(format!("a header {name:?}"), got.to_owned());
            let value = answer.headers.first(name).ok_or_else(|| missing("none"))?;
            let text = std::str::from_utf8(value).map_err(|_| missing("one that is not UTF-8"))?;
            Ok(text.to_owned())
        }
        Source::Regex(pattern) => {
            let body = answer.plain()?;
            let text = String::from_utf8_lossy(body);
            let found = regex.and_then(|regex| found(regex, &text));
            let missing = || wrong(format!("a match of '{pattern}'"), shown(body));
            found.map(str::to_owned).ok_or_else(missing)
        }
    }
}

/// Returns the first match of `regex`: the first group, or the whole match if `regex` has no group.
fn found<'a>(regex: &Regex, text: &'a str) -> Option<&'a str> {
    match regex.captures_len() {
        1 => regex.find(text).map(|found| found.as_str()),
        _ => regex.captures(text)?.get(1).map(|group| group.as_str()),
    }
}

/// Returns the value at the JSON pointer `pointer`. For a string, returns the content; for any
/// other value, the unchanged JSON text, so that a long number keeps its digits. If the value is
/// missing or `null`, the error says what `body` contains instead.
fn at(body: &[u8], pointer: &str) -> Result<String, String> {
    let json: &RawValue = serde_json::from_slice(without_mark(body))
        .map_err(|_| format!("a body that is not JSON: {}", shown(body)))?;
    let tokens =
        pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    let found = tokens.into_iter().try_fold(json, |json, token| member(json, &token));
    let Some(found) = found.map(RawValue::get) else {
        return Err(format!("nothing at {pointer:?} of {}", shown(body)));
    };
    if found.starts_with('"') {
        return serde_json::from_str(found).map_err(|_| shown(found.as_bytes()));
    }
    if found == "null" { Err(format!("null at {pointer:?}")) } else { Ok(found.to_owned()) }
}

fn member<'a>(json: &'a RawValue, token: &str) -> Option<&'a RawValue> {
    let text = json.get();
    if text.starts_with('{') {
        serde_json::from_str::<HashMap<String, &RawValue>>(text).ok()?.remove(token)
    } else if text.starts_with('[') {
        let items = serde_json::from_str::<Vec<&RawValue>>(text).ok()?;
        items.into_iter().enumerate().find(|(index, _)| is_index(token, *index)).map(|(_, v)| v)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::transport::{Body, Headers};
    use loadgen_scenario::{self as scenario, Scenario};

    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "[[step]]\nget = \"/\"\n{keys}\n[[step]]\npost = \"/next\"\n\
             body = {{ json = {{ v = \"{{{{ v }}}}\" }} }}"
        );
        scenario::parse("test", "test.toml", &text).unwrap()
    }

    /// Captures `v` from `body` as `source` says. Returns the value that
    /// a later step sends for `v`, or the error.
    fn captured(source: &str, body: &str) -> Result<String, String> {
        let scenario = scenario(&format!("capture = {{ v = {source} }}"));
        let answer = Answer {
            status: 200,
            headers: Headers::Head(b"HTTP/1.1 200 OK\r\nx-a: one\r\nx-b: \xff\r\n\r\n"),
            body: Body::Kept(body.as_bytes()),
            form: None,
            streamed: None,
        };
        let mut data = Data::new(1, 1);
        let taken = Captures::new(&scenario.steps[0]).take(&answer, &mut data);
        taken.map_err(|wrong| format!("{}: {}", wrong.kind, wrong.sentence()))?;
        let mut out = String::new();
        scenario.steps[1]
            .body
            .as_ref()
            .unwrap()
            .texts()
            .next()
            .unwrap()
            .render(&mut data, &mut out)
            .unwrap();
        let sent: Value = serde_json::from_str(&out).unwrap();
        Ok(sent["v"].as_str().unwrap().to_owned())
    }

    #[test]
    fn json_values_are_captured_unchanged() {
        let body = r#"{"s": "a\"b\u00e9", "n": 12345678901234567890123.10, "t": true,
                       "o": {"a": [1,  2]}, "l": [{"x": "y"}], "a/b": {"": 0}, "null": null}"#;
        for (pointer, value) in [
            ("/s", "a\"b\u{e9}"),
            ("/n", "12345678901234567890123.10"),
            ("/t", "true"),
            ("/o", "{\"a\": [1,  2]}"),
            ("/o/a/1", "2"),
            ("/l/0/x", "y"),
            ("/a~1b/", "0"),
        ] {
            let source = format!("{{ json = {pointer:?} }}");
            assert_eq!(captured(&source, body).as_deref(), Ok(value), "{pointer}");
        }
        assert_eq!(captured("{ json = \"\" }", " 7 ").as_deref(), Ok("7"));
    }

    #[test]
    fn a_missing_value_is_reported() {
        let wrong = |source: &str, body: &str| captured(source, body).unwrap_err();
        insta::assert_snapshot!(
            [
                wrong(r#"{ json = "/token" }"#, r#"{"other": 1}"#),
                wrong(r#"{ json = "/token" }"#, r#"{"token": null}"#),
                wrong(r#"{ json = "/0/a" }"#, "[[1]]"),
                wrong(r#"{ json = "/token" }"#, "<html>"),
                wrong(r#"{ header = "X-None" }"#, ""),
                wrong(r#"{ header = "x-b" }"#, ""),
                wrong(r"{ regex = 'id=(\d+)' }", "id=x"),
                wrong(r"{ regex = 'a(b)?' }", "a"),
            ]
            .join("\n"),
            @r#"
        expectation: expected a value at "/token", to capture as "v", got nothing at "/token" of {"other": 1}
        expectation: expected a value at "/token", to capture as "v", got null at "/token"
        expectation: expected a value at "/0/a", to capture as "v", got nothing at "/0/a" of [[1]]
        expectation: expected a value at "/token", to capture as "v", got a body that is not JSON: <html>
        expectation: expected a header "x-none", to capture as "v", got none
        expectation: expected a header "x-b", to capture as "v", got one that is not UTF-8
        expectation: expected a match of 'id=(\d+)', to capture as "v", got id=x
        expectation: expected a match of 'a(b)?', to capture as "v", got a
        "#
        );
    }

    #[test]
    fn an_expression_captures_its_first_group_or_the_whole_match() {
        assert_eq!(captured(r"{ regex = 'id=(\d+)-(\d+)' }", "an id=17-4").as_deref(), Ok("17"));
        assert_eq!(captured(r"{ regex = 'id=\d+' }", "id=17 id=18").as_deref(), Ok("id=17"));
        assert_eq!(captured(r"{ regex = '(?:a|b)c' }", "abc").as_deref(), Ok("bc"));
        assert_eq!(captured(r#"{ header = "X-A" }"#, "").as_deref(), Ok("one"));
    }

    #[test]
    fn all_values_are_captured_or_none() {
        let scenario = scenario("capture = { v = { json = \"/v\" }, w = { json = \"/w\" } }");
        let captures = Captures::new(&scenario.steps[0]);
        let mut data = Data::new(1, 1);
        let mut take = |body: &'static str| {
            let body = Body::Kept(body.as_bytes());
            let taken = captures.take(
                &Answer { status: 200, headers: Headers::Unkept, body, form: None, streamed: None },
                &mut data,
            );
            let mut out = String::new();
            let text = scenario.steps[1].body.as_ref().unwrap().texts().next().unwrap();
            (taken.is_ok(), text.render(&mut data, &mut out).map(|()| out).ok())
        };
        assert_eq!(take("{\"v\": 1}"), (false, None));
        assert_eq!(take("{\"v\": 1, \"w\": 2}"), (true, Some("{\"v\":\"1\"}".to_owned())));
        assert_eq!(take("{\"v\": 3}"), (false, Some("{\"v\":\"1\"}".to_owned())));
    }

    proptest! {
        #[test]
        fn any_text_passes_unchanged_from_json_to_json(text: String) {
            let body = json!({ "v": text }).to_string();
            prop_assert_eq!(captured("{ json = \"/v\" }", &body).unwrap(), text);
        }

        #[test]
        fn a_pointer_finds_the_place_that_serde_json_finds(
            json in r#"\{"a": (1|\[1,"x",\{"b":2\}\]|\{"b":"c","a":true\}), "": \[\]\}"#,
            pointer in "(/(a|b|0|1|2|01|)){0,3}",
        ) {
            let value: Value = serde_json::from_str(&json).unwrap();
            let found = at(json.as_bytes(), &pointer).ok();
            match value.pointer(&pointer) {
                Some(Value::String(text)) => prop_assert_eq!(found.as_ref(), Some(text)),
                expected => {
                    let found = found.map(|text| serde_json::from_str::<Value>(&text).unwrap());
                    prop_assert_eq!(found.as_ref(), expected);
                }
            }
        }
    }
}
