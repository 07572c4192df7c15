//! No bytes make a draft panic, and each draft is a scenario.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::tests::{answer, data, har, headers};
use super::*;
use crate::testing::checked;

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-z0-9{}\"'<> \\\\]{0,12}".prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::hash_map("[a-z*/~{}]{0,6}|password|id", inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn any_entry() -> impl Strategy<Value = (String, String, Json, i64, Json)> {
    let text = || prop_oneof!["[a-c0-9&=+%{}<>\"/ ]{0,30}", any::<String>()];
    let mime = prop::sample::select(vec![
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
        "text/html",
        "text/plain\n",
        "",
    ]);
    let header = ("[a-zA-Z-]{0,8}|authorization|set-cookie|location", text());
    let status = prop::sample::select(vec![200, 200, 201, 302, 304, 404, 0]);
    (
        "GET|POST|PROPFIND",
        ("[a-c/{}%]{0,8}", text()),
        (mime.clone(), text(), any_json()),
        prop::collection::vec(header, 0..4),
        (status, mime, text(), any_json()),
    )
        .prop_map(
            |(method, (path, query), (sent, text, body), pairs, (status, got, page, json))| {
                let pairs: Vec<(&str, &str)> =
                    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let text = if sent == "application/json" { body.to_string() } else { text };
                let page = if got == "application/json" { json.to_string() } else { page };
                let mut request = data(sent, &text);
                request["headers"] = headers(&pairs);
                let mut response = answer(got, &page);
                response["headers"] = headers(&pairs);
                response["redirectURL"] = json!(path);
                (method, format!("/{path}?{query}"), request, status, response)
            },
        )
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*", json in any_json()) {
        for text in [text, json.to_string(), json!({ "log": json }).to_string(), json!({ "log": { "entries": [json, { "request": json, "response": json }] } }).to_string()] {
            let recordings = [("a".to_owned(), text.clone()), ("b".to_owned(), text)];
            let _ = draft(&recordings, Options { with_static: true });
        }
    }

    #[test]
    fn any_recordings_become_a_scenario(entries in prop::collection::vec((any_entry(), any_entry()), 1..6)) {
        let text = |entries: Vec<&(String, String, Json, i64, Json)>| {
            let entries: Vec<_> = entries.into_iter().map(|(method, path, request, status, response)| {
                (method.as_str(), path.as_str(), request.clone(), *status, response.clone())
            }).collect();
            har(&entries)
        };
        let one = ("a".to_owned(), text(entries.iter().map(|(one, _)| one).collect()));
        let other = ("b".to_owned(), text(entries.iter().map(|(_, other)| other).collect()));
        for recordings in [vec![one.clone()], vec![one, other]] {
            if let Ok(draft) = draft(&recordings, Options { with_static: true }) {
                checked(&draft);
            }
        }
    }
}
