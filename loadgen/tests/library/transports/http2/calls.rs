//! Tests unary gRPC calls: what is sent, what is read, and which answers are none.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use loadgen::engine::{Plan, Tried, try_steps};
use loadgen::measure::ErrorKind;
use loadgen::scenario::parse_to_run;

use super::echo::{Echo, PROTO};
use super::peer::{CANCEL, DATA, END_HEADERS, END_STREAM, HEADERS, OK, Peer, Server, block};
use super::run::run;
use crate::common::engine::{finish, hold, plan};
use crate::common::tls::Tls;

/// A status of 502, without an index in HPACK's table.
const BAD_GATEWAY: &[u8] = b"\x08\x03502";

/// Returns steps that call the service of [`PROTO`].
fn steps(text: &str) -> String {
    format!("{text}\n[grpc]\nproto = \"{PROTO}\"")
}

const SAY: &str = "grpc = \"all.Echo/Say\"\ntimeout = \"2s\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_sends_one_message_and_reads_one() {
    let server = Echo::start().await;
    let text = steps(&format!(
        "{SAY}headers = {{ x-tenant = \"a\" }}\nauth = {{ user = \"u\", password = \"p\" }}\n\
         body = {{ json = {{ text = \"{{{{ uuid }}}}\", large = 3, inner = {{ natural = \"{{{{ user }}}}\" }} }} }}\n\
         expect = {{ json = {{ \"/large\" = 3, \"/inner/color\" = \"NONE\", \"/huge\" = 0 }} }}\n\
         counters = {{ sum = \"/large\", users = \"/inner/natural\" }}\n\
         capture = {{ word = {{ json = \"/text\" }}, cost = {{ header = \"x-cost\" }} }}\n\n\
         [[step]]\nname = \"again\"\n{SAY}\
         body = {{ json = {{ text = \"{{{{ word }}}} {{{{ cost }}}}\" }} }}\n\
         expect = {{ regex = '\"text\":\"[0-9a-f-]{{36}} 7\"', headers = {{ x-cost = \"7\" }} }}"
    ));
    let came = run(&server.url, "", "users = 4, iterations_per_user = 25", &text).await;
    assert_eq!((came.answered(), came.errors()), (200, vec![]), "{:?}", came.counts.examples);
    assert_eq!(came.counts.counters, [3 * 100, 25 * (1 + 2 + 3)]);
    assert_eq!(came.connections.versions, [("HTTP/2".to_owned(), 4)].into());
    let requests = server.requests();
    assert_eq!((requests.len(), server.connections()), (200, 4));
    let (head, body) =
        requests.iter().find(|(head, _)| head.headers.contains_key("x-tenant")).unwrap();
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/all.Echo/Say"));
    let mut names: Vec<&str> = head.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let expected =
        ["authorization", "content-type", "grpc-timeout", "te", "user-agent", "x-tenant"];
    assert_eq!(names, expected);
    let value = |name: &str| head.headers[name].to_str().unwrap();
    assert_eq!(
        ["te", "content-type", "grpc-timeout"].map(value),
        ["trailers", "application/grpc", "2000000u"]
    );
    assert_eq!((body[0], &body[1..5]), (0, &((body.len() - 5) as u32).to_be_bytes()[..]));
    assert_eq!(came.counts.bytes, requests.iter().map(|(_, body)| body.len() as u64).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_requests_share_connections() {
    let server = Echo::start().await;
    let text = steps(&format!(
        "{SAY}\n[[step]]\nget = \"/\"\nexpect = {{ body = \"hello\" }}\n\n\
         [[step]]\nname = \"constant\"\n{SAY}body = {{ json = {{ words = [\"a\", \"b\"] }} }}\n\
         expect = {{ json_size = {{ \"/words\" = 2 }} }}"
    ));
    let load = "users = 9, iterations_per_user = 10";
    let came = run(&server.url, "connections = 2", load, &text).await;
    assert_eq!((came.answered(), came.errors()), (270, vec![]), "{:?}", came.counts.examples);
    assert_eq!((server.requests().len(), server.connections()), (270, 2));
}

/// Calls the method that streams both ways: the server sends back what has come.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_messages_is_sent_and_measured_message_by_message() {
    for http in ["", "connections = 1"] {
        let server = Echo::start().await;
        let stream = "grpc = \"all.Echo/Stream\"\ntimeout = \"2s\"\n";
        let text = steps(&format!(
            "{stream}body = {{ repeat = 3, json = {{ text = \"{{{{ uuid }}}}\", large = 2 }} }}\n\
             expect = {{ stream = {{ events = 3 }}, json_size = {{ \"\" = 3 }}, json = {{ \"/2/large\" = 2 }} }}\n\
             counters = {{ sum = \"/0/large\" }}\n\
             [[step]]\nname = \"array\"\n{stream}body.json = [{{ text = \"a\" }}, {{ text = \"u{{{{ user }}}}\" }}]\n\
             expect = {{ json = {{ \"/0/text\" = \"a\" }} }}\n\
             [[step]]\nname = \"one\"\n{stream}\n\
             [[step]]\nname = \"cut\"\n{stream}body = {{ repeat = 5, json = {{ large = 1 }} }}\n\
             expect.stream = {{ events = 2, close = true }}"
        ));
        let came = run(&server.url, http, "users = 2, iterations = 10", &text).await;
        assert_eq!((came.answered(), came.errors()), (40, vec![]), "{:?}", came.counts.examples);
        let counts = came.counts.stream.as_deref().unwrap();
        assert_eq!((counts.first_event.len(), counts.events), (40, 10 * (3 + 2 + 1 + 2)), "{http}");
        // The echo comes at once: whether it was whole before loadgen ended it is left to chance.
        assert!(counts.closed <= 10, "{http}: {}", counts.closed);
        assert_eq!(came.counts.counters[0], 2 * 10, "{http}");
        let requests = server.requests();
        let three = requests.iter().filter(|(_, body)| frames(body) == 3).count();
        assert_eq!(three, 10, "{http}");
    }
}

