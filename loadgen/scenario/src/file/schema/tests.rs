//! Compares the schema with the readers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use miette::Diagnostic;
use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::kinds::DURATION;
use super::schema;
use crate::{Scenario, parse, parse_duration};

const STRANGER: &str = "zzzzzzzzzzzzzzzz";

/// Tables that allow a fixed set of keys. Each entry holds the table's JSON pointers in the schema,
/// and scenario files in which `?` stands for an unknown key of the table. A table of two forms has
/// two pointers, or two files.
const TABLES: [(&[&str], &[&str]); 26] = [
    (&[""], &["? = 1\n[[step]]\nget = '/'"]),
    (&["/properties/http"], &["[http]\n? = 1\n[[step]]\nget = '/'"]),
    (&["/properties/http/properties/tls"], &["[http.tls]\n? = 1\n[[step]]\nget = '/'"]),
    (&["/properties/http/properties/auth"], &["[http.auth]\n? = 1\n[[step]]\nget = '/'"]),
    (&["/properties/step/items/properties/auth"], &["[[step]]\nget = '/'\nauth = { ? = 1 }"]),
    (&["/properties/grpc"], &["[grpc]\n? = 1\n[[step]]\ngrpc = 'a/B'"]),
    (&["/properties/load"], &["[load]\n? = 1\n[[step]]\nget = '/'"]),
    (
        &["/properties/load/properties/stages/items"],
        &[
            "[load]\nstages = [{ users = 1, over = '1s', ? = 1 }]\n[[step]]\nget = '/'",
            "[load]\nmodel = 'open'\nstages = [{ rate = 1, over = '1s', ? = 1 }]\n[[step]]\nget = '/'",
        ],
    ),
    (
        &[
            "/properties/load/properties/think_time/oneOf/1",
            "/properties/load/properties/think_time/oneOf/2",
        ],
        &["[load]\nthink_time = { mean = '1s', ? = 1 }\n[[step]]\nget = '/'"],
    ),
    (
        &[
            "/properties/step/items/properties/think_time/oneOf/1",
            "/properties/step/items/properties/think_time/oneOf/2",
        ],
        &["[[step]]\nget = '/'\nthink_time = { mean = '1s', ? = 1 }"],
    ),
    (&["/properties/rows/additionalProperties"], &["[rows.r]\n? = 1\n[[step]]\nget = '/'"]),
    (&["/properties/step/items"], &["[[step]]\nget = '/'\n? = 1"]),
    (
        &["/properties/step/items/properties/send"],
        &["[[step]]\nwebsocket = '/'\n[[step]]\nsend = { text = 'a', ? = 1 }"],
    ),
    (
        &["/properties/step/items/properties/body"],
        &["[[step]]\npost = '/'\nbody = { json = 1, ? = 1 }"],
    ),
    (
        &[
            concat!(
                "/properties/step/items/properties/body/properties/multipart",
                "/additionalProperties/oneOf/1"
            ),
            concat!(
                "/properties/step/items/properties/body/properties/multipart",
                "/additionalProperties/oneOf/2/items/oneOf/1"
            ),
        ],
        &["[[step]]\npost = '/'\nbody = { multipart = { a = { text = 'b', ? = 1 } } }"],
    ),
    (
        &["/properties/step/items/properties/expect"],
        &["[[step]]\nget = '/'\nexpect = { status = 200, ? = 1 }"],
    ),
    (
        &["/properties/step/items/properties/expect/properties/not"],
        &["[[step]]\nget = '/'\nexpect = { not = { ? = 1 } }"],
    ),
    (
        &[concat!(
            "/properties/step/items/properties/expect/properties/headers",
            "/additionalProperties/oneOf/1"
        )],
        &["[[step]]\nget = '/'\nexpect = { headers = { a = { regex = 'b', ? = 1 } } }"],
    ),
    (
        &[concat!(
            "/properties/step/items/properties/expect/properties/not/properties/headers",
            "/additionalProperties/oneOf/1"
        )],
        &["[[step]]\nget = '/'\nexpect = { not = { headers = { a = { regex = 'b', ? = 1 } } } }"],
    ),
    (
        &["/properties/step/items/properties/expect/properties/stream/oneOf/1"],
        &["[[step]]\nget = '/'\nexpect = { stream = { ? = 1 } }"],
    ),
    (
        &[
            "/properties/step/items/properties/expect/properties/stream/oneOf/1/properties/end/oneOf/1",
        ],
        &["[[step]]\nget = '/'\nexpect = { stream = { end = { regex = 'b', ? = 1 } } }"],
    ),
    (
        &["/properties/step/items/properties/capture/additionalProperties"],
        &["[[step]]\nget = '/'\ncapture = { token = { json = '', ? = 1 } }"],
    ),
    (
        &["/properties/step/items/properties/when/oneOf/1"],
        &["[[step]]\nget = '/'\nwhen = { absent = 'a', ? = 1 }\ncapture = { a = { json = '' } }"],
    ),
    (
        &["/properties/step/items/properties/repeat/oneOf/1"],
        &["[[step]]\nget = '/'\nrepeat = { min = 1, max = 2, ? = 1 }"],
    ),
    (&["/properties/flow/items"], &["[[flow]]\nname = 'a'\n? = 1\n[[flow.step]]\nget = '/'"]),
    (
        &["/properties/proof/items"],
        &["[[step]]\nget = '/'\n[[proof]]\nredis = 'DBSIZE'\nvalue = 0\n? = 1"],
    ),
];

