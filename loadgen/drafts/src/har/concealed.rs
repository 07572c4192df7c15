//! Tests that no secret of a recording is in its draft.

use serde_json::json;

use super::tests::{ADA, BOB, answer, data, har, headers, read};
use crate::testing::checked;

#[test]
fn the_real_recordings_keep_their_secrets() {
    for text in [checked(&read(&[ADA, BOB])), checked(&read(&[BOB, ADA])), checked(&read(&[ADA]))] {
        for secret in ["Secret-9171", "\"ada\"", "\"bob\"", "EzAvTAeWNMuSiqLguLaDYccepE1WI7as"] {
            assert!(!text.contains(secret), "{secret} in\n{text}");
        }
    }
}

#[test]
fn no_secret_is_in_the_draft() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJTRUNSRVQtMDgifQ.SECRET-00";
    let page = format!(
        "<p data-k=\"SECRET-01\">SECRET-02 <input name=\"csrf\" value=\"abcdefgh12345678\"> {jwt}"
    );
    let text = har(&[
        (
            "GET",
            "/?token=SECRET-01&x=see%20SECRET-01",
            json!({ "cookies": [{ "name": "sid", "value": "SECRET-03" }] }),
            200,
            json!({ "headers": headers(&[("Set-Cookie", "sessionid=SECRET-04; path=/\ntoken=SECRET-05")]), "content": { "mimeType": "text/html", "text": page } }),
        ),
        (
            "POST",
            "/login",
            json!({ "headers": headers(&[("X-Api-Key", "SECRET-06"), ("Authorization", "Bearer SECRET-07"), ("Cookie", "theme=dark; sid=SECRET-03"), ("Referer", "https://shop.example/a?token=SECRET-01"), ("X-Trace", "SECRET-04")]), "postData": { "mimeType": "application/x-www-form-urlencoded", "text": "csrf=abcdefgh12345678&email=SECRET-08&password=SECRET-09" } }),
            200,
            answer(
                "application/json",
                "{\"token\":\"SECRET-10-abcdefgh\",\"SECRET-09\":{\"id\":\"abcdefgh-12345678\"}}",
            ),
        ),
        ("GET", "/me/SECRET-10-abcdefgh", json!({}), 200, json!({})),
        ("GET", "/me/SECRET-09/abcdefgh-12345678", json!({}), 200, json!({})),
        ("GET", "/plain?SECRET-01", json!({}), 200, json!({})),
        (
            "PUT",
            "/json",
            data(
                "application/json",
                "{\"a\":[{\"client_secret\":\"SECRET-11\",\"pin\":917171}],\"b\":\"x SECRET-09 y\",\"token\":917171,\"user\":\"SECRET-12\",\"pwd\":\"SECRET-13\"}",
            ),
            200,
            json!({}),
        ),
        (
            "PUT",
            "/xml",
            data("text/xml", "<a><Password>SECRET-14</Password><api_key>SECRET-15</api_key></a>"),
            200,
            json!({}),
        ),
        (
            "PUT",
            "/broken",
            data("application/json", "{\"password\": \"SECRET-16\", "),
            200,
            json!({}),
        ),
        (
            "POST",
            "/multi",
            data(
                "multipart/form-data; boundary=x",
                "--x\r\nContent-Disposition: form-data; name=\"secret\"\r\n\r\nSECRET-17\r\n--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"SECRET-09.txt\"\r\n\r\nSECRET-18\r\n--x--\r\n",
            ),
            201,
            json!({}),
        ),
        (
            "GET",
            &format!("https://user:SECRET-19@shop.example/jwt/{jwt}?k={jwt}&v=SECRET-19"),
            json!({}),
            200,
            json!({}),
        ),
    ]);
    let again = format!("{text}\n");
    for recordings in [vec![text.as_str()], vec![text.as_str(), again.as_str()]] {
        let draft = read(&recordings);
        let text = format!("{}{:?}", checked(&draft), draft.notes);
        let left: Vec<&str> =
            text.match_indices("SECRET-").map(|(at, _)| &text[at..at + 9]).collect();
        assert!(
            left.is_empty() && !text.contains("917171") && !text.contains(jwt),
            "{left:?} in\n{text}"
        );
    }
}
