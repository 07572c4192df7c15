//! Compares the declared defaults with the meaning of files without the keys, and durations with their schema.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::schema::DURATION;
use super::sentence;
use crate::file::{TABLES, read, schema};
use crate::{Scenario, parse, parse_duration};

/// Place of the schema of steps in flows.
const STEP_OF_A_FLOW: &str = "/properties/flow/items/properties/step/items";

/// Files of which each has a table, by its name; `?` stands for one of the table's keys and its value.
const FILES: [(&str, &str); 19] = [
    ("a scenario", "?"),
    ("[load]", "[load]\n?"),
    ("a stage", "load = { stages = [{ ? }] }"),
    ("a stage", "load = { model = 'open', stages = [{ ? }] }"),
    ("[http]", "[http]\n?"),
    ("`connection`", "http = { connection = { ? } }"),
    ("[http.tls]", "[http.tls]\n?"),
    ("a [[step]]", "[[step]]\n?"),
    ("[grpc]", "[grpc]\n?"),
    ("`send`", "step = [{ send = { ? } }]"),
    ("`when`", "step = [{ when = { ? } }]"),
    ("`body`", "step = [{ body = { ? } }]"),
    ("a field of `multipart`", "step = [{ body = { multipart = { a = { ? } } } }]"),
    ("`expect`", "step = [{ expect = { ? } }]"),
    ("`stream`", "step = [{ expect = { stream = { ? } } }]"),
    ("a capture", "step = [{ capture = { a = { ? } } }]"),
    ("a [[flow]]", "[[flow]]\n?"),
    ("[rows]", "rows = { a = { ? } }"),
    ("a [[proof]]", "[[proof]]\n?"),
];

#[test]
fn a_reader_takes_each_declared_key() {
    for table in TABLES {
        let files: Vec<&str> =
            FILES.iter().filter(|(name, _)| *name == table.name).map(|(_, file)| *file).collect();
        assert!(!files.is_empty(), "no file has {}", table.name);
        for key in table.keys.iter().map(|key| key.name()) {
            // No key is a date, so that each has a fault, but only an unknown one has this fault.
            let unknown = format!("`{key}` is not a key of ");
            let takes = |file: &&&str| {
                let text = file.replace('?', &format!("{key} = 1979-05-27"));
                let faults = read("test", &text, Path::new(""), None).unwrap_err();
                !faults.iter().any(|fault| fault.to_string().starts_with(&unknown))
            };
            assert!(files.iter().any(|file| takes(&file)), "{}: {key}", table.name);
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

/// Returns the default of each key of a table as a line of TOML, by key. `place` is the JSON
/// pointer of the table in the schema.
fn defaults(schema: &Value, place: &str) -> BTreeMap<String, String> {
    let keys = schema.pointer(place).unwrap()["properties"].as_object().unwrap().clone();
    let with = keys.into_iter().filter_map(|(key, schema)| {
        let default = schema.get("default")?.to_string();
        Some((key.clone(), format!("{key} = {default}\n")))
    });
    with.collect()
}

#[test]
fn writing_a_default_changes_nothing() {
    let read = |text: &str| -> Scenario {
        parse("test", "tests/data/test.toml", text)
            .unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
    };
    let outside_flows = [
        ("", ""),
        ("/properties/http", "[http]\n"),
        ("/properties/http/properties/tls", "[http.tls]\n"),
        ("/properties/load", "[load]\n"),
        ("/properties/rows/additionalProperties", "[rows.r]\nfile = 'accounts.csv'\n"),
        ("/properties/step/items", "[[step]]\nget = '/{{ r.email }}'\n"),
        (
            "/properties/step/items/properties/capture/additionalProperties",
            "[step.capture.c]\njson = '/c'\n",
        ),
        ("/properties/step/items/properties/body", "[step.body]\njson = 1\n"),
        (
            "/properties/step/items/properties/expect/properties/stream/oneOf/1",
            "[step.expect.stream]\nevents = 1\n",
        ),
        (
            "/properties/step/items/properties/send",
            "[[step]]\nwebsocket = '/'\n[[step]]\n[step.send]\ntext = 'a'\n",
        ),
    ];
    let of_flows =
        [("/properties/flow/items", "[[flow]]\nname = 'a'\n"), ("/", "[[flow.step]]\nget = '/'\n")];
    let mut held = 0;
    for base in [&outside_flows[..], &of_flows] {
        let filled = |at: &str, line: &str| -> String {
            let parts = base.iter().map(|(place, text)| match *place == at {
                true => format!("{text}{line}"),
                false => (*text).to_owned(),
            });
            parts.collect()
        };
        for (place, _) in base.iter().filter(|(place, _)| *place != "/") {
            for (key, line) in defaults(&schema(), place) {
                assert_eq!(read(&filled(place, &line)), read(&filled("", "")), "{place} {key}");
                held += 1;
            }
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
