//! Tests the meaning of valid scenarios: the files that
//! come with loadgen, and the examples in the reference.

use std::path::{Path, PathBuf};
use std::time::Duration;

use loadgen_scenario::{
    Arrivals, Backend, Body, Condition, Data, Expect, ExpectedContent, Http, HttpVersion, Load,
    Method, Metric, Model, Of, OnError, Open, Operator, Proof, Scenario, Sharing, Stage, Statistic,
    Template, ThinkTime, Threshold, Timing, TransportKind, Until, load, parse,
};
use serde_json::json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped(name: &str) -> Scenario {
    let path = root().join("scenarios").join(name).with_extension("toml");
    load(&path).unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
}

pub(super) fn read(text: &str) -> Scenario {
    parse("test", "test.toml", text)
        .unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
}

pub(super) fn only_text(body: &Body) -> &Template {
    body.texts().next().unwrap()
}

pub(super) fn rendered(template: &Template, seed: u64) -> String {
    let mut out = String::new();
    template.render(&mut Data::new(seed, 7), &mut out).unwrap();
    out
}

#[test]
fn every_shipped_scenario_is_valid() {
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let scenario = shipped(name);
        assert_eq!(scenario.name, name);
        assert!(scenario.description.is_some(), "{name} says what it is");
        // Of the targets that run by default, only Sanic has a WebSocket, and none speaks gRPC.
        let targets: &[&str] = match name {
            "websocket" => &["sanic"],
            "grpc" => &["grpc"],
            _ => &["sanic", "quart", "fastapi", "flask"],
        };
        assert_eq!(scenario.targets, targets, "{name}");
        let begin = "#:schema ./loadgen.schema.json\n# ";
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(begin), "{name}");
    }
}

#[test]
fn redis3_expects_all_three_values() {
    let scenario = shipped("redis3");
    assert_eq!(scenario.backends, [Backend::Redis]);
    let until = Until::Duration(Duration::from_secs(3));
    assert_eq!(
        scenario.load,
        Load {
            model: Model::Closed,
            users: 100,
            ramp_up: Duration::ZERO,
            think_time: None,
            until,
            drain: Duration::from_secs(3),
        }
    );
    let step = &scenario.steps[0];
    assert_eq!((&step.method, step.path.as_constant()), (&Method::GET, Some("/redis3")));
    assert_eq!(step.timeout, Duration::from_secs(10));
    let value = |n| Condition::Json(format!("/values/{}", n - 1), json!(format!("value-{n}")));
    assert_eq!(step.expect.all, [1, 2, 3].map(value));
    assert_eq!((step.expect.status.to_string(), step.expect.none.len()), ("200".to_owned(), 0));
}

#[test]
fn insert_batch_sends_a_thousand_items() {
    let scenario = shipped("insert_batch");
    let step = &scenario.steps[0];
    assert_eq!(
        (step.counters[0].name.as_str(), step.counters[0].pointer.as_str()),
        ("inserted_items", "/inserted")
    );
    let expected: Vec<&ExpectedContent> =
        scenario.proofs.iter().map(|proof| &proof.expected).collect();
    assert_eq!(
        expected,
        [&ExpectedContent::Counter("inserted_items".to_owned()), &ExpectedContent::Value(0)]
    );
    let body = step.body.as_ref().unwrap();
    assert_eq!(body.content_type, "application/json");
    let items: Vec<serde_json::Value> =
        serde_json::from_str(&rendered(only_text(body), 1)).unwrap();
    assert_eq!(items.len(), 1000);
    for item in &items {
        assert_eq!(item["sku"].as_str().unwrap().len(), 36);
        assert!(item["name"].as_str().unwrap().contains(' '));
        assert!((1..=100).contains(&item["quantity"].as_i64().unwrap()));
        assert!((50..=99_999).contains(&item["price_cents"].as_i64().unwrap()));
    }
}

#[test]
fn absent_keys_have_their_defaults() {
    let scenario = read("[[step]]\ndelete = \"/items/{{ user }}\"");
    let until = Until::Duration(Duration::from_secs(10));
    assert_eq!(
        scenario.load,
        Load {
            model: Model::Closed,
            users: 1,
            ramp_up: Duration::ZERO,
            think_time: None,
            until,
            drain: Duration::from_secs(3),
        }
    );
    assert_eq!(scenario.http, Http::default());
    assert_eq!(scenario.on_error, OnError::NextIteration);
    assert_eq!((scenario.description, scenario.targets.len()), (None, 0));
    let step = &scenario.steps[0];
    assert_eq!(step.name, "DELETE /items/{{ user }}");
    assert_eq!(step.timeout, Duration::from_secs(30));
    assert_eq!((&step.body, &step.expect), (&None, &Expect::default()));
    assert_eq!((step.headers.len(), step.counters.len()), (0, 0));
}

#[test]
fn iterations_can_end_a_test() {
    let until = |end: &str| read(&format!("[load]\n{end}\n[[step]]\nget = \"/\"")).load.until;
    assert_eq!(until("iterations = 20_000"), Until::Iterations(20_000));
    assert_eq!(until("iterations_per_user = 0xC8"), Until::IterationsPerUser(200));
}

