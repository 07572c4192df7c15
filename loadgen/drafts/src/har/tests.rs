use serde_json::{Value as Json, json};

use super::*;
use crate::testing::checked;

pub(super) const ADA: &str = include_str!("recordings/ada.har");
pub(super) const BOB: &str = include_str!("recordings/bob.har");

pub(super) fn read(texts: &[&str]) -> Draft {
    let recordings: Vec<(String, String)> =
        texts.iter().map(|text| ("a.har".to_owned(), (*text).to_owned())).collect();
    draft(&recordings, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a recording of entries: method, path or URL, members of the request, status, members of the
/// response. Each begins 50 ms after the one before it, and takes 20 ms.
pub(super) fn har(entries: &[(&str, &str, Json, i64, Json)]) -> String {
    let entry = |(index, entry): (usize, &(&str, &str, Json, i64, Json))| {
        let (method, path, request, status, response) = entry.clone();
        let url = if path.starts_with('/') {
            format!("https://shop.example{path}")
        } else {
            path.to_owned()
        };
        let (mut request, mut response) = (request, response);
        request["method"] = json!(method);
        request["url"] = json!(url);
        response["status"] = json!(status);
        let started = format!("2026-01-01T01:00:{:02}.{:03}+01:00", index / 20, index % 20 * 50);
        json!({ "startedDateTime": started, "time": 20, "request": request, "response": response })
    };
    let entries: Vec<Json> = entries.iter().enumerate().map(entry).collect();
    json!({ "log": { "creator": { "name": "WebInspector", "version": "537.36" }, "entries": entries } }).to_string()
}

pub(super) fn headers(headers: &[(&str, &str)]) -> Json {
    headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

pub(super) fn data(mime_type: &str, text: &str) -> Json {
    json!({ "postData": { "mimeType": mime_type, "text": text } })
}

pub(super) fn answer(mime_type: &str, text: &str) -> Json {
    json!({ "content": { "mimeType": mime_type, "text": text } })
}

/// A journey through an application in Django, with a login, forms and requests of scripts.
#[test]
fn two_recordings_of_chromium() {
    let draft = read(&[ADA, BOB]);
    let notes = draft.notes.join("\n");
    insta::assert_snapshot!(format!("{}\n---\n{notes}", checked(&draft)));
}

#[test]
fn one_recording_of_chromium() {
    let draft = read(&[ADA]);
    insta::assert_snapshot!(checked(&draft));
}

/// Entries of many kinds, of which `number` and `word` differ between recordings.
fn shop(number: u32, word: &str) -> String {
    let order = format!("/orders/{number}");
    har(&[
        ("GET", "https://cdn.example/a.js", json!({}), 200, answer("text/javascript", "")),
        ("GET", "/", json!({}), 200, answer("text/html; charset=utf-8", "<a href=\"/search\">")),
        ("GET", "/style.css?v=1", json!({}), 200, json!({})),
        (
            "GET",
            &format!("/search?q={word}+%7B%7B&q=b&%5B%5D=1"),
            json!({ "headers": headers(&[("If-None-Match", "\"1\""), (":path", "/"), ("X-Version", "3"), ("Accept", "*/*")]) }),
            304,
            answer("", ""),
        ),
        (
            "POST",
            "/orders",
            data("application/json", "{\"sku\":\"x\",\"n\":null}"),
            303,
            json!({ "redirectURL": order, "headers": headers(&[("Location", &order), ("Set-Cookie", "lang=en; Path=/")]) }),
        ),
        ("GET", &order, json!({}), 200, answer("text/html", "<h1>Thanks</h1>")),
        (
            "GET",
            &format!("{order}/items"),
            json!({}),
            200,
            answer("application/json", &format!("[{{\"id\":{}}},{{\"id\":7}}]", number + 1)),
        ),
        (
            "DELETE",
            &format!("{order}/items/{}", number + 1),
            json!({ "headers": headers(&[("Referer", "https://shop.example/orders?x=1"), ("Origin", "https://shop.example")]) }),
            204,
            json!({}),
        ),
        (
            "POST",
            "/upload",
            data(
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=\"tag\"\r\n\r\nnew\r\n--x\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n\u{fffd}\r\n--x--\r\n",
            ),
            201,
            json!({}),
        ),
        (
            "POST",
            "/graphql",
            data("application/json", "{\"query\":\"{ a }\"}"),
            200,
            answer("application/json", "{}"),
        ),
        ("GET", "wss://shop.example/ws", json!({}), 101, json!({})),
        ("GET", "/aborted", json!({}), 0, json!({})),
    ])
}

#[test]
fn requests_of_many_kinds() {
    let draft = read(&[&shop(41, "tea"), &shop(87, "coffee")]);
    let notes = draft.notes.join("\n");
    insta::assert_snapshot!(format!("{}\n---\n{notes}", checked(&draft)));
}

#[test]
fn static_files_are_steps_if_wanted() {
    let recordings = [("a.har".to_owned(), shop(41, "tea"))];
    let text = checked(&draft(&recordings, Options { with_static: true }).unwrap());
    assert!(text.contains("get = \"/style.css\"") && !text.contains("cdn.example/a.js"), "{text}");
}

#[test]
fn a_value_that_only_a_redirect_has_keeps_it_apart() {
    let text = checked(&read(&[&shop(41, "tea"), &shop(87, "coffee")]));
    assert!(text.contains("capture = { order_id = { header = \"location\""), "{text}");
    assert!(text.contains("get = \"/orders/{{ order_id }}\""), "{text}");
}

#[test]
fn a_token_of_a_login_is_captured() {
    let recording = |token: &str, password: &str| {
        let bearer = headers(&[("Authorization", &format!("Bearer {token}"))]);
        let login = format!("{{\"user\":\"ada\",\"password\":\"{password}\"}}");
        let answered = format!("{{\"user\":{{\"access_token\":\"{token}\"}}}}");
        har(&[
            (
                "POST",
                "/login",
                data("application/json", &login),
                200,
                answer("application/json", &answered),
            ),
            ("GET", "/me", json!({ "headers": bearer }), 200, json!({})),
            ("GET", "/orders", json!({ "headers": bearer }), 200, json!({})),
        ])
    };
    let (one, other) = (recording("abc-def", "enigma-1"), recording("ghi-jkl", "enigma-2"));
    for recordings in [vec![one.as_str()], vec![one.as_str(), other.as_str()]] {
        let text = checked(&read(&recordings));
        assert!(
            text.contains("capture = { access_token = { json = \"/user/access_token\" } }"),
            "{text}"
        );
        assert_eq!(
            text.matches("authorization = \"Bearer {{ access_token }}\"").count(),
            2,
            "{text}"
        );
        assert!(!text.contains("enigma") && !text.contains("abc-def"), "{text}");
    }
}

/// Firefox, mitmproxy and Safari write `null`, leave members out, and encode bodies in base64.
#[test]
fn other_writers_are_read() {
    let text = r#"{"log":{"version":"1.2","creator":{"name":"mitmproxy","version":"11"},"browser":null,"pages":[],"entries":[
        {"startedDateTime":"2026-01-01T00:00:00.5+00:00","time":null,"request":{"method":"GET","url":"https://a/#top","headers":null,"cookies":null,"postData":null,"queryString":[]},
         "response":{"status":200,"headers":[{"name":"Set-Cookie","value":"a=1\nb=2"}],"content":{"mimeType":"text/html","text":"PGlucHV0IG5hbWU9ImNzcmYiIHZhbHVlPSJ4OTEiPg==","encoding":"base64"},"redirectURL":null}},
        {"request":{"method":"post","url":"https://a/x","headers":[{"name":"Cookie","value":"a=1; c=3"}],"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"csrf","value":"x91"},{"name":"b","value":null}]}},
         "response":{"status":200},"startedDateTime":"2026-01-01T01:00:02+01:00"}]}}"#;
    let draft = read(&[&format!("\u{feff}{text}")]);
    insta::assert_snapshot!(format!("{}\n---\n{}", checked(&draft), draft.notes.join("\n")));
}

#[test]
fn a_generated_value_stands_for_an_unknown_uuid() {
    let recording = |id: &str| {
        let body = format!("{{\"id\":\"{id}\"}}");
        har(&[("POST", "/events", data("application/json", &body), 201, json!({}))])
    };
    let one = recording("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    let text = checked(&read(&[&one, &recording("6ba7b811-9dad-11d1-80b4-00c04fd430c8")]));
    assert!(text.contains("json = { id = \"{{ uuid }}\" }"), "{text}");
}

/// Nothing has the name of a new UUID.
#[test]
fn no_uuid_is_made_for_a_path() {
    let recording = |id: &str| har(&[("GET", &format!("/a/{id}"), json!({}), 200, json!({}))]);
    let one = recording("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    let draft = read(&[&one, &recording("6ba7b811-9dad-11d1-80b4-00c04fd430c8")]);
    let text = checked(&draft);
    assert!(text.contains("get = \"/a/6ba7b810-9dad-11d1-80b4-00c04fd430c8\""), "{text}");
    assert!(text.contains("decide."), "{text}");
    let last = draft.notes.last().unwrap();
    assert!(last.starts_with("The recording has no contents of responses"), "{last}");
}

#[test]
fn two_people_may_take_two_items_of_a_list() {
    let recording = |place: usize| {
        let items: Vec<Json> =
            (0..9).map(|n| json!({ "id": 501 + n * 7, "name": format!("thing {n}") })).collect();
        let id = items[place]["id"].clone();
        let list = answer("application/json", &json!({ "items": items }).to_string());
        har(&[
            ("GET", "/things", json!({}), 200, list),
            ("GET", &format!("/things/{id}"), json!({}), 200, json!({})),
        ])
    };
    let text = checked(&read(&[&recording(2), &recording(5)]));
    assert!(text.contains("{ json = \"/items/*/id\", match = \"random\" }"), "{text}");
    assert!(!text.contains("/things/5") && !text.contains("decide"), "{text}");
}

#[test]
fn a_header_that_no_response_can_have_gives_no_value() {
    let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    let given = |name: &str| json!({ "headers": headers(&[(name, id)]) });
    let text = |name: &str| {
        checked(&read(&[&har(&[
            ("GET", "/", json!({}), 200, given(name)),
            ("GET", &format!("/a/{id}"), json!({}), 200, json!({})),
        ])]))
    };
    assert!(text("x-id").contains("header = \"x-id\""));
    assert!(!text("te -scookie").contains("te -scookie"));
}

#[test]
fn the_same_recording_twice_is_refused() {
    let recordings = [("a.har".to_owned(), ADA.to_owned()), ("b.har".to_owned(), ADA.to_owned())];
    let refused = draft(&recordings, Options::default()).unwrap_err();
    assert_eq!(refused.message, "both recordings are the same");
}

#[test]
fn requests_beside_each_other_are_told() {
    let mut log: Json = serde_json::from_str(&shop(41, "tea")).unwrap();
    log["log"]["entries"][1]["time"] = json!(500);
    let text = checked(&read(&[&log.to_string()]));
    assert!(text.contains("beside each other"), "{text}");
}

#[test]
fn think_times_are_the_gaps() {
    let mut log: Json = serde_json::from_str(&shop(41, "tea")).unwrap();
    log["log"]["entries"][3]["startedDateTime"] = json!("2026-01-01T00:00:01.31Z");
    let text = checked(&read(&[&log.to_string()]));
    assert!(text.contains("think_time = \"0.8s\""), "{text}");
}

#[test]
fn the_main_server_is_that_of_the_page_after_its_redirect() {
    let page = |url| ("GET", url, json!({}), 200, answer("text/html", ""));
    let draft = read(&[&har(&[
        ("GET", "http://tracker.example/", json!({}), 200, answer("application/json", "")),
        (
            "GET",
            "http://shop.example/",
            json!({}),
            301,
            json!({ "redirectURL": "https://www.shop.example/", "content": { "mimeType": "text/html" } }),
        ),
        page("https://www.shop.example/"),
    ])]);
    assert_eq!(draft.url.as_deref(), Some("https://www.shop.example"));
    assert_eq!(
        draft.notes[0],
        "Requests to other servers are left out: shop.example (1), tracker.example (1)."
    );
}

#[test]
fn what_is_no_recording_is_an_error_without_its_text() {
    let error = |texts: &[&str]| {
        let texts: Vec<_> =
            texts.iter().map(|text| ("a.har".to_owned(), (*text).to_owned())).collect();
        draft(&texts, Options::default()).unwrap_err().message
    };
    assert_eq!(error(&[]), "a draft needs one or two recordings, not 0");
    assert_eq!(error(&["SECRET"]), "a.har is not a HAR file: line 1, column 1");
    assert_eq!(error(&["{\"log\":{\"entries\":[]}}"]), "a.har has no requests over HTTP");
    assert_eq!(
        error(&["{\"log\":{\"entries\":[{},{\"request\":\"SECRET\"}]}}"]),
        "entry 2 of a.har is not as HAR 1.2 has it"
    );
    let log = har(&[("GE T", "/", json!({}), 200, json!({}))]);
    assert_eq!(error(&[&log]), "entry 1 of a.har has no method that can be sent");
}

#[test]
fn a_search_that_takes_long_ends_with_a_note() {
    let journey =
        |text: &str| Journey::read(file::read("a.har", text).unwrap(), "a.har", false).unwrap();
    let (mut one, other) = (journey(&shop(41, "tea")), journey(&shop(87, "coffee")));
    let secrets = one.secrets();
    let longest = std::time::Duration::ZERO;
    let (chains, found) = correlate::connections(&one, Some(&other), &secrets, longest);
    assert!(found.is_cut && found.captures.iter().all(Vec::is_empty));
    let draft = steps::write(&mut one, Some(&other), &chains, found, secrets);
    assert!(draft.notes.iter().any(|note| note.contains("30 seconds")), "{:?}", draft.notes);
}

#[test]
fn steps_that_change_data_are_named() {
    let note = |methods: &[&'static str]| {
        let entries: Vec<_> =
            methods.iter().map(|method| (*method, "/a", json!({}), 200, json!({}))).collect();
        let notes = read(&[&har(&entries)]).notes;
        notes.into_iter().find(|note| note.contains("data ("))
    };
    assert_eq!(note(&["GET", "HEAD", "OPTIONS"]), None);
    assert_eq!(
        note(&["GET", "POST"]).unwrap(),
        "1 step changes data (POST /a): send it to a server that may be filled and emptied."
    );
    assert_eq!(
        note(&["PUT", "PUT", "PATCH", "DELETE", "PURGE", "POST"]).unwrap(),
        "6 steps change data (PUT /a, PUT /a (2), PATCH /a, DELETE /a, PURGE /a, …): \
         send them to a server that may be filled and emptied."
    );
}
