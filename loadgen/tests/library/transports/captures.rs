//! Tests values that are captured from an answer and used in later requests.

use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Server, Then};

/// Returns an answer with two headers of one name, and a body with values of several kinds.
fn answer(value: &str) -> String {
    let body = format!("{{\"token\": {value}, \"list\": [{{\"id\": 17}}]}}");
    format!(
        "HTTP/1.1 200 OK\r\nX-Session: one/two\r\ncontent-length: {}\r\nx-session: other\r\n\r\n{body}",
        body.len()
    )
}

fn serving(value: &'static str) -> impl Fn() -> Server {
    move || Server::always(answer(value), || Then::Next)
}

const LOGIN: &str = "post = \"/login\"\ncapture = { token = { json = \"/token\" }, \
                     id = { json = \"/list/0/id\" }, session = { header = \"X-Session\" }, \
                     page = { regex = '\"id\": (\\d)' } }";

const USE: &str = "put = \"/{{ id }}/{{ session }}?token={{ token }}&page={{ page }}\"\n\
                   headers = { authorization = \"Bearer {{ token }}\", x-id = \"{{ id }}\" }\n\
                   body = { json = { token = \"{{ token }}\", all = [\"<{{ session }}>\"] } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_captured_value_is_sent_in_the_next_request() {
    let case = both(serving(r#""a\"b\\ c&d""#)).times(2).step(LOGIN).and_step(USE);
    for server in case.gives(answered(4)).await {
        let requests = server.requests();
        assert_eq!(requests.len(), 4);
        for request in [&requests[1], &requests[3]] {
            let line = "PUT /17/one%2Ftwo?token=a%22b%5C%20c%26d&page=1 HTTP/1.1";
            assert_eq!(request.line, line);
            let header = |name| request.headers.iter().find(|(own, _)| own == name);
            assert_eq!(header("authorization").unwrap().1, r#"Bearer a"b\ c&d"#);
            assert_eq!(header("x-id").unwrap().1, "17");
            let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            assert_eq!(body, serde_json::json!({"token": "a\"b\\ c&d", "all": ["<one/two>"]}));
        }
    }
}

/// The head of an answer is kept as a whole, however the answer is cut into segments.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_in_pieces_is_read_whole() {
    let server = || {
        Server::start(|peer, _| {
            let informed = format!("HTTP/1.1 103 Early\r\nx-session: no\r\n\r\n{}", answer("1"));
            peer.dribble(informed.as_bytes())?;
            Ok(Then::Next)
        })
    };
    for server in both(server).step(LOGIN).and_step(USE).gives(answered(2)).await {
        assert!(server.requests()[1].line.starts_with("PUT /17/one%2Ftwo?token=1&page=1 "));
    }
}

/// An answer without one of the values fails its expectation. The user then
/// starts its next iteration, and never sends the request that needs the value.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_the_value_fails() {
    for capture in [
        "{ json = \"/none\" }",
        "{ json = \"/list/1\" }",
        "{ header = \"x-none\" }",
        "{ regex = 'none=(\\d+)' }",
    ] {
        let login = format!("get = \"/\"\ncapture = {{ token = {capture} }}");
        let case = both(serving("1"))
            .about(capture)
            .times(3)
            .step(&login)
            .and_step("get = \"/{{ token }}\"");
        for server in case.gives(failed(ErrorKind::Expectation, 3)).await {
            assert_eq!(server.requests().len(), 3, "{capture}");
        }
    }
    both(serving("null")).step(LOGIN).gives(failed(ErrorKind::Expectation, 1)).await;
    // The body is not JSON, although a header could be captured.
    both(serving("}")).step(LOGIN).gives(failed(ErrorKind::Expectation, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_its_value_is_not_sent_and_fails() {
    let server = || {
        Server::start(|peer, number| {
            // Only the second login and the request after it are answered with a value.
            peer.send(if (1..=2).contains(&number) { answer("\"t\"") } else { answer("null") })?;
            Ok(Then::Next)
        })
    };
    let case =
        both(server).times(3).on_error_continue().step(LOGIN).and_step("get = \"/{{ token }}\"");
    // Iteration 1: the login fails, and nothing else is sent. Iteration 2: both
    // requests succeed. Iteration 3: the login fails, and the old value is sent.
    let expected = answered(3).and_failed(ErrorKind::Expectation, 3);
    for server in case.gives(expected).await {
        let lines: Vec<String> = server.requests().into_iter().map(|r| r.line).collect();
        let login = "POST /login HTTP/1.1";
        assert_eq!(lines, [login, login, "GET /t HTTP/1.1", login, "GET /t HTTP/1.1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_cannot_end_a_header() {
    for value in [r#""a\r\nx-evil: 1""#, r#""\u0000""#, r#""\u007f""#, r#""\u00e9""#] {
        let case = both(serving(value)).about(value).step(LOGIN).and_step(USE);
        let expected = answered(1).and_failed(ErrorKind::Expectation, 1);
        for server in case.gives(expected).await {
            assert_eq!(server.requests().len(), 1, "{value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_transports_report_the_same_fault() {
    for (step, says) in [
        ("get = \"/\"\ncapture = { a = { json = \"/b\" } }", "expected a value at \"/b\""),
        ("get = \"/\"\ncapture = { a = { header = \"b\" } }", "expected a header \"b\""),
    ] {
        for transport in TRANSPORTS {
            let server = serving("1")();
            let case = both(Server::closing).step(step);
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            let example = &counts.examples[&ErrorKind::Expectation];
            assert!(example.starts_with(says), "{transport}: {example}");
        }
    }
}

/// Each user has separate values.
#[tokio::test(flavor = "multi_thread")]
async fn users_do_not_see_values_of_other_users() {
    let server = || {
        Server::start(|peer, number| {
            thread::sleep(Duration::from_millis(1));
            let body = format!("{{\"number\": {number}}}");
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()))?;
            Ok(Then::Next)
        })
    };
    let case = both(server)
        .load("users = 8, iterations_per_user = 5")
        .step("get = \"/login/{{ user }}\"\ncapture = { number = { json = \"/number\" } }")
        .and_step("get = \"/again/{{ number }}\"");
    for server in case.gives(answered(80)).await {
        let lines: Vec<String> = server.requests().into_iter().map(|r| r.line).collect();
        let mut used: Vec<&str> =
            lines.iter().filter_map(|line| line.strip_prefix("GET /again/")).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), 40, "each value is used by the one that was given it");
    }
}
