//! Captures values from a step's answers, for later requests of the same user.

use regex::Regex;
use serde_json::value::RawValue;

use super::pointer;
use super::{Wrong, shown, without_mark};
use crate::transport::Answer;
use loadgen_measure::ErrorKind;
use loadgen_scenario::{Capture, Data, Pick, Source, Step};

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
                Source::Regex(pattern) | Source::HeaderMatch(_, pattern) => {
                    Regex::new(pattern).ok()
                }
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
            if capture.source.reads_body() {
                answer.plain()?;
            }
            match value(capture, regex.as_ref(), answer, data) {
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

fn value(
    capture: &Capture,
    regex: Option<&Regex>,
    answer: &Answer<'_>,
    data: &mut Data,
) -> Result<String, Wrong> {
    let wrong = |what: String, got: String| {
        let expected = format!("{what}, to capture as {:?}", capture.name);
        Wrong { kind: ErrorKind::Expectation, expected, got }
    };
    // A lack of values is a lack of any, unless the capture counts them.
    let what = |any: &str| match capture.pick {
        Pick::Number(_) => capture.pick.to_string(),
        _ => any.to_owned(),
    };
    match &capture.source {
        Source::Json(pointer) => at(answer.plain()?, pointer, capture.pick, data)
            .map_err(|got| wrong(format!("{} at {pointer:?}", what("a value")), got)),
        Source::Header(name) => Ok(header(name, answer, wrong)?.to_owned()),
        Source::HeaderMatch(name, pattern) => {
            let text = header(name, answer, wrong)?;
            let found = regex.and_then(|regex| picked(found(regex, text), capture.pick, data));
            let what = format!("{} of '{pattern}' in the header {name:?}", what("a match"));
            found.map(str::to_owned).ok_or_else(|| wrong(what, shown(text.as_bytes())))
        }
        Source::Regex(pattern) => {
            let body = answer.plain()?;
            let text = String::from_utf8_lossy(body);
            let found = regex.and_then(|regex| picked(found(regex, &text), capture.pick, data));
            let missing = || wrong(format!("{} of '{pattern}'", what("a match")), shown(body));
            found.map(str::to_owned).ok_or_else(missing)
        }
    }
}

/// Returns the value of the first header with this name. `wrong` makes an error of what was expected and what came.
fn header<'a>(
    name: &str,
    answer: &'a Answer<'_>,
    wrong: impl Fn(String, String) -> Wrong,
) -> Result<&'a str, Wrong> {
    let missing = |got: &str| wrong(format!("a header {name:?}"), got.to_owned());
    let value = answer.headers.first(name).ok_or_else(|| missing("none"))?;
    std::str::from_utf8(value).map_err(|_| missing("one that is not UTF-8"))
}

/// Returns one of these values. Looks at no more of them than it must.
fn picked<T>(mut values: impl Iterator<Item = T>, pick: Pick, data: &mut Data) -> Option<T> {
    match pick {
        Pick::First => values.next(),
        Pick::Number(number) => values.nth(number.saturating_sub(1) as usize),
        Pick::Last => values.last(),
        Pick::Random => {
            let mut values: Vec<T> = values.collect();
            (!values.is_empty()).then(|| values.swap_remove(data.pick(values.len())))
        }
    }
}

/// Returns the matches of `regex`: of each the first group, or the whole match if `regex` has no group. A match
/// without its first group does not count.
fn found<'a>(regex: &'a Regex, text: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
    match regex.captures_len() {
        1 => Box::new(regex.find_iter(text).map(|found| found.as_str())),
        _ => {
            let groups = regex.captures_iter(text).filter_map(|groups| groups.get(1));
            Box::new(groups.map(|group| group.as_str()))
        }
    }
}

