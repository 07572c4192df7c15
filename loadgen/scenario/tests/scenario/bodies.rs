//! Tests the bodies, queries and forms of valid scenarios: the bytes that are sent.

use loadgen_scenario::{Body, Data, Part, parse};

use super::files::{only_text, read, rendered};

fn body(step: &str, seed: u64) -> String {
    let text = format!("[[step]]\npost = \"/\"\n{step}\n");
    rendered(only_text(read(&text).steps[0].body.as_ref().unwrap()), seed)
}

#[test]
fn json_bodies_are_sent_as_written() {
    let text = r#"body = { json = { z = "a\"b\n{{ user }}", a = ["{{ user }}", "{{ iteration }}", 1.5, true, {}] } }"#;
    assert_eq!(body(text, 1), r#"{"z":"a\"b\n7","a":[7,0,1.5,true,{}]}"#);
    assert_eq!(body("body = { json = 1, repeat = 3 }", 1), "[1,1,1]");
    assert_eq!(body("body = { text = '{\"n\":{{ user }}}' }", 1), "{\"n\":7}");
}

#[test]
fn a_body_can_be_rendered_once_for_each_user() {
    let scenario = read(
        "[[step]]\npost = \"/a\"\nbody.once = true\nbody.json = { id = \"{{ uuid }}\" }\n\
         [[step]]\npost = \"/b\"\nbody.once = true\nbody.json = { id = \"{{ uuid }}\" }\n",
    );
    let sent = |step: usize, data: &mut Data| {
        let mut text = String::new();
        only_text(scenario.steps[step].body.as_ref().unwrap()).render(data, &mut text).unwrap();
        text
    };
    let (mut one, mut other) = (Data::new(1, 0), Data::new(1, 1));
    let first = sent(0, &mut one);
    one.set_iteration(5);
    assert_eq!(sent(0, &mut one), first);
    assert_ne!(sent(1, &mut one), first, "each step has its body");
    assert_ne!(sent(0, &mut other), first, "each user has its body");
}

#[test]
fn names_and_values_of_queries_and_forms_are_encoded() {
    let step = |keys: &str| read(&format!("[[step]]\n{keys}")).steps.remove(0);
    let path = |keys: &str| rendered(&step(keys).path, 1);
    let query = "query = { q = \"max&co \u{e9}\", \"n m\" = 1, on = true, t = [\"a\", 2.5] }";
    let encoded = "/a?q=max%26co%20%C3%A9&n%20m=1&on=true&t=a&t=2.5";
    assert_eq!(path(&format!("get = \"/a\"\n{query}")), encoded);
    assert_eq!(path("get = \"/a?b=1\"\nquery = { u = \"{{ user }}\" }"), "/a?b=1&u=7");
    assert_eq!(path("get = \"/a\"\nquery = {}"), "/a");
    assert_eq!(step("get = \"/a\"\nquery = { q = 1 }").name, "GET /a");
    let form = "post = \"/\"\nbody = { form = { name = \"{{ name }}\", x = \"a+b\" } }";
    let body = step(form).body.unwrap();
    assert_eq!(body.content_type, "application/x-www-form-urlencoded");
    let text = rendered(only_text(&body), 1);
    let pairs: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    assert!(pairs[0].1.contains(' ') && !text.contains(' '), "{text}");
    assert_eq!((pairs.len(), &pairs[1]), (2, &("x".to_owned(), "a+b".to_owned())));
}

/// Returns the body of a step as it is sent.
fn sent(body: &Body) -> Vec<u8> {
    let one = |part: &Part| match part {
        Part::Text(text) => rendered(text, 1).into_bytes(),
        Part::File(file) => file.kept().unwrap().to_vec(),
    };
    body.parts.iter().flat_map(one).collect()
}

/// Reads a scenario in the folder of a few CSV files, and returns the body of its only step.
fn body_beside_files(body: &str) -> Body {
    let text = format!("[[step]]\npost = \"/\"\nbody = {body}");
    let scenario = parse("test", "tests/data/test.toml", &text);
    let mut scenario = scenario.unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)));
    scenario.steps.remove(0).body.unwrap()
}

#[test]
fn a_multipart_form_has_fields_and_files() {
    let body = body_beside_files(
        r#"{ multipart = { title = "{{ user }} \"é\"", tag = ["a", 2, true], list = { file = "one.csv" },
            photo = { file = "one.csv", filename = "{{ user }}\".jpg", content_type = "image/jpeg" },
            meta = { json = { n = "{{ int 3 3 }}" } } } }"#,
    );
    let (kind, boundary) = body.content_type.split_once("; boundary=").unwrap();
    assert_eq!(kind, "multipart/form-data");
    let text = String::from_utf8(sent(&body)).unwrap().replace(boundary, "BOUNDARY");
    insta::assert_snapshot!(text.replace("\r\n", "\n"));
    assert_eq!(text.replace("\r\n", "").find(['\r']), None);
    let again = body_beside_files("{ multipart = { a = { file = \"one.csv\" } }, once = true }");
    assert!(again.texts().all(|text| text.as_constant().is_some()));
}

#[test]
fn a_file_is_sent_as_it_is() {
    let body = body_beside_files("{ file = \"accounts.csv\" }");
    assert_eq!(body.content_type, "text/csv");
    let content = std::fs::read("tests/data/accounts.csv").unwrap();
    assert_eq!(sent(&body), content);
    assert_eq!(body.to_string(), format!("[accounts.csv: {} bytes]", content.len()));
    let body = body_beside_files("{ file = \"../../Cargo.toml\", content_type = \"a/b\" }");
    assert_eq!(body.content_type, "a/b");
}
