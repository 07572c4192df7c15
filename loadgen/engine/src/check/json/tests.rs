use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::check::Check;
use crate::transport::{Answer, Body, Headers};
use loadgen_scenario::{self as scenario, Counter};

fn step(json: Vec<(String, Value)>, pointers: &[String]) -> Step {
    let mut step =
        scenario::parse("test", "test.toml", "[[step]]\nget = \"/\"").unwrap().steps.remove(0);
    step.expect.all = json.into_iter().map(|(at, value)| Condition::Json(at, value)).collect();
    let counter = |pointer: &String| Counter { name: pointer.clone(), pointer: pointer.clone() };
    step.counters = pointers.iter().map(counter).collect();
    step
}

/// Checks `body` without the lookup, by parsing the whole document. Returns the values of the
/// counters, or `None` if the check fails.
fn in_memory(step: &Step, body: &str) -> Option<Vec<u64>> {
    let body = Body::Kept(body.as_bytes());
    let answer = Answer { status: 200, headers: Headers::Unkept, body, form: None, streamed: None };
    let mut counters = Vec::new();
    let check = Check { lookup: None, ..Check::new(step) };
    check.hold(&answer, &mut counters).ok().map(|()| counters)
}

/// Checks `body` with the lookup. Returns `None` if the step has no
/// lookup, and `Some(None)` if the body does not pass.
fn looked_up(step: &Step, body: &str) -> Option<Option<Vec<u64>>> {
    let mut counters = vec![0; step.counters.len()];
    let passes = Lookup::new(step)?.passes(body.as_bytes(), &mut counters);
    Some(passes.then_some(counters))
}

/// Generates one of a few keys, so that pointers often match and keys repeat.
fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "0", "1", "01", "a/b", "m~n", "", "~1", "\u{e9}"])
}

/// Writes a key as a JSON document may contain it, with or without escapes.
fn written(key: &str, escaped: bool) -> String {
    if !escaped {
        return serde_json::to_string(key).unwrap();
    }
    let escapes: String = key.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escapes}\"")
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..3).prop_map(Value::from),
        prop::sample::select(vec![u64::MAX, u64::MAX - 1, 1 << 53, (1 << 53) + 1])
            .prop_map(Value::from),
        (-2i64..0).prop_map(Value::from),
        prop::sample::select(vec![0.0, -0.0, 1.0, 1.5, 1e300]).prop_map(Value::from),
        key().prop_map(Value::from),
    ]
}

/// Generates the text of a JSON document, in which a key may occur twice.
fn document() -> impl Strategy<Value = String> {
    let scalar = scalar().prop_map(|value| value.to_string());
    scalar.prop_recursive(4, 24, 4, |inner| {
        let member = (key(), any::<bool>(), inner.clone())
            .prop_map(|(key, escaped, value)| format!("{} : {value}", written(key, escaped)));
        prop_oneof![
            vec(inner, 0..4).prop_map(|values| format!("[{}]", values.join(", "))),
            vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

fn pointer() -> impl Strategy<Value = String> {
    let token = key().prop_map(|key| key.replace('~', "~0").replace('/', "~1"));
    vec(token, 0..4).prop_map(|tokens| tokens.iter().map(|token| format!("/{token}")).collect())
}

/// Adds the pointers and values of `value` and of everything within
/// `value` to `found`. `at` is the pointer to `value`.
fn places(value: &Value, at: &str, found: &mut Vec<(String, Value)>) {
    found.push((at.to_owned(), value.clone()));
    match value {
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let token = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{token}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bodies_passed_by_the_lookup_pass_in_memory_too(
        body in document(),
        expected in vec((pointer(), scalar()), 0..3),
        counters in vec(pointer(), 0..3),
        after in prop::sample::select(vec!["", " ", "\n", "x", "{}", ","]),
    ) {
        let (step, body) = (step(expected, &counters), body + after);
        if let Some(Some(counters)) = looked_up(&step, &body) {
            prop_assert_eq!(in_memory(&step, &body), Some(counters));
        }
    }

    /// The step's pointers come from the document, so that most of them match.
    #[test]
    fn existing_values_are_found(body in document(), picks in vec(any::<prop::sample::Index>(), 1..4)) {
        let mut found = Vec::new();
        places(&serde_json::from_str(&body).unwrap(), "", &mut found);
        let picked = || picks.iter().map(|pick| pick.get(&found).clone());
        let (counters, expected): (Vec<_>, Vec<_>) = picked().partition(|(_, value)| value.is_u64());
        let counters: Vec<String> = counters.into_iter().map(|(pointer, _)| pointer).collect();
        let step = step(expected, &counters);
        let in_memory = in_memory(&step, &body);
        prop_assert!(in_memory.is_some());
        if let Some(Some(counters)) = looked_up(&step, &body) {
            prop_assert_eq!(Some(counters), in_memory);
        }
    }
}

#[test]
fn plain_bodies_need_no_second_look() {
    let expected = |pairs: &[(&str, Value)]| {
        pairs.iter().map(|(pointer, value)| ((*pointer).to_owned(), value.clone())).collect()
    };
    let counters = ["/n".to_owned(), "/list/1/n".to_owned()];
    let body =
        r#"{"x": [[], {}], "list": [1, {"n": 8, "m~/": null}], "n": 7, "t": "a\"b", "f": 2.0}"#;
    for pairs in [
        &[][..],
        &[("/t", json!("a\"b")), ("/f", json!(2)), ("/list/0", json!(1.0))],
        &[("/list/1/m~0~1", json!(null))],
    ] {
        let step = step(expected(pairs), &counters);
        assert_eq!(looked_up(&step, body), Some(Some(vec![7, 8])), "{pairs:?}");
    }
}

#[test]
fn a_duplicate_key_is_left_to_the_check_in_memory() {
    let step = step(Vec::new(), &["/a/n".to_owned()]);
    for body in [r#"{"a": {"n": 1, "n": 2}}"#, r#"{"a": {"n": 1}, "\u0061": {"n": 2}}"#] {
        assert_eq!(looked_up(&step, body), Some(None), "{body}");
        assert_eq!(in_memory(&step, body), Some(vec![2]), "{body}");
    }
}

#[test]
fn conflicting_pointers_have_no_lookup() {
    let with = |json: &[(&str, Value)], counters: &[&str]| {
        let json = json.iter().map(|(pointer, value)| ((*pointer).to_owned(), value.clone()));
        let counters: Vec<String> = counters.iter().map(|pointer| (*pointer).to_owned()).collect();
        Lookup::new(&step(json.collect(), &counters)).is_some()
    };
    assert!(with(&[("/a", json!(1))], &["/b"]));
    assert!(!with(&[("", json!(1))], &[]), "the whole document");
    assert!(!with(&[("/a", json!([1]))], &[]), "an array");
    assert!(!with(&[("/a", json!({}))], &[]), "an object");
    assert!(!with(&[("/a", json!(1)), ("/a/b", json!(1))], &[]), "through a value");
    assert!(!with(&[("/a/b", json!(1)), ("/a", json!(1))], &[]), "through a value");
    assert!(!with(&[("/a", json!(1))], &["/a"]), "twice");
    let many = |n: usize| (0..n).map(|i| (format!("/{i}"), json!(1))).collect();
    assert!(Lookup::new(&step(many(63), &[])).is_some());
    assert!(Lookup::new(&step(many(64), &[])).is_none(), "too many");
}
