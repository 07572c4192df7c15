use std::collections::BTreeSet;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

use super::fuzzing::mask_foreign;
use super::*;
use crate::data::Data;
use crate::environment::tests::{TEXT, environment, scenario, sent};
use crate::{parse, parse_to_run};

#[test]
fn credentials_of_each_user_are_hidden_in_any_text() {
    let text = "[[step]]\nget = \"/\"\n\
                auth = { user = \"u-{{ user }}\", password = \"{{ env TOKEN }}\" }";
    let scenario = parse_to_run("test", "test.toml", text, &environment).unwrap();
    let hidden = Secrets::of(&scenario);
    let said = "got 401: {\"authorization\": \"Basic dS0xOnRvImtlbi0xMjM0\"}, basic auth";
    let shown = "got 401: {\"authorization\": \"Basic (credentials)\"}, basic (credentials)";
    assert_eq!(hidden.hidden(said), shown);
    assert_eq!(Secrets::default().hidden(said), said);
}

#[test]
fn the_password_of_the_proxy_is_hidden() {
    let text = "http = { proxy = 'http://bob:hunter2%21@127.0.0.1:3128' }\n[[step]]\nget = '/'";
    let hidden = Secrets::of(&parse("test", "test.toml", text).unwrap());
    assert_eq!(
        hidden.hidden("got 407: proxy-authorization: Basic Ym9iOmh1bnRlcjIh, hunter2!, hunter2%21"),
        "got 407: proxy-authorization: Basic (password of the proxy), (password of the proxy), \
         (password of the proxy)"
    );
}

#[test]
fn values_quoted_from_a_server_are_hidden() {
    let secrets = Secrets::of(&scenario());
    for (said, shown) in [
        ("got: to\"ken-1234!", "got: {{ env TOKEN }}!"),
        (r#"got: {"key":"to\"ken-1234"}"#, r#"got: {"key":"{{ env TOKEN }}"}"#),
        ("/a%2Fb%20c and a/b c", "/{{ env PLACE }} and {{ env PLACE }}"),
        ("cut: to\"ken-…", "cut: {{ env TOKEN }}…"),
        ("cut: to\"… at \"/x\"", "cut: to\"… at \"/x\""),
        ("cut: to\"k… at \"/x\"", "cut: {{ env TOKEN }}… at \"/x\""),
        ("token-12", "token-12"),
        // PHP, Go, HTML, a form, JSON in JSON.
        (r"a\/b c", "{{ env PLACE }}"),
        (r"to\u0022ken\u002d1234", "{{ env TOKEN }}"),
        ("to&quot;ken-1234 to&#34;ken-1234", "{{ env TOKEN }} {{ env TOKEN }}"),
        ("a%2fb+c", "{{ env PLACE }}"),
        (r#""{\"key\":\"to\\\"ken-1234\"}""#, r#""{\"key\":\"{{ env TOKEN }}\"}""#),
        // Of the whole value.
        ("746f226b656e2d31323334 746F226B656E2D31323334", "{{ env TOKEN }} {{ env TOKEN }}"),
        ("dG8ia2VuLTEyMzQ= YS9iIGM", "{{ env TOKEN }} {{ env PLACE }}"),
        ("cut: dG8ia2V…", "cut: {{ env TOKEN }}…"),
        ("cut: to&quot;ke…", "cut: {{ env TOKEN }}…"),
    ] {
        assert_eq!(secrets.hidden(said), shown);
    }
    assert_eq!(Secrets::default().hidden("as it is…"), "as it is…");
}

#[test]
fn credentials_are_sent_in_base64_and_never_shown() {
    let step = "post = \"/\"\nauth = { user = \"anna\", password = \"{{ env TOKEN }}\" }";
    let text = format!(
        "http.auth = {{ user = \"{{{{ user }}}}\", password = \"open sesame\" }}\n\
         [[step]]\n{step}\n[[step]]\nget = \"/\"\n[[step]]\nget = \"/own\"\n\
         headers = {{ Authorization = \"Bearer x\" }}"
    );
    let scenario = parse_to_run("test", "test.toml", &text, &environment).unwrap();
    let headers = scenario.steps.iter().flat_map(|step| &step.headers);
    let values: Vec<&Template> = headers.map(|(_, value)| value).collect();
    // Of `anna:to"ken-1234` and `1:open sesame`.
    let expected = ["Basic YW5uYTp0byJrZW4tMTIzNA==", "Basic MTpvcGVuIHNlc2FtZQ==", "Bearer x"];
    for (value, expected) in values.iter().zip(expected) {
        assert_eq!(sent(value).as_deref(), Some(expected));
        assert_eq!(sent(&(*value).clone().revealed()).as_deref(), Some(expected));
    }
    assert!(values[0].clone().revealed().as_constant().is_some(), "encoded once");
    let shown = values.iter().map(|value| value.shown(&mut Data::new(1, 1)));
    let written = ["Basic anna:(password)", "Basic {{ user }}:(password)", "Bearer x"];
    assert!(shown.eq(written) && values.iter().map(ToString::to_string).eq(written));
    assert_eq!(scenario.variables(), BTreeSet::from(["TOKEN"]));
    let secrets = Secrets::of(&scenario);
    for (said, shown) in [
        ("got Basic YW5uYTp0byJrZW4tMTIzNA==", "got Basic anna:(password)"),
        ("sesame? open sesame", "sesame? (password)"),
        ("to\"ken-1234", "{{ env TOKEN }}"),
    ] {
        assert_eq!(secrets.hidden(said), shown);
    }
}

#[test]
fn a_scenario_without_values_hides_nothing() {
    let secrets = Secrets::of(&parse("test", "test.toml", TEXT).unwrap());
    assert_eq!(secrets.hidden("a/b c"), "a/b c");
}

#[test]
fn seeds_are_masked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/masking");
    let seeds = std::fs::read_dir(folder).unwrap();
    let count =
        seeds.map(|seed| mask_foreign(&std::fs::read(seed.unwrap().path()).unwrap())).count();
    assert!(count >= 5, "{count}");
}

#[test]
fn backslashes_take_no_time() {
    let backslashes = "\\".repeat(200);
    for secret in [backslashes.clone(), format!("{backslashes}x")] {
        mask_foreign(format!("{secret}\0{}", "\\".repeat(2_000)).as_bytes());
    }
    let escapes = "%25&amp;".repeat(1_000);
    mask_foreign(format!("%&%&%&%&x\0{escapes}").as_bytes());
}

#[test]
fn a_value_that_is_cut_within_an_escape_is_hidden() {
    let values = [("abcdefghijk/lmn&op\"q".to_owned(), "(secret)".to_owned())];
    let secrets = Secrets::new(values.into_iter());
    for encode in ENCODERS.map(|(_, encode)| encode) {
        let encoded = encode("abcdefghijk/lmn&op\"q");
        let cuts = encoded.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST);
        for cut in cuts {
            let hidden = secrets.hidden(format!("got {}…", &encoded[..cut]));
            assert_eq!(hidden, "got (secret)…", "{}", &encoded[..cut]);
        }
    }
    let values = [("ab…cdef".to_owned(), "(secret)".to_owned())];
    assert_eq!(Secrets::new(values.into_iter()).hidden("got ab…cdef"), "got (secret)");
}