/// A scenario with every key of `[http]`.
fn with_http() -> Scenario {
    read(
        "http = { version = \"2\", redirects = 3, cookies = true, proxy = \"https://proxy:3128\", \
         transport = \"reqwest\" }\n[[step]]\nget = \"/\"",
    )
}

#[test]
fn http_options_are_read() {
    let all = Http {
        version: HttpVersion::Http2,
        redirects: 3,
        cookies: true,
        proxy: Some("https://proxy:3128".to_owned()),
        transport: Some(TransportKind::Reqwest),
        ..Http::default()
    };
    assert_eq!(with_http().http, all);
    let http = |keys: &str| read(&format!("[http]\n{keys}\n[[step]]\nget = \"/\"")).http;
    let default = "version = \"1.1\"\nredirects = 0\ncookies = false\ntransport = \"auto\"";
    assert_eq!(http(default), Http::default());
    assert_eq!(http("transport = \"http1\"").transport, Some(TransportKind::Http1));
    let shared = http("version = \"2\"\ntransport = \"http2\"\nconnections = 10\nstreams = 20");
    let sharing = Sharing { connections: Some(10), streams: Some(20) };
    assert_eq!((shared.transport, shared.sharing), (Some(TransportKind::Http2), sharing));
    assert_eq!(http("version = \"2\"").sharing, Sharing::default());
    let proxies = ["HTTP://a.example", "http://[::1]:8080/", "http://name:pa%40ss@10.0.0.1:3128"];
    for proxy in proxies {
        assert_eq!(http(&format!("proxy = \"{proxy}\"")).proxy.as_deref(), Some(proxy));
    }
}

#[test]
fn thresholds_keep_the_order_of_the_file() {
    let text = "[[step]]\nname = \"v1.2\"\nget = \"/\"\n[thresholds]\n\"v1.2.p99.9\" = \" <= 1.5ms\"\nerror_rate = \"< 1%\"";
    let threshold = |of, metric, operator, bound, text: &str| Threshold {
        of,
        metric,
        operator,
        bound,
        text: text.to_owned(),
    };
    let (step, latency) =
        (Of::Step("v1.2".to_owned()), Metric::Time(Timing::Latency, Statistic::Percentile(99.9)));
    assert_eq!(
        read(text).thresholds,
        [
            threshold(step, latency, Operator::AtMost, 1500.0, "v1.2.p99.9 <= 1.5ms"),
            threshold(Of::All, Metric::ErrorRate, Operator::Less, 0.01, "error_rate < 1%"),
        ]
    );
}

#[test]
fn proofs_keep_the_order_of_the_file() {
    let text = "backends = [\"redis\", \"postgres\"]\n[[step]]\nget = \"/\"\ncounters = { queued = \"/n\" }\n\
                [[proof]]\nvalue = 1_000\npostgres = \"SELECT 1\"\n\
                [[proof]]\nredis = \"LLEN queue\"\ncounter = \"queued\"\n";
    let proof = |backend, question: &str, expected| Proof {
        backend,
        question: question.to_owned(),
        expected,
    };
    assert_eq!(
        read(text).proofs,
        [
            proof(Backend::Postgres, "SELECT 1", ExpectedContent::Value(1_000)),
            proof(Backend::Redis, "LLEN queue", ExpectedContent::Counter("queued".to_owned())),
        ]
    );
}

#[test]
fn existing_items_are_none_by_default() {
    assert_eq!(read("[[step]]\nget = \"/\"\n").existing.items, 0);
    let text = "backends = [\"postgres\"]\nexisting_items = 1_000\n[[step]]\nget = \"/\"\n";
    assert_eq!(read(text).existing.items, 1_000);
}

#[test]
fn header_names_are_lowercased() {
    let scenario =
        read("[[step]]\nget = \"/\"\nheaders = { X-User = \"{{ user }}\", Host = \"a.example\" }");
    let headers = &scenario.steps[0].headers;
    let shown: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(shown, ["x-user: {{ user }}", "host: a.example"]);
}

#[test]
fn a_scenario_survives_serialization() {
    let shipped = ["direct", "redis3", "insert_one", "insert_batch", "grpc"].map(shipped);
    for scenario in shipped.into_iter().chain([with_http()]) {
        let bytes = rmp_serde::to_vec_named(&scenario).unwrap();
        assert_eq!(rmp_serde::from_slice::<Scenario>(&bytes).unwrap(), scenario);
    }
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let reference =
        std::fs::read_to_string(root().join("docs/reference/scenario-file.md")).unwrap();
    let blocks = reference.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    let (scenarios, parts): (Vec<&str>, Vec<&str>) =
        blocks.into_iter().partition(|block| block.contains("[[step]]"));
    assert!(scenarios.len() >= 2 && parts.len() >= 2, "the reference has examples");
    // `tests/data` holds the file whose rows the examples use.
    let read = |text: &str| {
        parse("test", "tests/data/test.toml", text)
            .unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
    };
    for text in scenarios {
        read(text);
    }
    for text in parts {
        let holder = if text.starts_with('[') || text.starts_with("on_error") {
            format!("{text}\n[[step]]\nname = \"redis3\"\nget = \"/\"")
        } else {
            format!("[[step]]\npost = \"/\"\n{text}")
        };
        read(&holder);
    }
}

