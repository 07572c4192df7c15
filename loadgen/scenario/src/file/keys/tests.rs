//! Compares the declared defaults with the meaning of files without the keys, and durations with their schema.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::schema::DURATION;
use super::{Keys, sentence};
use crate::file::{TABLES, read, schema};
use crate::{parse, parse_duration};

/// Place of the schema of steps in flows.
const STEP_OF_A_FLOW: &str = "/properties/flow/items/properties/step/items";

/// Files of which each has a table, by its name; `?` stands for one of the table's keys and its value. A table
/// with defaults also has a file that is valid without the key.
const FILES: [(&str, &str); 28] = [
    ("a scenario", "?\n[[step]]\nget = '/'"),
    ("a scenario", "?\n[[flow]]\nname = 'a'\n[[flow.step]]\nget = '/'"),
    ("[load]", "[load]\n?\n[[step]]\nget = '/'"),
    ("[load]", "[load]\nmodel = 'open'\nrate = 5\n?\n[[step]]\nget = '/'"),
    ("a stage", "load = { stages = [{ ? }] }"),
    ("a stage", "load = { model = 'open', stages = [{ ? }] }"),
    ("[http]", "[http]\n?\n[[step]]\nget = '/'"),
    ("`connection`", "http = { connection = { ? } }"),
    ("[http.tls]", "[http.tls]\n?\n[[step]]\nget = '/'"),
    ("a [[step]]", "[[step]]\nget = '/'\n?"),
    ("a [[step]]", "[[step]]\n?"),
    ("[grpc]", "[grpc]\n?"),
    ("`send`", "[[step]]\nwebsocket = '/'\n[[step]]\n[step.send]\ntext = 'a'\n?"),
    ("`send`", "step = [{ send = { ? } }]"),
    ("`when`", "step = [{ when = { ? } }]"),
    ("`body`", "[[step]]\npost = '/'\n[step.body]\njson = 1\n?"),
    ("`body`", "step = [{ body = { ? } }]"),
    ("a field of `multipart`", "step = [{ body = { multipart = { a = { ? } } } }]"),
    ("`expect`", "[[step]]\nget = '/'\n[step.expect]\n?"),
    (
        "`expect`",
        "[grpc]\nproto = 'greeter.proto'\n[[step]]\ngrpc = 'loadgen.Greeter/Hello'\n[step.expect]\n?",
    ),
    ("`stream`", "[[step]]\nget = '/'\n[step.expect.stream]\n?"),
    ("a capture", "[[step]]\nget = '/'\n[step.capture.c]\n?"),
    ("a capture", "[[step]]\nget = '/'\n[step.capture.c]\njson = '/c'\n?"),
    ("a [[flow]]", "[[flow]]\nname = 'a'\n?\n[[flow.step]]\nget = '/'"),
    ("a [[flow]]", "[[flow]]\n?"),
    ("[rows]", "rows = { a = { ? } }"),
    ("[rows]", "[rows.r]\nfile = 'accounts.csv'\n?\n[[step]]\nget = '/{{ r.email }}'"),
    ("a [[proof]]", "[[proof]]\n?"),
];

/// Returns the files that have the table called `name`, each with `line` in the table.
fn with(name: &str, line: &str) -> Vec<String> {
    let files = FILES.iter().filter(|(table, _)| *table == name);
    let files: Vec<String> = files.map(|(_, file)| file.replace('?', line)).collect();
    assert!(!files.is_empty(), "no file has {name}");
    files
}

#[test]
fn a_reader_takes_each_declared_key() {
    for table in TABLES {
        for key in table.keys.iter().map(|key| key.name()) {
            // No key is a date, so that each has a fault, but only an unknown one has this fault. A file that has the
            // key already tells nothing.
            let unknown = format!("`{key}` is not a key of ");
            let takes = |text: &String| {
                let faults = read("test", text, Path::new(""), None).unwrap_err();
                let mut faults = faults.iter().map(|fault| fault.to_string());
                !faults.any(|fault| fault.starts_with(&unknown) || fault == "duplicate key")
            };
            let files = with(table.name, &format!("{key} = 1979-05-27"));
            assert!(files.iter().any(takes), "{}: {key}", table.name);
        }
    }
}

#[test]
fn a_description_is_a_sentence_without_links() {
    let sentences = [
        ("one line for people", "One line for people."),
        ("the [load](#load) of `a[0]`, [in all](../x.md)", "The load of `a[0]`, in all."),
        ("as in [`[[step]]`](#step)", "As in `[[step]]`."),
        ("a file. It ends.", "A file. It ends."),
    ];
    for (part, whole) in sentences {
        assert_eq!(sentence(part), whole);
    }
}

/// Returns the default of each key of a table as TOML, by key.
fn defaults(table: &Keys) -> BTreeMap<String, String> {
    let schema = Value::from(table.schema());
    let keys = schema["properties"].as_object().unwrap();
    let with = keys.iter().filter_map(|(key, schema)| {
        Some((key.clone(), format!("{key} = {}", schema.get("default")?)))
    });
    with.collect()
}

#[test]
fn writing_a_default_changes_nothing() {
    let read = |text: &String| parse("test", "tests/data/test.toml", text);
    let mut held = 0;
    for table in TABLES {
        for (key, line) in defaults(table) {
            let files = with(table.name, "").into_iter().zip(with(table.name, &line));
            // A default that belongs to another file, such as one of the other load model, is a fault.
            let scenarios =
                files.filter_map(|(without, with)| Some((read(&without), read(&with).ok()?)));
            let mut is_read = false;
            for (without, with) in scenarios {
                let without =
                    without.unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)));
                assert_eq!(with, without, "{}: {line}", table.name);
                is_read = true;
            }
            assert!(is_read, "{}: no file takes `{line}` of {key}", table.name);
            held += 1;
        }
    }
    let mut schema = schema();
    *schema.pointer_mut(STEP_OF_A_FLOW).unwrap() = Value::Null;
    let written = schema.to_string().matches("\"default\":").count();
    assert_eq!(held, written, "each default of the schema is held against the readers");
}

#[test]
fn invalid_durations_do_not_match_the_schema() {
    let duration = Regex::new(&format!(r"^\s*{DURATION}\s*$")).unwrap();
    for text in ["", "-3s", "10", "3 sx", "soon", "1.s", ".5s", "1s 2", "1d2"] {
        assert!(!duration.is_match(text), "{text:?}");
    }
}

proptest! {
    #[test]
    fn each_accepted_duration_matches_the_schema(text in "( ?[0-9.]{1,3} ?[a-zµM]{0,3}){1,3} ?") {
        let duration = Regex::new(&format!(r"^\s*{DURATION}\s*$")).unwrap();
        if parse_duration(&text).is_ok() {
            prop_assert!(duration.is_match(&text));
        }
    }

    #[test]
    fn each_duration_with_known_units_matches_the_schema(
        parts in prop::collection::vec(
            (0..24u32, prop::sample::select(vec!["ns", "us", "µs", "ms", "millis", "s", "sec", "secs",
                "seconds", "m", "min", "mins", "minutes", "h", "hr", "hours", "days", "week"])),
            1..4,
        ),
        between in "[ ]?",
    ) {
        let text: String = parts.iter().map(|(n, unit)| format!("{n}{between}{unit}{between}")).collect();
        let duration = Regex::new(&format!(r"^\s*{DURATION}\s*$")).unwrap();
        prop_assert!(duration.is_match(&text));
    }
}