#[test]
fn a_run_of_backslashes_is_hidden_in_each_encoding() {
    for run in 3..=7 {
        let secret = format!("A{} z", "\\".repeat(run));
        let secrets = Secrets::new([(secret.clone(), "(secret)".to_owned())].into_iter());
        for text in [secret.clone(), json(&secret), json(&json(&secret))] {
            assert_eq!(secrets.hidden(format!("got {text}.")), "got (secret).", "{run}");
        }
    }
}

/// Encodes a text as servers do.
type Encode = fn(&str) -> String;

fn json(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

/// As `json.dumps` of Python does by default.
fn json_in_ascii(text: &str) -> String {
    json(text)
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(ascii @ 0..0x80) => char::from(ascii).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect()
}

/// As `encoding/json` of Go does.
fn json_of_go(text: &str) -> String {
    let escaped = |c: char| match c {
        '<' | '>' | '&' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    json(text).chars().map(escaped).collect()
}

/// As `json_encode` of PHP does.
fn json_of_php(text: &str) -> String {
    json_in_ascii(text).replace('/', "\\/")
}

fn percent(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn form(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

const ENCODERS: [(&str, Encode); 8] = [
    ("as it is", |text| text.to_owned()),
    ("json", json),
    ("json of Python", json_in_ascii),
    ("json of Go", json_of_go),
    ("json of PHP", json_of_php),
    ("percent", percent),
    ("form", form),
    ("html", html),
];

proptest! {
    #[test]
    fn no_encoder_reveals_a_secret(secret in "\\PC{4,20}", around in "[a-z ,:]{0,9}") {
        prop_assume!(!secret.contains(CUT));
        let values = [(secret.clone(), "(secret)".to_owned())];
        let secrets = Secrets::new(values.into_iter());
        let in_base64 = ("base64", (|text| STANDARD.encode(text)) as Encode);
        for (inner, encode) in ENCODERS.into_iter().chain([in_base64]) {
            for (outer, again) in ENCODERS {
                let encoded = again(&encode(&secret));
                let hidden = secrets.hidden(format!("{around}{encoded}{around}"));
                let is_hidden = hidden.contains("(secret)") && !hidden.contains(&encoded);
                prop_assert!(is_hidden, "{} in {}: {}, {}", inner, outer, encoded, hidden);
            }
        }
    }

    #[test]
    fn foreign_texts_are_masked(text in "\\PC{0,40}", secret in "\\PC{0,9}") {
        mask_foreign(format!("{secret}\0{text}").as_bytes());
    }
}
