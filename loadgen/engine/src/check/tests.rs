use super::*;
use crate::transport::{Body, Headers};
use loadgen_scenario as scenario;

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
        (307, "", "307, a redirect, which `redirects` would follow: an empty body"),
    ] {
        let wrong = format!("status: expected status 2xx, got {got}");
        assert_eq!(judge("", status, body), Err(wrong));
    }
}

#[test]
fn a_redirect_that_was_not_followed_is_explained() {
    let body = Body::Kept(b"");
    let answer = Answer { status: 302, headers: Headers::Unkept, body, form: None, streamed: None };
    let wrong = Check::new(&step("redirects = 1")).hold(&answer, &mut Vec::new()).unwrap_err();
    assert_eq!(
        wrong.sentence(),
        "expected status 2xx, got 302, a redirect without a `location` that can be followed: an empty body"
    );
    let answer = Answer {
        status: 200,
        headers: Headers::Unkept,
        body: Body::Kept(b"home"),
        form: None,
        streamed: None,
    };
    let wrong =
        Check::new(&step("redirects = 1\nexpect.status = 302")).hold(&answer, &mut Vec::new());
    assert_eq!(
        wrong.unwrap_err().sentence(),
        "expected status 302, got 200 (`redirects` follows a redirect, and `redirects = 0` would leave it): home"
    );
}

#[test]
fn a_byte_order_mark_before_json_is_ignored() {
    let keys = r#"expect = { json = { "/n" = 1 } }
counters = { n = "/n" }"#;
    assert_eq!(judge(keys, 200, "\u{feff}{\"n\": 1}"), Ok(vec![1]));
    assert!(judge(keys, 200, "\u{feff}").is_err());
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
        let answer =
            Answer { status: 200, headers: Headers::Head(head), body, form: None, streamed: None };
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
