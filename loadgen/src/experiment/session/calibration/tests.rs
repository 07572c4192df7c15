use super::*;
use crate::engine::{Demand, verify};
use crate::scenario::parse;

const JOURNEY: &str = r#"
load = { users = 5_000, ramp_up = "9s", think_time = "1s", duration = "1h" }
[[step]]
name = "login"
post = "/login"
when = "start"
body = { json = { user = "{{ user }}" } }
expect = { status = 201, json = { "/ok" = true } }
capture = { token = { header = "x-token" }, id = { json = "/id" }, word = { regex = 'w=(\w+)' } }
[[step]]
name = "list"
get = "/{{ id }}/{{ word }}"
headers = { authorization = "{{ token }}" }
expect = { body = "items" }
[[step]]
name = "look"
head = "/"
"#;

fn scenario(http: &str) -> Scenario {
    parse("test", "test.toml", &format!("{http}\n{JOURNEY}")).unwrap()
}

fn came(status: u16, body: &str) -> TrialAnswer {
    TrialAnswer {
        status,
        grpc_status: None,
        took: Duration::ZERO,
        bytes: body.len() as u64,
        beginning: String::new(),
        headers: vec![("x-token".to_owned(), b"secret".to_vec())],
        body: body.into(),
    }
}

fn answers() -> [TrialAnswer; 3] {
    [came(201, r#"{"ok":true,"id":7,"text":"w=abc"}"#), came(200, "three items"), came(200, "")]
}

#[tokio::test]
async fn verified_answers_are_accepted_again_over_both_transports() {
    let steps = scenario("").steps;
    let again: Vec<NullAnswer> =
        steps.iter().zip(&answers()).map(|(step, answer)| again(step, answer)).collect();
    for http in ["http = { transport = \"http1\" }", "http = { transport = \"reqwest\" }"] {
        let server = NullServer::start(1, &again, || ()).unwrap();
        let plan = plan(&scenario(http), 1, server.url.clone());
        assert_eq!((plan.scenario.load.users, plan.length()), (1_000, Some(WARMUP + HELD)));
        let verified = verify(&plan, "the server of the calibration", Demand::Expected).await;
        let verified = verified.unwrap();
        assert_eq!((verified.answers.iter().flatten().count(), verified.failed), (3, 0));
    }
}

#[test]
fn requests_that_the_null_server_cannot_answer_are_not_calibrated() {
    let all = answers();
    assert!(can_be_answered(&scenario(""), &all));
    assert!(can_be_answered(&scenario("http = { cookies = true }"), &all));
    for http in ["version = \"2\"", "redirects = 1", "proxy = \"http://a:1\""] {
        assert!(!can_be_answered(&scenario(&format!("http = {{ {http} }}")), &all), "{http}");
    }
    assert!(!can_be_answered(&scenario(""), &all[..2]));
    let long = TrialAnswer { bytes: 2 << 20, ..all[0].clone() };
    assert!(!can_be_answered(&scenario(""), &[long, all[1].clone(), all[2].clone()]));
}

#[test]
fn shared_cpus_are_not_calibrated() {
    let layout = |target: &[usize], generator: &[usize]| Layout {
        target: target.to_vec(),
        generator: generator.to_vec(),
        ..Layout::default()
    };
    assert!(are_apart(&layout(&[1], &[0])));
    assert!(!are_apart(&layout(&[1, 2], &[0, 1])) && !are_apart(&Layout::unpinned()));
}

#[test]
fn the_key_covers_the_requests_and_their_answers() {
    let layout = Layout::new(&[0, 1], 1);
    let of = |scenario: &Scenario, workers, answers: &[TrialAnswer]| {
        key(scenario, workers, &layout, answers).unwrap()
    };
    let (all, plain) = (answers(), scenario(""));
    let known = of(&plain, None, &all);
    let mut others = vec![
        of(&plain, Some(2), &all),
        of(&scenario("http = { transport = \"reqwest\" }"), None, &all),
    ];
    let path = parse("test", "test.toml", &JOURNEY.replace("/login", "/other")).unwrap();
    others.push(of(&path, None, &all));
    let mut longer = all.clone();
    longer[1].bytes = 5_000;
    others.push(of(&plain, None, &longer));
    assert!(others.iter().all(|other| *other != known), "{known} {others:#?}");
    longer[1].bytes = all[1].bytes;
    longer[1].body = b"seven times".to_vec();
    assert_eq!(of(&plain, None, &longer), known, "what a body says is in no key");
}

#[test]
fn similar_sizes_share_one_key() {
    for (bytes, size) in [(0, 0), (9, 9), (25, 25), (127, 120), (129, 120), (99_999, 99_000)] {
        assert_eq!(roughly(bytes), size);
    }
}

#[test]
fn a_saturated_null_server_gives_no_calibration() {
    let layout = Layout::new(&[0, 1], 1);
    let was_limit = |generator: f64, server: f64| {
        let mut observed = Observed::default();
        observed.machine.busy_percent = BTreeMap::from([(0, generator), (1, server)]);
        server_was_limit(&observed, &layout)
    };
    assert!(was_limit(70.0, 99.0));
    assert!(!was_limit(99.0, 99.0) && !was_limit(99.0, 50.0) && !was_limit(40.0, 40.0));
}
