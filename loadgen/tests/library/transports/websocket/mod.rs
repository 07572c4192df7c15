//! Tests the steps of a WebSocket against servers that control each byte.

mod faults;
mod peer;

use std::thread;
use std::time::Duration;

use loadgen::engine::{Demand, Finished, verify};
use loadgen::measure::{Counts, ErrorKind, Phase, Series};

use self::peer::*;
use super::proxies::Proxy;
use crate::common::engine::{finish, plan};
use crate::common::tls::front;

/// Returns the counts of each step over the whole round.
fn steps(series: &Series) -> Vec<Counts> {
    let mut all: Vec<Counts> = Vec::new();
    for phase in [Phase::RampUp, Phase::Hold, Phase::Tail, Phase::Stop] {
        for (index, counts) in series.phase(phase).into_iter().enumerate() {
            all.resize_with(all.len().max(index + 1), Counts::default);
            all[index].merge(&counts);
        }
    }
    all
}

async fn run(url: &str, text: &str) -> (Vec<Counts>, Finished) {
    let (series, finished) = finish(plan(url, text)).await;
    (steps(&series), finished)
}

fn answered(steps: &[Counts]) -> Vec<u64> {
    steps.iter().map(|counts| counts.answered.len()).collect()
}

const JOIN: &str = "[[step]]\nname = 'join'\nwebsocket = '/ws'\nwhen = 'start'\ntimeout = '2s'\n";
const ECHO: &str = "[[step]]\nname = 'echo'\nsend = { text = 'hello {{ uuid }}' }\n\
                    expect = { body = 'hello' }\ntimeout = '2s'\n";
const LEAVE: &str = "[[step]]\nname = 'leave'\nclose = true\nwhen = 'stop'\ntimeout = '2s'\n";

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_sent_and_echoed_over_one_connection_of_each_user() {
    let server = Server::echoing();
    let text = ["load = { users = 3, iterations = 30 }\n", JOIN, ECHO, LEAVE].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [3, 30, 3]);
    assert_eq!(steps[1].bytes, 30 * "hello 00000000-0000-0000-0000-000000000000".len() as u64);
    assert_eq!(
        (server.seen("1 hello "), server.seen("8 \u{3}")),
        (30, 3),
        "code 1000 is 3 and 232"
    );
    assert_eq!(finished.connections.opened, 3);
    assert_eq!(finished.connections.versions["HTTP/1.1"], 3);
}