/// Counts the messages of a body.
fn frames(mut body: &[u8]) -> usize {
    let mut count = 0;
    while let Some([0, length @ ..]) = body.first_chunk::<5>() {
        body = &body[5 + u32::from_be_bytes(*length) as usize..];
        count += 1;
    }
    assert!(body.is_empty());
    count
}

/// Function with which a server treats a request on the stream with this number.
type Treat = dyn Fn(&mut Peer, u32) -> io::Result<()> + Send + Sync;

/// Runs three calls with the keys `step`, each of which the server treats with `treat`. Returns the
/// error's kind, and its message.
async fn fails(
    step: &str,
    treat: impl Fn(&mut Peer, u32) -> io::Result<()> + Send + Sync + 'static,
) -> (ErrorKind, String) {
    let server = Server::start(&[], move |peer, _| {
        loop {
            let stream = peer.request()?;
            treat(peer, stream)?;
        }
    });
    let text = steps(&format!("{SAY}{step}"));
    let came = run(&server.url(), "", "users = 1, iterations = 3", &text).await;
    let errors = came.errors();
    assert_eq!((came.answered(), errors.len(), errors[0].1), (0, 1, 3), "{:?}", came.counts);
    assert_eq!((server.requests(), server.connections()), (3, 1), "the connection stays open");
    (errors[0].0, came.counts.examples[&errors[0].0].clone())
}

const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc")];

/// Sends the head of a response to a call, these bytes of the body, and these trailers.
fn respond(
    body: &'static [u8],
    trailers: &'static [(&str, &str)],
) -> impl Fn(&mut Peer, u32) -> io::Result<()> + Send + Sync + 'static {
    move |peer, id| {
        peer.send_headers(id, OK, GRPC, 0)?;
        peer.send(DATA, 0, id, body)?;
        peer.send(HEADERS, END_HEADERS | END_STREAM, id, &block(trailers))
    }
}

const DONE: &[(&str, &str)] = &[("grpc-status", "0")];