/// The message in the reference must equal the message that loadgen shows.
#[test]
fn the_message_in_the_reference_is_the_shown_one() {
    let reference =
        std::fs::read_to_string(root().join("docs/reference/scenario-file.md")).unwrap();
    let (_, rest) = reference.split_once("<!-- rendered from -->\n```\n").unwrap();
    let (text, rest) = rest.split_once("```\n").unwrap();
    let (_, shown) = rest.split_once("```text\n").unwrap();
    let error = parse("redis3", "scenarios/redis3.toml", text).unwrap_err();
    let mut message = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(80)
        .render_report(&mut message, &error)
        .unwrap();
    assert_eq!(shown.split("```").next().unwrap(), message.trim_end().to_owned() + "\n");
}

#[test]
fn the_readme_shows_the_shipped_scenario() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    assert!(read("README.md").contains(&read("scenarios/redis3.toml")));
}

#[test]
fn the_open_model_has_a_rate() {
    let load =
        |keys: &str| read(&format!("[load]\nmodel = \"open\"\n{keys}\n[[step]]\nget = \"/\"")).load;
    let plain = load("rate = 500");
    assert_eq!(plain.model, Model::Open(Open { rate: 500.0, arrivals: Arrivals::Even }));
    assert_eq!((plain.users, plain.held()), (1_000, Some(Duration::from_secs(10))));
    let other = load("rate = 0.5\nusers = 7\narrivals = \"poisson\"\niterations = 3");
    assert_eq!(other.model, Model::Open(Open { rate: 0.5, arrivals: Arrivals::Poisson }));
    assert_eq!((other.users, other.until), (7, Until::Iterations(3)));
}

#[test]
fn a_step_has_any_method() {
    let step = |request: &str| read(&format!("[[step]]\n{request}")).steps.remove(0);
    let own = step("request = \"PROPFIND /files/{{ user }}\"");
    assert_eq!((own.method.name(), own.name.as_str()), ("PROPFIND", "PROPFIND /files/{{ user }}"));
    assert_eq!(rendered(&own.path, 1), "/files/7");
    assert_eq!(step("request = \"GET /\"").method, Method::GET);
    assert_eq!(step("options = \"/\"").method, Method::OPTIONS);
}

#[test]
fn think_times_have_three_forms() {
    let think = |text: &str| {
        read(&format!("[load]\nthink_time = {text}\n[[step]]\nget = \"/\"")).load.think_time
    };
    let ms = Duration::from_millis;
    assert_eq!(think("\"500ms\""), Some(ThinkTime::Fixed(ms(500))));
    let uniform = ThinkTime::Uniform { min: ms(0), max: ms(3_000) };
    assert_eq!(think("{ min = \"0s\", max = \"3s\" }"), Some(uniform));
    assert_eq!(think("{ mean = \"2s\" }"), Some(ThinkTime::Exponential { mean: ms(2_000) }));
    let of_a_step = read(
        "load = { think_time = \"1s\" }\n[[step]]\nname = \"a\"\nget = \"/\"\nthink_time = \"2s\"",
    );
    assert_eq!(of_a_step.steps[0].think_time, Some(ThinkTime::Fixed(ms(2_000))));
    assert_eq!(of_a_step.think_times().as_deref(), Some("1s, 2s after a"));
}

#[test]
fn adjacent_weighted_steps_form_a_choice() {
    let weights = [None, Some(3), Some(1), None, Some(1)];
    let steps = weights.iter().enumerate().map(|(n, weight)| {
        let weight = weight.map(|w| format!("weight = {w}\n")).unwrap_or_default();
        format!("[[step]]\nname = \"{n}\"\nget = \"/\"\n{weight}")
    });
    let scenario = read(&steps.collect::<String>());
    let choices = scenario.choices(&scenario.flows[0]);
    assert_eq!(choices.collect::<Vec<_>>(), [0..1, 1..3, 3..4, 4..5]);
}

#[test]
fn stages_define_users_rate_and_end() {
    let second = Duration::from_secs(1);
    let closed = read(
        "[load]\nstages = [{ users = 9, over = \"2s\" }, { users = 3, over = \"0s\" }]\n[[step]]\nget = \"/\"",
    );
    let stages = vec![Stage { to: 9.0, over: 2 * second }, Stage { to: 3.0, over: Duration::ZERO }];
    assert_eq!((closed.load.users, closed.load.held()), (9, Some(2 * second)));
    assert_eq!(closed.load.until, Until::Stages(stages));
    let open = read(
        "[load]\nmodel = \"open\"\nusers = 50\nstages = [{ rate = 2.5, over = \"1s\" }]\n[[step]]\nget = \"/\"",
    );
    assert_eq!((open.load.users, open.load.most()), (50, 2.5));
}
