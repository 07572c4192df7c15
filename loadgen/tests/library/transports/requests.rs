//! Tests what the server receives.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::Duration;

use loadgen::measure::ErrorKind;

use super::case::{TRANSPORTS, answered, both, failed};
use super::server::{Request, Server, Then};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const TOO_LARGE: &str = "HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n";

fn answering() -> Server {
    Server::always(OK, || Then::Next)
}

fn headers(request: &Request) -> BTreeMap<&str, &str> {
    request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_request_names_client_and_host() {
    for server in both(answering).step("get = \"/items?a=1&b=%20\"").gives(answered(1)).await {
        let request = server.requests().remove(0);
        assert_eq!(request.line, "GET /items?a=1&b=%20 HTTP/1.1");
        let agent = concat!("loadgen/", env!("CARGO_PKG_VERSION"));
        let host = server.address.to_string();
        let expected = [("accept", "*/*"), ("host", &*host), ("user-agent", agent)];
        assert_eq!(headers(&request), expected.into());
        assert_eq!(request.body, b"");
    }
}

/// A request with a method that expects a body states the length
/// of its body, even if the length is 0 (RFC 9110, section 8.6).
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_its_usual_body_states_length_zero() {
    for (method, length) in [
        ("post", Some("0")),
        ("put", Some("0")),
        ("patch", Some("0")),
        ("delete", None),
        ("head", None),
        ("options", None),
    ] {
        let servers = both(answering).step(&format!("{method} = \"/\"")).gives(answered(1)).await;
        for server in servers {
            let request = server.requests().remove(0);
            assert_eq!(request.line, format!("{} / HTTP/1.1", method.to_uppercase()));
            assert_eq!(headers(&request).get("content-length").copied(), length, "{method}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_transports_send_the_same_requests() {
    let case = both(answering)
        .load("users = 1, iterations = 3")
        .step(
            "get = \"/{{ user }}/{{ iteration }}/{{ uuid }}?n={{ int 1 999 }}&who={{ name }}\"\n\
             headers = { Host = \"example.org\", User-Agent = \"me\", Accept = \"a/b\", \
             X-Own = \"{{ uuid }}\", Cookie = \"a=1; b=2\" }",
        )
        .and_step("post = \"/a\"\nbody = { json = { id = \"{{ uuid }}\", who = \"{{ name }}\" } }")
        .and_step("post = \"/b\"\nbody = { text = \"h\u{e9}llo\" }")
        .and_step("put = \"/c\"\nbody = { text = \"{{ int 1 9 }}\", content_type = \"x/y; a=b\" }")
        .and_step("patch = \"/d\"\nbody = { json = { a = 1 }, repeat = 3 }")
        .and_step("delete = \"/e\"\nbody = { text = \"\" }")
        .and_step("get = \"/f\"\nbody = { text = \"a body all the same\" }")
        .and_step("post = \"/g\"\nbody = { text = \"\" }")
        .and_step("head = \"/h\"");
    let [http1, reqwest] = case.gives(answered(27).bytes(0).over(1)).await;
    let (http1_host, reqwest_host) = (http1.address.to_string(), reqwest.address.to_string());
    let (http1, reqwest) = (http1.requests(), reqwest.requests());
    assert_eq!((http1.len(), reqwest.len()), (27, 27));
    for (http1, mut reqwest) in http1.into_iter().zip(reqwest) {
        let host = reqwest.headers.iter_mut().find(|(_, value)| *value == reqwest_host);
        host.into_iter().for_each(|(_, value)| value.clone_from(&http1_host));
        assert_eq!(http1, reqwest);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_transports_encode_paths_alike() {
    let paths = [
        "/~a/b;c=1,2/@:!$&'()*+",
        "/?",
        "/a?b?c/d",
        "/%7Bx%7d",
        "/{x}|^`\\\"<>",
        "/?{x}|^`\\\"<>'",
    ];
    let toml = |path: &str| format!("get = '''{path}'''");
    let case = both(answering).step(&toml("/"));
    let case = paths.iter().fold(case, |case, path| case.and_step(&toml(path)));
    let [http1, reqwest] = case.gives(answered(7)).await;
    let lines = |server: &Server| -> Vec<String> {
        server.requests().into_iter().map(|request| request.line).collect()
    };
    assert_eq!(lines(&http1), lines(&reqwest));
}

/// Returns a POST step with a body of `megabytes` MB.
/// Even 2 MB are more than the kernel takes at once.
fn post(megabytes: usize) -> String {
    let text = "x".repeat(990);
    format!("post = \"/\"\nbody = {{ json = {{ a = \"{text}\" }}, repeat = {megabytes}000 }}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_arrives_whole_at_a_slow_reader() {
    let server = || {
        Server::unread(|peer, _| {
            peer.read_body_in_pieces(64 << 10, Duration::from_millis(2))?;
            peer.send(OK)?;
            Ok(Then::Next)
        })
    };
    let [http1, reqwest] = both(server).times(2).step(&post(2)).gives(answered(2).over(1)).await;
    let (http1, reqwest) = (http1.requests(), reqwest.requests());
    assert!(http1[0].body.len() > 1_990_000);
    assert!(http1.iter().zip(&reqwest).all(|(http1, reqwest)| http1.body == reqwest.body));
}

/// A form of generated values and a file, and bodies of the file alone. The server reads slowly, so that
/// the kernel takes only a part of a body at once.
#[tokio::test(flavor = "multi_thread")]
async fn files_arrive_unchanged() {
    let content: Vec<u8> =
        (0..2_000_000_u32).flat_map(|n| n.to_le_bytes()).take(3_000_001).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&content).unwrap();
    let file = format!("file = '{}'", file.path().display());
    let server = || {
        Server::unread(|peer, _| {
            peer.read_body_in_pieces(64 << 10, Duration::from_millis(1))?;
            peer.send(OK)?;
            Ok(Then::Next)
        })
    };
    let form = format!(
        "a = \"{{{{ uuid }}}}\", b = {{ {file}, filename = \"{{{{ uuid }}}}.bin\" }}, c = {{ {file} }}, d = 1"
    );
    let case = both(server)
        .times(2)
        .step(&format!("post = \"/\"\nbody = {{ multipart = {{ {form} }} }}"))
        .and_step(&format!("put = \"/{{{{ iteration }}}}\"\nbody = {{ {file} }}"))
        .and_step(&format!("put = \"/\"\nbody = {{ {file}, content_type = \"image/png\" }}"));
    let [http1, reqwest] = case.gives(answered(6).over(1)).await;
    let (http1, reqwest) = (http1.requests(), reqwest.requests());
    for (http1, reqwest) in http1.iter().zip(&reqwest) {
        assert!(http1.body == reqwest.body);
        assert_eq!(headers(http1)["content-length"], http1.body.len().to_string());
        assert_eq!(headers(http1)["content-type"], headers(reqwest)["content-type"]);
    }
    assert_eq!(http1[5].body.len(), content.len());
    assert!(http1[4].body == content && http1[5].body == content);
    assert_eq!(headers(&http1[5])["content-type"], "image/png");
    let found = memchr::memmem::find_iter(&http1[0].body, &content).count();
    assert!(found == 2 && http1[0].body.len() > 2 * content.len());
    assert!(http1[0].body != http1[3].body, "generated values");
}

/// The server refuses a body before it has read the body, and lets the refusal arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_response_before_the_end_of_the_body_is_accepted() {
    let closing = || {
        Server::unread(|peer, _| {
            peer.send(format!("{TOO_LARGE}connection: close\r\n\r\nno"))?;
            Ok(Then::Close)
        })
    };
    let refused = failed(ErrorKind::Status, 3).bytes(6);
    both(closing).times(3).step(&post(8)).gives(refused.clone().over(3)).await;
    let reading_on = || {
        Server::unread(|peer, _| {
            peer.send(format!("{TOO_LARGE}\r\nno"))?;
            thread::sleep(Duration::from_millis(20));
            Ok(Then::Next)
        })
    };
    both(reading_on).times(3).step(&post(8)).gives(refused).await;
}

/// The answer arrives before the connection breaks. If hyper notices the break while it
/// still sends, it gives up without looking for an answer; `http1` looks for the answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_response_counts_even_if_the_connection_then_breaks() {
    for pause in [0, 30] {
        let server = || {
            Server::unread(move |peer, _| {
                peer.send(format!("{TOO_LARGE}connection: close\r\n\r\nno"))?;
                thread::sleep(Duration::from_millis(pause));
                Ok(Then::Reset)
            })
        };
        for transport in TRANSPORTS {
            let server = server();
            let case = both(Server::closing).times(10).step(&post(8));
            let counts = case.counts(transport, &format!("http://{}", server.address)).await;
            let of = |kind| counts.errors.get(&kind).copied().unwrap_or(0);
            let (status, reset) = (of(ErrorKind::Status), of(ErrorKind::Reset));
            assert_eq!(status + reset, 10, "{transport}: {:?}", counts.examples);
            assert!(transport == "reqwest" || reset == 0, "{transport}: {:?}", counts.examples);
        }
    }
}

/// `http1` sends a path as the scenario writes it, like wrk and k6. reqwest
/// removes dot segments, because it parses the path as part of a URL.
#[tokio::test(flavor = "multi_thread")]
async fn only_http1_sends_dot_segments_as_written() {
    let servers = both(answering).step("get = \"/a/./b/../c\"").gives(answered(1)).await;
    let lines = servers.map(|server| server.requests().remove(0).line);
    assert_eq!(lines, ["GET /a/./b/../c HTTP/1.1", "GET /a/c HTTP/1.1"]);
}