/// Returns the keys that the readers suggest in place of the unknown key `?` in `file`.
fn known_to_the_readers(file: &str) -> BTreeSet<String> {
    let text = file.replace('?', STRANGER);
    let faults = super::super::read("test", &text, Path::new(""), None).unwrap_err();
    let of_stranger = format!("`{STRANGER}` is not a key of ");
    let fault = faults.iter().find(|fault| fault.to_string().starts_with(&of_stranger));
    let help = fault.and_then(|fault| fault.help()).unwrap_or_else(|| panic!("{faults:?}"));
    let help = help.to_string();
    let keys = help.strip_prefix("expected one of: ").unwrap_or_else(|| panic!("{help}"));
    keys.split(", ").map(|key| key.trim_matches('`').to_owned()).collect()
}

fn keys(schema: &Value, place: &str) -> BTreeSet<String> {
    schema.pointer(place).unwrap()["properties"].as_object().unwrap().keys().cloned().collect()
}

/// Collects in `found` the JSON pointers of all tables in `schema` that allow a fixed set of keys.
/// `place` is the JSON pointer of `schema` itself.
fn closed_tables(schema: &Value, place: &str, found: &mut BTreeSet<String>) {
    let parts: Vec<(String, &Value)> = match schema {
        Value::Object(map) => {
            map.iter().map(|(key, part)| (key.replace('/', "~1"), part)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => return,
    };
    if schema["additionalProperties"] == false {
        found.insert(place.to_owned());
    }
    for (key, part) in parts {
        closed_tables(part, &format!("{place}/{key}"), found);
    }
}

#[test]
fn the_schema_has_the_keys_that_the_readers_know() {
    let schema = schema();
    for (places, files) in TABLES {
        let said: BTreeSet<String> = places.iter().flat_map(|place| keys(&schema, place)).collect();
        let known: BTreeSet<String> =
            files.iter().flat_map(|file| known_to_the_readers(file)).collect();
        assert_eq!(said, known, "{places:?}: schema, readers");
    }
}

#[test]
fn the_schema_covers_every_table() {
    let mut found = BTreeSet::new();
    closed_tables(&schema(), "", &mut found);
    // Keys of thresholds combine names and metrics.
    assert!(found.remove("/properties/thresholds"));
    found.retain(|place| !place.starts_with(STEP_OF_A_FLOW));
    let held = TABLES.iter().flat_map(|(places, _)| places.iter().map(|place| (*place).to_owned()));
    assert_eq!(found, held.collect());
}

/// Place of the schema of steps in flows.
const STEP_OF_A_FLOW: &str = "/properties/flow/items/properties/step/items";

#[test]
fn steps_of_flows_have_the_schema_of_steps() {
    let schema = schema();
    let of = |place: &str| {
        let mut step = schema.pointer(place).unwrap().clone();
        let when = step["properties"].as_object_mut().unwrap().remove("when").unwrap();
        (step, when)
    };
    let (step, when) = of("/properties/step/items");
    assert_eq!(of(STEP_OF_A_FLOW), (step, when["oneOf"][1].clone()));
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
