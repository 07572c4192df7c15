use crate::testing::checked;

/// Drafts commands, whose draft must not have `hunter2` or another secret.
#[track_caller]
fn concealed(command: &str, secrets: &[&str]) -> String {
    let draft = crate::curl::draft(command).unwrap_or_else(|error| panic!("{error}"));
    let text = format!("{}{:?}", checked(&draft), draft.notes);
    for secret in ["hunter2"].iter().chain(secrets) {
        assert!(!text.contains(secret), "{secret} in\n{text}");
    }
    text
}

#[test]
fn pairs_without_a_value_leave_the_names_known() {
    let text = concealed("curl -d 'user=ada&pass=hunter2&' http://a", &["ada\""]);
    assert!(text.contains("form = {"), "{text}");
    let text = concealed("curl 'http://a?pwd=hunter2&debug'", &[]);
    assert!(text.contains("debug = \"\""), "{text}");
    // No pairs, as it is not UTF-8.
    concealed("curl 'http://a?pwd=hunter2&b=%ff'", &[]);
    concealed("curl -d 'pass=hunter2&=1' http://a", &[]);
}

#[test]
fn text_within_text_keeps_its_secrets() {
    let json = "curl -H 'content-type: application/json' http://a -d ";
    concealed(
        &format!(r#"{json}'{{"query":"mutation{{login(password:\"hunter2\"){{id}}}}"}}'"#),
        &[],
    );
    concealed(&format!(r#"{json}'{{"a":"{{\"b\":\"{{\\\"pin\\\":\\\"hunter2\\\"}}\"}}"}}'"#), &[]);
    let text = "curl -H 'content-type: text/plain' http://a -d ";
    concealed(&format!("{text}'otp: hunter2'"), &[]);
    concealed(&format!("{text}'Authorization: Bearer ya29.x'"), &["ya29"]);
    concealed(&format!("{text}'<password><![CDATA[hunter2]]></password>'"), &[]);
    concealed(&format!("{text}'<password>two words</password>'"), &["two", "words"]);
}

#[test]
fn json_of_a_plain_command_is_json() {
    let text = concealed(r#"curl -d '{"pass":"hunter2"}' http://a"#, &[]);
    assert!(text.contains("json = {"), "{text}");
}

#[test]
fn a_short_secret_is_concealed_where_it_is_the_whole_value() {
    let text = concealed(
        "curl -d 'password=12345' http://a; curl http://a/x123456 --json '{\"confirm\":\"12345\"}'",
        &["\"12345\""],
    );
    assert!(text.contains("confirm = \"{{ env API_PASSWORD }}\""), "{text}");
    assert!(text.contains("/x123456"), "{text}");
}

#[test]
fn a_secret_in_another_encoding_is_concealed() {
    concealed("curl -d 'password=hunter2+x' 'http://a/b%20hunter2%20x'", &["hunter2%20x"]);
}

#[test]
fn many_secrets_take_seconds_at_most() {
    let begin = std::time::Instant::now();
    let fields: Vec<String> =
        (0..20_000).map(|n| format!("token=secret-{n}&user{n}=ada-{n}")).collect();
    let path = "x/".repeat(20_000);
    let command = format!("curl -d 'password=a1b2c3&{}' http://a/{path}", fields.join("&"));
    crate::curl::draft(&command).unwrap();
    assert!(begin.elapsed().as_secs() < 120, "{:?}", begin.elapsed());
}

#[test]
fn members_whose_names_are_secrets_are_left_out() {
    let key = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
    let text = concealed(
        &format!(
            "curl 'http://a?{key}=1&b=2' --json '{{\"sessions\":{{\"{key}\":1,\"c\":[null,{{\"{key}\":{{}}}}]}}}}'"
        ),
        &[key, &key.to_ascii_uppercase()],
    );
    assert!(
        text.contains("# 3 members are left out, because their names look like secrets."),
        "{text}"
    );
    assert!(text.contains("query = { b = \"2\" }"), "{text}");
    let text = concealed(
        &format!(
            "curl http://a -d {key}=hunter2 -d b=2; curl -d {key}=x http://a; curl http://a -F {key}=x"
        ),
        &[key],
    );
    assert!(
        text.contains("# A member is left out, because its name looks like a secret."),
        "{text}"
    );
}
