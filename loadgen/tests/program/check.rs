//! `loadgen check` shows the requests that users would send, and with `--try` also the answers.

use std::io::{Read, Write};

use crate::common::Counting;
use crate::common::program::{Finished, Project};

const SCENARIO: &str = r#"
backends = ["redis", "postgres"]

[load]
users = 3

[rows.items]
file = "items.csv"

[[step]]
name = "hello"
when = "start"
get = "/"
headers = { authorization = "Bearer {{ env LOADGEN_TEST_TOKEN }}" }
capture = { greeting = { json = "/message" } }

[[step]]
name = "insert"
post = "/items"
body = { repeat = 2, json = { name = "{{ items.name }}", by = "{{ user }}", note = "{{ greeting }}" } }
expect = { status = 201, json = { "/inserted" = 2 } }
counters = { inserted_items = "/inserted" }

[[step]]
name = "broken"
get = "/status/500"
weight = 3

[[step]]
name = "bye"
when = "stop"
get = "/slow/1"

[[proof]]
redis = "LLEN queue"
counter = "inserted_items"

[[proof]]
postgres = '''
    SELECT count(*)
    FROM items
    WHERE sku IS NULL'''
value = 0
"#;

const GOOD: &str = "[[step]]\nget = \"/\"";

/// Runs the binary with a token in its environment.
fn run(arguments: &[&str]) -> Finished {
    let project = Project::real()
        .file("mine.toml", SCENARIO)
        .file("good.toml", GOOD)
        .file("items.csv", "name,size\n\"nut \"\"8\"\"\",1\nbolt,2\n");
    let mut command = project.command(arguments);
    let output = command.env("LOADGEN_TEST_TOKEN", "s3cr3t-token").output().unwrap();
    Finished::of(output, &project.path(""))
}

#[test]
fn a_check_shows_the_requests() {
    let finished = run(&["check", "mine.toml"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_shows_each_request_and_its_response() {
    let server = Counting::start().await;
    let took = regex::Regex::new("after [0-9.]+ ms").unwrap();
    let date = regex::Regex::new("date: .+").unwrap();
    for transport in ["http1", "reqwest"] {
        let before = server.requests();
        let scenario = format!("http = {{ transport = \"{transport}\" }}\n{SCENARIO}");
        let project = Project::real()
            .file("mine.toml", &scenario)
            .file("items.csv", "name,size\n\"nut \"\"8\"\"\",1\nbolt,2\n");
        let mut command = project.command(&["check", "--try", &server.url, "mine.toml"]);
        command.env("LOADGEN_TEST_TOKEN", "s3cr3t-token");
        let finished = tokio::task::block_in_place(|| {
            Finished::of(command.output().unwrap(), &project.path(""))
        });
        assert_eq!(finished.code, Some(1), "{}", finished.said());
        assert_eq!(server.requests() - before, 4);
        let shown = finished.stdout.replace(&server.url, "[url]");
        let shown = took.replace_all(&shown, "after [time] ms");
        insta::assert_snapshot!("a_trial", date.replace_all(&shown, "date: [date]"));
    }
}

#[test]
fn a_trial_shows_what_the_server_says_of_its_connection() {
    for transport in ["http1", "reqwest"] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let head =
                "HTTP/1.1 200 OK\r\nconnection: Keep-Alive\r\nkeep-alive: timeout=5, max=100\r\n";
            stream.write_all(format!("{head}content-length: 2\r\n\r\nok").as_bytes()).unwrap();
        });
        let scenario = format!("http = {{ transport = \"{transport}\" }}\n[[step]]\nget = \"/\"\n");
        let project = Project::real().file("mine.toml", &scenario);
        let finished = project.run(&["check", "--try", &url, "mine.toml"]);
        server.join().unwrap();
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        for line in ["  < connection: Keep-Alive", "  < keep-alive: timeout=5, max=100"] {
            assert!(finished.stdout.lines().any(|it| it == line), "{}", finished.stdout);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_successful_trial_exits_with_0() {
    let server = Counting::start().await;
    let finished =
        tokio::task::block_in_place(|| run(&["check", "--try", &server.url, "good.toml"]));
    assert_eq!((finished.code, server.requests()), (Some(0), 1), "{}", finished.said());
    assert!(finished.stdout.contains("{\"message\":\"Hello world\"}"), "{}", finished.stdout);
}

#[test]
fn a_trial_needs_a_server_and_a_scenario() {
    let dead = format!("http://{}", crate::common::dead_address());
    let finished = run(&["check", "--try", &dead, "good.toml"]);
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    assert!(finished.stdout.contains("NOT as expected: expected a response, got a connect error"));
    assert_eq!(run(&["check", "--try", &dead]).code, Some(2));
    assert_eq!(run(&["check", "--try", "nowhere", "good.toml"]).code, Some(2));
    assert_eq!(run(&["check", "--try", &dead, "missing.toml"]).code, Some(2));
}