#[tokio::test(flavor = "multi_thread")]
async fn another_status_is_an_error_with_its_name_and_its_message() {
    let trailers_only = |peer: &mut Peer, id| {
        let end = [
            ("content-type", "application/grpc"),
            ("grpc-status", "5"),
            ("grpc-message", "no such key: %C3%BC%0A%25 off%2"),
        ];
        peer.send_headers(id, OK, &end, END_STREAM)
    };
    let (kind, said) = fails("", trailers_only).await;
    assert_eq!(kind, ErrorKind::Status);
    assert_eq!(said, "expected grpc-status OK, got NOT_FOUND: no such key: ü % off%2");
    let late = respond(b"", &[("grpc-status", "14")]);
    let (kind, said) = fails("expect = { grpc_status = [\"OK\", \"NOT_FOUND\"] }", late).await;
    let expected = "expected grpc-status OK or NOT_FOUND, got UNAVAILABLE";
    assert_eq!((kind, said.as_str()), (ErrorKind::Status, expected));
    let unknown = respond(b"\0\0\0\0\0", &[("grpc-status", "77"), ("grpc-message", "")]);
    let (_, said) = fails("", unknown).await;
    assert_eq!(said, "expected grpc-status OK, got code 77");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expected_status_is_no_error() {
    let server = Server::start(&[], |peer, _| {
        loop {
            let stream = peer.request()?;
            respond(b"", &[("grpc-status", "5"), ("x-why", "gone")])(peer, stream)?;
        }
    });
    let text = steps(&format!(
        "{SAY}expect = {{ grpc_status = \"NOT_FOUND\", headers = {{ x-why = \"gone\" }} }}"
    ));
    let came = run(&server.url(), "", "users = 1, iterations = 3", &text).await;
    assert_eq!((came.answered(), came.errors()), (3, vec![]), "{:?}", came.counts.examples);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_response_to_a_unary_call_is_an_error_of_the_protocol() {
    let protocol = async |said: &str, treat: Box<Treat>| {
        // The same whether something reads the message or not.
        let treat: Arc<Treat> = treat.into();
        for step in ["", "expect = { json = { \"/text\" = \"\" } }"] {
            let treat = treat.clone();
            let (kind, message) = fails(step, move |peer, id| treat(peer, id)).await;
            assert_eq!(kind, ErrorKind::Protocol, "{message}");
            assert_eq!(message, said);
        }
    };
    let empty: &[u8] = b"\0\0\0\0\0";
    protocol("the response has no grpc-status", Box::new(respond(empty, &[("x-a", "1")]))).await;
    protocol(
        "the response has no grpc-status",
        Box::new(|peer, id| {
            peer.send_headers(id, OK, GRPC, 0)?;
            peer.send(DATA, END_STREAM, id, b"\0\0\0\0\0")
        }),
    )
    .await;
    let odd = respond(empty, &[("grpc-status", "fine")]);
    protocol("the grpc-status is no number: \"fine\"", Box::new(odd)).await;
    let none = respond(b"", DONE);
    protocol("the response has no message, although its grpc-status is OK", Box::new(none)).await;
    let torn = respond(b"\0\0\0\0\x05\x62\x03a", DONE);
    protocol("the message ends after 3 of 5 bytes", Box::new(torn)).await;
    let cut = respond(b"\0\0\0", DONE);
    protocol("the response ends in the prefix of its message", Box::new(cut)).await;
    let two = respond(b"\0\0\0\0\0\0\0\0\0\0", DONE);
    protocol("5 bytes follow the message, but a unary call has only one message", Box::new(two))
        .await;
    let flagged = respond(b"\x02\0\0\0\0", DONE);
    protocol("the message begins with 2, which gRPC does not define", Box::new(flagged)).await;
    protocol(
        "the message is compressed (grpc-encoding \"gzip\"), but loadgen accepts no compression",
        Box::new(|peer, id| {
            let head = [GRPC[0], ("grpc-encoding", "gzip")];
            peer.send_headers(id, OK, &head, 0)?;
            peer.send(DATA, 0, id, b"\x01\0\0\0\x02\x1f\x8b")?;
            peer.send(HEADERS, END_HEADERS | END_STREAM, id, &block(DONE))
        }),
    )
    .await;
    for (kind, shown) in
        [("text/html", "text/html"), ("application/grpc-web", "application/grpc-web")]
    {
        let said = format!("the response is not gRPC: content-type \"{shown}\": <html> hello");
        let html = move |peer: &mut Peer, id| {
            peer.send_headers(id, OK, &[("content-type", kind)], 0)?;
            peer.send(DATA, END_STREAM, id, b"<html>\nhello")
        };
        protocol(&said, Box::new(html)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_answers_in_place_of_the_server_is_named() {
    let gateway = |peer: &mut Peer, id| {
        let head = [BAD_GATEWAY, &block(&[("content-type", "text/html")])].concat();
        peer.send(HEADERS, END_HEADERS, id, &head)?;
        peer.send(DATA, END_STREAM, id, b"<html>Bad Gateway")
    };
    let (kind, said) = fails("", gateway).await;
    let expected = "expected status 200, got 502: <html>Bad Gateway";
    assert_eq!((kind, said.as_str()), (ErrorKind::Status, expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_reset_in_the_middle_fails_alone() {
    let (kind, said) = fails("", |peer, id| {
        peer.send_headers(id, OK, GRPC, 0)?;
        peer.send(DATA, 0, id, b"\0\0\0\0\x05")?;
        peer.reset(id, CANCEL)
    })
    .await;
    assert_eq!(kind, ErrorKind::Reset);
    assert!(said.contains("the server sent RST_STREAM: CANCEL"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_type_is_not_the_expected_one() {
    let broken = || respond(b"\0\0\0\0\x03\x62\x01\xff", DONE);
    let (kind, said) = fails("counters = { n = \"/large\" }", broken()).await;
    assert_eq!(kind, ErrorKind::Expectation);
    assert!(
        said.starts_with(
            "expected a message of the type all.Everything, got bytes that are none: "
        ),
        "{said}"
    );
    // Nothing reads the message, and so nothing decodes it.
    let server = Server::start(&[], move |peer, _| {
        loop {
            let stream = peer.request()?;
            broken()(peer, stream)?;
        }
    });
    let came = run(&server.url(), "", "users = 1, iterations = 3", &steps(SAY)).await;
    assert_eq!((came.answered(), came.errors()), (3, vec![]), "{:?}", came.counts.examples);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_is_sent_over_http_1() {
    let server = Tls::start(&["http/1.1"]).await;
    let http = "tls = { insecure = true }";
    let came = run(&server.url, http, "users = 2, iterations = 6", &steps(SAY)).await;
    assert_eq!((came.answered(), came.errors()), (0, vec![(ErrorKind::Protocol, 6)]));
    let said = &came.counts.examples[&ErrorKind::Protocol];
    assert_eq!(said, "the server chose HTTP/1.1, but gRPC needs HTTP/2: the call was not sent");
    assert!(server.versions().is_empty(), "{:?}", server.versions());
    assert_eq!(server.connections(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_captured_value_that_the_message_cannot_have_is_not_sent() {
    let server = Echo::start().await;
    let text = steps(&format!(
        "{SAY}body = {{ json = {{ text = \"many\" }} }}\ncapture = {{ word = {{ json = \"/text\" }} }}\n\
         [[step]]\nname = \"wrong\"\n{SAY}body = {{ json = {{ large = \"{{{{ word }}}}\" }} }}"
    ));
    let came = run(&server.url, "", "users = 1, iterations = 3", &text).await;
    assert_eq!((came.answered(), came.errors()), (3, vec![(ErrorKind::Expectation, 3)]));
    let said = &came.counts.examples[&ErrorKind::Expectation];
    assert!(said.starts_with("the message is not of the type all.Everything: "), "{said}");
    assert_eq!(server.requests().len(), 3);
}

/// Neither the error of a run nor that of a trial quotes a value of the environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_message_cannot_have_is_not_shown() {
    let server = Echo::start().await;
    let text = steps(&format!(
        "load = {{ users = 1, iterations = 2 }}\n[[step]]\n{SAY}\
         body = {{ json = {{ truth = \"{{{{ env KEY }}}}\" }} }}"
    ));
    let environment = |_: &str| Some("hunter\"2".to_owned());
    let scenario = parse_to_run("test", "test.toml", &text, &environment).unwrap();
    let plan = Plan { scenario, ..plan(&server.url, "[[step]]\nget = \"/\"") };
    let mut wrong = None;
    let show = |_: &_, tried: Tried| {
        wrong = tried.wrong;
        ControlFlow::Continue(())
    };
    try_steps(&plan, show).await.unwrap();
    let (series, _) = finish(plan).await;
    let said = hold(&series).examples[&ErrorKind::Expectation].clone();
    for said in [said, wrong.unwrap().1] {
        assert!(said.starts_with("the message is not of the type all.Everything: "), "{said}");
        assert!(said.contains("{{ env KEY }}") && !said.contains("hunter"), "{said}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_shows_messages_as_json() {
    let server = Echo::start().await;
    let step =
        steps(&format!("[[step]]\n{SAY}body = {{ json = {{ small = \"{{{{ user }}}}\" }} }}"));
    let plan = plan(&server.url, &step);
    let mut all = Vec::new();
    let show = |_: &_, tried| {
        all.push(tried);
        ControlFlow::Continue(())
    };
    try_steps(&plan, show).await.unwrap();
    let [tried] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(tried.request, format!("GRPC {}/all.Echo/Say", server.url));
    assert_eq!((tried.wrong.as_ref(), tried.is_sent), (None, true));
    let sent = tried.body.as_ref().unwrap();
    let user = plan.scenario.load.users;
    assert_eq!(*sent, format!("{{\"small\":{user}}}"));
    let answer = tried.answer.as_ref().unwrap();
    assert_eq!((answer.status, answer.grpc_status.unwrap().to_string()), (200, "OK".to_owned()));
    let begin = format!("{{\"truth\":false,\"small\":{user},\"large\":0,");
    assert!(answer.beginning.starts_with(&begin), "{}", answer.beginning);
    let trailer = ("x-cost".to_owned(), "7".to_owned());
    assert!(tried.answered_headers.contains(&trailer), "{:?}", tried.answered_headers);
}