/// A login gives the cookie that the handshake takes along, through a proxy or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_takes_the_cookies_of_the_user_along() {
    let login = "[[step]]\nname = 'login'\nget = '/login'\nwhen = 'start'\ntimeout = '2s'\n";
    for through_proxy in [false, true] {
        let server = Server::start(|mut peer| {
            let mut head = vec![0; 4096];
            let length = peer.stream.peek(&mut head)?;
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            // A proxy gets the whole URL, and this one passes it on.
            if head.lines().next().is_some_and(|line| line.contains("/login ")) {
                peer.head()?;
                peer.raw("HTTP/1.1 200 OK\r\nset-cookie: sid=7\r\ncontent-length: 0\r\n\r\n")?;
                return peer.outlast();
            }
            peer.note(format!("cookies {}", head.matches("\r\ncookie: sid=7\r\n").count()));
            peer.accept()?;
            peer.echo()
        });
        let proxy = Proxy::start().await;
        let proxied = format!(", proxy = 'http://{}'", proxy.address);
        let http =
            format!("http = {{ cookies = true{} }}\n", if through_proxy { &proxied } else { "" });
        let load = "load = { users = 2, iterations = 6 }\n";
        let text = [http.as_str(), load, login, JOIN, ECHO, LEAVE].concat();
        let (steps, _) = run(&server.url, &text).await;
        assert_eq!(answered(&steps), [2, 2, 6, 2], "{:?}", steps[1].examples);
        assert_eq!((server.seen("cookies 1"), server.seen("cookies 0")), (2, 0));
        let heads = proxy.heads.lock().unwrap();
        let tunnels = heads.iter().filter(|head| head.starts_with("CONNECT ")).count();
        assert_eq!((heads.len(), tunnels), if through_proxy { (4, 2) } else { (0, 0) });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_may_open_and_close_its_own_websocket() {
    let server = Server::echoing();
    let each =
        [JOIN, ECHO, LEAVE].concat().replace("when = 'start'\n", "").replace("when = 'stop'\n", "");
    let text = format!("load = {{ users = 2, iterations = 20 }}\n{each}");
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!((answered(&steps), finished.connections.opened), (vec![20, 20, 20], 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_model_sends_messages_at_its_rate() {
    let server = Server::echoing();
    let load = "load = { model = 'open', rate = 200, users = 5, duration = '1s' }\n";
    let (steps, finished) = run(&server.url, &[load, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!(steps[1].failures(), 0);
    assert_eq!(steps[1].answered.len() + steps[1].cancelled + steps[1].unsent, 200);
    assert_eq!(steps[1].answered.len(), server.seen("1 hello ") as u64);
    assert_eq!((steps[0].answered.len(), finished.connections.opened), (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_steps_keep_their_own_connection() {
    let server = Server::start(|mut peer| {
        let mut path = [0; 6];
        peer.stream.peek(&mut path)?;
        if &path == b"GET /w" {
            peer.accept()?;
            return peer.echo();
        }
        loop {
            peer.head()?;
            peer.note("GET");
            peer.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    });
    let get = "[[step]]\nget = '/'\n";
    let text = ["load = { users = 2, iterations = 10 }\n", JOIN, get, ECHO].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!((answered(&steps), finished.connections.opened), (vec![2, 10, 10], 4));
    assert_eq!(server.seen("GET"), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_runs_over_tls() {
    let server = Server::echoing();
    let address = server.url.strip_prefix("http://").unwrap();
    let url = front(address.parse().unwrap()).await;
    let http = "http = { tls = { insecure = true } }\nload = { users = 2, iterations = 10 }\n";
    let (steps, finished) = run(&url, &[http, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!(answered(&steps), [2, 10, 2]);
    assert_eq!(finished.connections.tls_suites.values().sum::<u64>(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_may_come_in_parts_and_with_the_handshake() {
    let server = Server::start(|mut peer| {
        let response = peer.acceptance()?;
        let first = [response.as_bytes(), b"\r\n", &frame(0x81, b"welcome")].concat();
        peer.raw(first)?;
        peer.read()?;
        for part in [frame(0x01, b"hel"), frame(0x89, b"?"), frame(0x00, b"l"), frame(0x80, b"o")] {
            peer.raw(part)?;
            thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(peer.read()?, (PONG, b"?".to_vec()));
        peer.read()?;
        peer.send(BINARY, b"\x00\xff")?;
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1 }\n\
                [[step]]\nwebsocket = '/'\n[[step]]\nreceive = true\nexpect = { regex = '^welcome$' }\n\
                [[step]]\nname = 'text'\nsend = { text = 'a' }\nexpect = { regex = '^hello$' }\n\
                [[step]]\nname = 'binary'\nsend = { text = 'b' }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1, 1, 1, 1], "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_passes_over_other_messages() {
    let server = Server::open(|mut peer| {
        peer.send(TEXT, r#"{"kind": "answer", "n": 100}"#)?;
        loop {
            thread::sleep(Duration::from_millis(20));
            let (_, payload) = peer.read()?;
            peer.send(TEXT, "not JSON")?;
            peer.send(TEXT, r#"{"kind": "tick"}"#)?;
            match payload.as_slice() {
                b"fail" => peer.send(TEXT, r#"{"kind": "error"}"#)?,
                b"never" => {}
                _ => peer.send(TEXT, r#"{"kind": "answer", "n": 3}"#)?,
            }
        }
    });
    let step = |message: &str| {
        format!(
            "[[step]]\nname = '{message}'\nsend = {{ text = '{message}' }}\ntimeout = '300ms'\n\
             expect = {{ json = {{ '/kind' = 'answer' }}, not = {{ json = {{ '/kind' = 'error' }} }} }}\n\
             counters = {{ n = '/n' }}\n"
        )
    };
    let text = format!(
        "on_error = 'continue'\nload = {{ users = 1, iterations = 2 }}\n[[step]]\nwebsocket = '/'\n\
         think_time = '50ms'\n{}{}{}",
        step("answer"),
        step("fail"),
        step("never")
    );
    let (steps, _) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [2, 2, 0, 0]);
    assert_eq!(steps[1].counters, [6], "a message from before the step is no answer");
    assert_eq!(
        steps[2].examples[&ErrorKind::Expectation],
        r#"expected "answer" at "/kind", got "error" at "/kind""#
    );
    assert_eq!(
        steps[3].examples[&ErrorKind::Timeout],
        r#"no expected message within 300ms, but 2 others, the last: {"kind": "tick"}"#
    );
    assert_eq!((steps[2].failures(), steps[3].failures()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_between_steps_wait_for_a_step_that_receives() {
    let server = Server::open(|mut peer| {
        assert_eq!(peer.read()?.1, b"subscribe");
        for number in 0..5 {
            peer.send(TEXT, format!("event {number}"))?;
        }
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1, think_time = '100ms' }\n\
                [[step]]\nwebsocket = '/'\n\
                [[step]]\nname = 'subscribe'\nsend = { text = 'subscribe', reply = false }\n\
                [[step]]\nname = 'first'\nreceive = true\nexpect = { body = 'event 0' }\n\
                [[step]]\nname = 'fourth'\nreceive = true\nexpect = { body = 'event 3' }\n\
                capture = { event = { regex = 'event (\\d)' } }\n\
                [[step]]\nname = 'again'\nreceive = true\nexpect = { body = 'event 4' }\n\
                [[step]]\nname = 'none'\nreceive = true\ntimeout = '200ms'\n\
                when = { equal = { event = '3' } }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1, 1, 1, 1, 1, 0]);
    assert_eq!(steps[5].examples[&ErrorKind::Timeout], "no message within 200ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_while_a_user_waits() {
    let server = Server::open(|mut peer| {
        peer.read()?;
        peer.send(TEXT, "hello")?;
        // The user thinks for a second now.
        for number in 0..3 {
            peer.send(PING, [number])?;
            peer.stream.set_read_timeout(Some(Duration::from_millis(300)))?;
            assert_eq!(peer.read()?, (PONG, vec![number]));
            peer.note("pong");
        }
        peer.stream.set_read_timeout(Some(PATIENCE))?;
        peer.echo()
    });
    let load = "load = { users = 1, iterations = 2, think_time = '1s' }\n";
    let (steps, _) = run(&server.url, &[load, JOIN, ECHO, LEAVE].concat()).await;
    assert_eq!((answered(&steps), server.seen("pong")), (vec![1, 2, 1], 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_has_lost_its_websocket_starts_again() {
    let server = Server::open(|mut peer| {
        let (_, token) = peer.read()?;
        peer.note(String::from_utf8(token).unwrap());
        peer.send(TEXT, "welcome")?;
        for _ in 0..2 {
            let (kind, payload) = peer.read()?;
            peer.send(kind, payload)?;
        }
        // Between two steps of the user.
        peer.send(CLOSE, b"\x03\xe9going")?;
        assert_eq!(peer.read()?, (CLOSE, b"\x03\xe9going".to_vec()), "the close frame is answered");
        peer.note("closed");
        Ok(())
    });
    let login = "[[step]]\nname = 'login'\nwhen = 'start'\nsend = { text = 'token {{ uuid }}' }\n";
    let text =
        ["load = { users = 1, iterations = 9, think_time = '50ms' }\n", JOIN, login, ECHO].concat();
    let (steps, finished) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [3, 3, 6]);
    assert_eq!(steps[2].failures(), 3);
    assert_eq!(
        steps[2].examples[&ErrorKind::Reset],
        "the server closed the WebSocket with code 1001: \"going\""
    );
    assert_eq!((server.seen("token "), finished.connections.opened), (3, 3));
    let mut tokens = server.seen.lock().unwrap().clone();
    tokens.retain(|it| it.starts_with("token "));
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 3, "each start has data of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_not_that_of_a_later_step() {
    let server = Server::open(|mut peer| {
        loop {
            let (kind, payload) = peer.read()?;
            if peer.number == 0 {
                thread::sleep(Duration::from_millis(400));
            }
            peer.send(kind, payload)?;
        }
    });
    let text = "load = { users = 1, iterations = 2 }\non_error = 'continue'\n\
                [[step]]\nwebsocket = '/'\n\
                [[step]]\nname = 'slow'\nsend = { text = 'a' }\ntimeout = '200ms'\n\
                [[step]]\nname = 'next'\nsend = { text = 'b' }\n";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [2, 1, 1]);
    assert_eq!(steps[1].errors[&ErrorKind::Timeout], 1);
    assert_eq!(
        steps[2].examples[&ErrorKind::Expectation],
        "not sent: no WebSocket is open: an earlier step timed out"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_the_subprotocol_are_sent() {
    let server = Server::start(|mut peer| {
        let head = peer.head()?;
        peer.note(head.split("sec-websocket-key").next().unwrap());
        peer.raw("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")?;
        peer.outlast()
    });
    let text = "load = { users = 1, iterations = 1 }\n[[step]]\nwebsocket = '/ws?room={{ user }}'\n\
                query = { a = 'b c' }\nsubprotocol = 'chat'\nheaders = { x-a = '1' }\n\
                auth = { user = 'u', password = 'pass' }\nexpect = { status = 403 }";
    let (steps, _) = run(&server.url, text).await;
    assert_eq!(answered(&steps), [1], "a refusal may be expected");
    let host = server.url.strip_prefix("http://").unwrap();
    let head = server.seen.lock().unwrap().join("").replace(host, "HOST");
    insta::assert_snapshot!(head.replace("\r\n", "\n"), @r#"
    GET /ws?room=0&a=b%20c HTTP/1.1
    host: HOST
    user-agent: loadgen/0.1.0
    accept: */*
    x-a: 1
    sec-websocket-protocol: chat
    authorization: Basic dTpwYXNz
    connection: Upgrade
    upgrade: websocket
    sec-websocket-version: 13
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_verified_with_its_websocket() {
    let server = Server::echoing();
    let right = [JOIN, ECHO, LEAVE].concat();
    let verified = verify(&plan(&server.url, &right), "it", Demand::Expected).await.unwrap();
    assert!(verified.answers.iter().all(Option::is_some) && verified.failed == 0);
    let wrong = right.replace("body = 'hello'", "body = 'world'").replace("'2s'", "'200ms'");
    let error = verify(&plan(&server.url, &wrong), "it", Demand::Expected).await.unwrap_err();
    let error = error.to_string();
    let got = "got       no expected message within 200ms, but another: hello ";
    assert!(error.contains(got) && error.contains("request   SEND"), "{error}");
}

/// A user that ends says goodbye as a browser does (RFC 6455, section 7.4.1), outside of all figures.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_ends_closes_its_websocket() {
    let server = Server::echoing();
    let text = ["load = { users = 3, iterations = 6 }\n", JOIN, ECHO].concat();
    let (steps, _) = run(&server.url, &text).await;
    assert_eq!(answered(&steps), [3, 6]);
    assert_eq!(server.seen("8 \u{3}\u{fffd}"), 3, "code 1001 is 3 and 233");

    // A server that does not answer is not waited for.
    let silent = Server::open(|mut peer| {
        let (kind, payload) = peer.read()?;
        peer.send(kind, payload)?;
        peer.outlast()
    });
    let text = ["load = { users = 1, iterations = 1 }\n", JOIN, ECHO].concat();
    let began = std::time::Instant::now();
    let (steps, finished) = run(&silent.url, &text).await;
    assert_eq!(answered(&steps), [1, 1]);
    assert!(began.elapsed() < Duration::from_secs(3) && finished.held < Duration::from_millis(400));
}

/// A server that sends pings and reads no answers cannot fill the memory with them.
#[tokio::test(flavor = "multi_thread")]
async fn pings_are_not_read_while_their_answers_wait() {
    let server = Server::open(|mut peer| {
        peer.read()?;
        peer.stream.set_write_timeout(Some(Duration::from_millis(500)))?;
        let pings: Vec<u8> = frame(0x89, &[b'p'; 125]).repeat(1_000);
        let mut sent = 0_usize;
        while sent < 400 << 20 && peer.raw(&pings).is_ok() {
            sent += pings.len();
        }
        peer.note(format!("{sent}"));
        Ok(())
    });
    let send = "[[step]]\nsend = { text = 'hello' }\ntimeout = '2s'\n";
    let text = ["load = { users = 1, iterations = 1 }\n", JOIN, send].concat();
    run(&server.url, &text).await;
    let sent: usize = server.seen.lock().unwrap()[0].parse().unwrap();
    assert!(sent < 100 << 20, "{sent} bytes of pings were read");
}