/// Returns one of the values at the JSON pointer `pointer`. For a string, returns the content; for any
/// other value, the unchanged JSON text, so that a long number keeps its digits. If the value is
/// missing or `null`, the error says what `body` contains instead.
fn at(body: &[u8], pointer: &str, pick: Pick, data: &mut Data) -> Result<String, String> {
    let json: &RawValue = serde_json::from_slice(without_mark(body))
        .map_err(|_| format!("a body that is not JSON: {}", shown(body)))?;
    let nothing = || format!("nothing at {pointer:?} of {}", shown(body));
    let mut values = pointer::values(json.get(), pointer);
    let found = match values.as_slice() {
        [] => return Err(nothing()),
        ["null"] => return Err(format!("null at {pointer:?}")),
        _ => {
            values.retain(|value| *value != "null");
            let number = values.len();
            picked(values.into_iter(), pick, data).ok_or_else(|| match number {
                0 => nothing(),
                _ => format!("only {number} in {}", shown(body)),
            })?
        }
    };
    if found.starts_with('"') {
        return serde_json::from_str(found).map_err(|_| shown(found.as_bytes()));
    }
    Ok(found.to_owned())
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
        let in_header =
            |regex: &str| captured(&format!("{{ header = 'x-a', regex = '{regex}' }}"), "one more");
        assert_eq!(in_header("o(n)").as_deref(), Ok("n"));
        assert_eq!(
            in_header("more").unwrap_err(),
            "expectation: expected a match of 'more' in the header \"x-a\", to capture as \"v\", got one"
        );
        assert_eq!(
            captured("{ header = 'x-a', regex = '[on]', match = 'last' }", "").as_deref(),
            Ok("n")
        );
    }

    #[test]
    fn one_of_several_values_is_picked() {
        let body = r#"{"items": [{"id": 3, "tags": {"b": "x", "a": "y"}}, {"id": null}, {"id": "two"}, {}]}"#;
        for (source, expected) in [
            (r#"{ json = "/items/*/id" }"#, "3"),
            (r#"{ json = "/items/*/id", match = 1 }"#, "3"),
            (r#"{ json = "/items/*/id", match = 2 }"#, "two"),
            (r#"{ json = "/items/*/id", match = "last" }"#, "two"),
            (r#"{ json = "/items/*/tags/*", match = "first" }"#, "x"),
            (r#"{ json = "/items/*/tags/*", match = "last" }"#, "y"),
            (r#"{ json = "/*/2/*" }"#, "two"),
            (r"{ regex = '\d', match = 1 }", "3"),
            (r#"{ regex = '"(\w)"', match = 2 }"#, "x"),
            (r#"{ regex = '"(\w)"', match = "last" }"#, "y"),
        ] {
            assert_eq!(captured(source, body).as_deref(), Ok(expected), "{source}");
        }
        let wrong = |source: &str| captured(source, body).unwrap_err();
        insta::assert_snapshot!(
            [
                wrong(r#"{ json = "/items/*/id", match = 3 }"#),
                wrong(r#"{ json = "/items/*/none", match = "random" }"#),
                wrong(r#"{ json = "/items/1/*" }"#),
                wrong(r"{ regex = 'i(d)', match = 9 }"),
                wrong(r"{ regex = 'none', match = 'last' }"),
            ]
            .join("\n"),
            @r#"
        expectation: expected match 3 at "/items/*/id", to capture as "v", got only 2 in {"items": [{"id": 3, "tags": {"b": "x", "a": "y"}}, {"id": null}, {"id": "two"}, {}]}
        expectation: expected a value at "/items/*/none", to capture as "v", got nothing at "/items/*/none" of {"items": [{"id": 3, "tags": {"b": "x", "a": "y"}}, {"id": null}, {"id": "two"}, {}]}
        expectation: expected a value at "/items/1/*", to capture as "v", got null at "/items/1/*"
        expectation: expected match 9 of 'i(d)', to capture as "v", got {"items": [{"id": 3, "tags": {"b": "x", "a": "y"}}, {"id": null}, {"id": "two"}, {}]}
        expectation: expected a match of 'none', to capture as "v", got {"items": [{"id": 3, "tags": {"b": "x", "a": "y"}}, {"id": null}, {"id": "two"}, {}]}
        "#
        );
    }

    #[test]
    fn a_random_value_follows_from_the_seed_of_the_user() {
        let body = br#"[1,2,3,4,5,6,7,8]"#;
        let drawn = |user: u32| {
            let mut data = Data::new(1, user);
            [(); 30].map(|()| at(body, "/*", Pick::Random, &mut data).unwrap())
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let of_all: std::collections::BTreeSet<String> = (0..20).flat_map(drawn).collect();
        assert_eq!(of_all.len(), 8);
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
            let found = at(json.as_bytes(), &pointer, Pick::First, &mut Data::new(1, 1)).ok();
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
