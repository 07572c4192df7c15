//! Tests properties that hold for any text given as a scenario.

use loadgen_scenario::{Data, Scenario, ScenarioError, TransportKind, parse};
use proptest::prelude::*;

const VALID: &str = include_str!("../../../../scenarios/insert_batch.toml");

/// Parses a text. If the text is refused, the error
/// must contain at least one fault and must render.
fn read(text: &str) {
    let Err(error) = parse("any", "any.toml", text) else {
        return;
    };
    let ScenarioError::Invalid { faults, .. } = &error else { panic!("no file was read") };
    assert!(!faults.is_empty());
    let mut out = String::new();
    miette::GraphicalReportHandler::new().with_width(80).render_report(&mut out, &error).unwrap();
}

/// Quotes a text as a TOML string. Every character is escaped, so that TOML interprets none.
fn quoted(text: &str) -> String {
    let escape = |c: char| format!("\\U{:08X}", u32::from(c));
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|([a-z_\\[\\]\"'={}.,#\n -~]|\t|\r){0,80}") {
        read(&text);
    }

    #[test]
    fn a_changed_file_is_read_or_refused(
        at in 0..VALID.len(),
        cut in 0usize..20,
        insert in "(\\PC|[\"'\\[\\]{}=\n\r,]|\\{\\{|-){0,6}",
    ) {
        let end = (at + cut).min(VALID.len());
        read(&format!("{}{insert}{}", &VALID[..at], &VALID[end..]));
    }

    #[test]
    fn any_value_in_any_key_is_read_or_refused(
        key in "description|targets|backends|on_error|http|load|step|thresholds",
        inner in "version|redirects|cookies|proxy|transport|users|ramp_up|duration|get|post|headers|body|expect|counters|p99|error_rate|text|json|name",
        value in "-?[0-9]{1,25}|\"[^\"\\\\]{0,12}\"|\\[\\]|\\[1, \"a\"\\]|\\{\\}|true|-?inf|nan|1979-05-27|\"-?[0-9]{1,25}[smh%]?\"",
    ) {
        read(&format!("{key} = {value}"));
        read(&format!("{key} = {{ {inner} = {value} }}\n[[step]]\nget = \"/\""));
        read(&format!("[[step]]\nget = \"/\"\n{inner} = {value}"));
        read(&format!("[[step]]\npost = \"/\"\n[step.{inner}]\n{inner} = {value}"));
    }

    /// The transport silently ignores a proxy that its parser rejects,
    /// so an accepted proxy must parse as the transport parses it.
    #[test]
    fn a_proxy_is_read_or_refused(
        proxy in "(https?:)?(//|/\\\\)?(\\PC{0,4}@)?(\\PC{0,8}|[a-z0-9.:\\[\\]%_-]{0,16})(:[0-9]{0,6})?/?",
    ) {
        let text = format!("[http]\nproxy = {}\n[[step]]\nget = \"/\"", quoted(&proxy));
        read(&text);
        if let Ok(scenario) = parse("any", "any.toml", &text) {
            let proxy = url::Url::parse(&scenario.http.proxy.unwrap()).unwrap();
            let uri: http::Uri = proxy.as_str().parse().unwrap();
            prop_assert!(!uri.host().unwrap().is_empty());
        }
    }

    #[test]
    fn a_transport_is_chosen_only_for_what_it_supports(
        version in "1\\.1|2",
        redirects in 0u32..3,
        cookies: bool,
        proxy: bool,
        connections in prop::option::of(1u32..9),
        transport in "auto|http1|http2|reqwest",
    ) {
        let shared = connections.map_or(String::new(), |n| format!("connections = {n}"));
        let proxied = if proxy { "proxy = \"http://10.0.0.1:3128\"" } else { "" };
        let text = format!(
            "[http]\nversion = \"{version}\"\nredirects = {redirects}\ncookies = {cookies}\n{proxied}\n{shared}\ntransport = \"{transport}\"\n[[step]]\nget = \"/\"",
        );
        let own = if version == "2" { TransportKind::Http2 } else { TransportKind::Http1 };
        let is_shared = connections.is_some();
        match parse("any", "any.toml", &text) {
            Ok(Scenario { http, .. }) => {
                let chosen = http.transport();
                match transport.as_str() {
                    "auto" => prop_assert_eq!(chosen, own),
                    forced => prop_assert_eq!(chosen.to_string(), forced),
                }
                prop_assert!(chosen == own || chosen == TransportKind::Reqwest);
                prop_assert!(chosen == TransportKind::Http2 || !is_shared);
            }
            Err(_) => {
                let impossible = match transport.as_str() {
                    "auto" => false,
                    "reqwest" => is_shared,
                    forced => forced != own.to_string(),
                };
                let unshareable = is_shared && version == "1.1";
                prop_assert!(impossible || unshareable, "{text}");
            }
        }
    }

    #[test]
    fn a_json_body_renders_to_equal_json(
        strings in prop::collection::vec(any::<String>(), 1..4),
        number: f64,
        repeat in 1usize..4,
    ) {
        // Braces have a special meaning in templates.
        let strings: Vec<String> = strings.iter().map(|text| text.replace('{', "")).collect();
        let items: Vec<String> = strings.iter().map(|text| quoted(text)).collect();
        let number = if number.is_finite() { format!("{number:?}") } else { "0.5".to_owned() };
        let text = format!(
            "[[step]]\npost = \"/\"\nbody = {{ repeat = {repeat}, json = {{ {} = [{}, {number}, \"{{{{ name }}}} {{{{ uuid }}}}\", \"{{{{ int -9 9 }}}}\"] }} }}",
            items[0], items.join(", "),
        );
        let scenario = parse("any", "any.toml", &text).map_err(|error| TestCaseError::fail(format!("{:?}", miette::Report::new(error))))?;
        let mut out = String::new();
        scenario.steps[0].body.as_ref().unwrap().texts().next().unwrap().render(&mut Data::new(1, 1), &mut out).unwrap();
        let sent: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
        prop_assert_eq!(sent.len(), repeat);
        for item in sent {
            let values = item[&strings[0]].as_array().unwrap();
            for (value, string) in values.iter().zip(&strings) {
                prop_assert_eq!(value.as_str().unwrap(), string);
            }
            prop_assert!(values.last().unwrap().is_i64());
        }
    }
}

#[test]
fn no_depth_overflows_the_stack() {
    for depth in [100, 10_000] {
        read(&format!("a = {}{}", "[".repeat(depth), "]".repeat(depth)));
        read(&format!("a = {}1{}", "{a=".repeat(depth), "}".repeat(depth)));
        read(&format!("{}a = 1", "a.".repeat(depth)));
        read(&format!("[{}a]", "a.".repeat(depth)));
    }
}
