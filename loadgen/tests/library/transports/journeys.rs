//! Tests cookies and redirects over all transports: the servers receive the same requests. `reqwest` is the
//! independent second opinion.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use loadgen::engine::{Plan, TrialAnswer, Tried, try_steps};
use loadgen::measure::ErrorKind;

use super::http2::run::{Came, run};
use crate::common::engine::plan;
use crate::common::tls::front_with;
use crate::common::{dead_address, serve, tls};

/// The transports, as keys of `[http]`.
pub(super) const TRANSPORTS: [&str; 5] = [
    "transport = \"http1\"",
    "version = \"2\", transport = \"http2\"",
    "version = \"2\", transport = \"http2\", connections = 1",
    "transport = \"reqwest\"",
    "version = \"2\", transport = \"reqwest\"",
];

/// A request as one of the servers received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// Number of the server.
    pub server: usize,
    method: Method,
    pub path: String,
    pub host: String,
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
}

pub(super) type Seen = Arc<Mutex<Vec<Request>>>;

#[derive(Clone)]
pub(super) struct Server {
    pub number: usize,
    pub seen: Seen,
}

/// Starts a server. `/to/STATUS?URL` redirects to the URL, `/give?COOKIE` sets a cookie, `/give-and-go?COOKIE` sets one
/// and redirects to `/`, and `/loop` redirects to itself.
pub(super) async fn start(number: usize, seen: &Seen) -> String {
    let app = Router::new().fallback(take).with_state(Server { number, seen: seen.clone() });
    format!("http://{}", serve(app).await)
}

pub(super) async fn take(
    State(server): State<Server>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path_and_query().unwrap().to_string();
    let mut all = BTreeMap::new();
    for (name, value) in &headers {
        let value = String::from_utf8(value.as_bytes().to_vec()).unwrap();
        // Cookies may come in several fields (RFC 9113, section 8.2.3).
        let one: &mut String = all.entry(name.as_str().to_owned()).or_default();
        *one = if one.is_empty() { value } else { format!("{one}; {value}") };
    }
    let authority = uri.authority().map(ToString::to_string);
    // reqwest sends the step's host as a header beside the `:authority` of the URL.
    let host = all.remove("host").or(authority).unwrap();
    let Server { number, seen } = server;
    seen.lock().unwrap().push(Request { server: number, method, path, host, headers: all, body });
    let query = uri.query().unwrap_or_default().replace("%20", " ");
    let answer = Response::builder();
    // A path may begin with several slashes.
    let answer = match &*format!("/{}", uri.path().trim_start_matches('/')) {
        "/loop" => answer.status(302).header("location", "/loop"),
        "/give" => answer.header("set-cookie", query),
        "/give-and-go" => {
            answer.status(303).header("set-cookie", query).header("location", "/arrived")
        }
        to => match to.strip_prefix("/to/").and_then(|status| status.parse::<u16>().ok()) {
            Some(status) => answer.status(status).header("location", query),
            None => answer.header("x-path", to),
        },
    };
    answer.body("body".into()).unwrap()
}

/// Runs the steps once over each transport. Returns what came, and what the two servers have seen: the first is the
/// one under load, and the second's URL stands for `OTHER`.
async fn each(http: &str, steps: &str) -> Vec<(Came, Vec<Request>)> {
    let mut all = Vec::new();
    for transport in TRANSPORTS {
        let seen = Seen::default();
        let (home, other) = (start(0, &seen).await, start(1, &seen).await);
        let keys = format!("{transport}, {http}");
        let steps = steps.replace("OTHER", &other);
        let steps = steps.trim_start().trim_start_matches("[[step]]\n");
        let came = run(&home, &keys, "users = 1, iterations = 1", steps).await;
        let mut requests = std::mem::take(&mut *seen.lock().unwrap());
        for request in &mut requests {
            let hosts = [(home.as_str(), "home"), (other.as_str(), "other")];
            for (url, name) in hosts {
                let address = url.trim_start_matches("http://");
                request.host = request.host.replace(address, name);
                request.path = request.path.replace(url, name);
            }
        }
        all.push((came, requests));
    }
    all
}

/// Like [`each`]. All requests must be answered, and be the same. Returns a line for each.
async fn same(http: &str, steps: &str) -> Vec<String> {
    let all = each(http, steps).await;
    let count = steps.matches("[[step]]").count() as u64;
    for ((came, seen), transport) in all.iter().zip(TRANSPORTS) {
        assert_eq!(came.errors(), [], "{transport}: {:?}", came.counts.examples);
        assert_eq!(came.answered(), count, "{transport}");
        assert_eq!(seen, &all[0].1, "{transport}");
    }
    let lines = all[0].1.iter().map(|request| {
        let Request { method, path, host, headers, body, .. } = request;
        let header = |name: &str| {
            headers.get(name).map(|value| format!(" {name}={value}")).unwrap_or_default()
        };
        let named = ["cookie", "authorization", "content-type", "referer"].map(header).concat();
        format!("{method} {host}{path}{named} {}", body.len())
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_follow_redirects_alike() {
    let steps = "[[step]]\npost = \"/to/302?/a?b=c\"\nbody = { text = \"hello\" }\n\
                 [[step]]\npost = \"/to/307?/b\"\nbody = { text = \"hello\" }\nheaders = { host = \"shop.example\" }\n\
                 [[step]]\nput = \"/to/303?/c\"\nbody = { text = \"{{ uuid }}\" }\n\
                 [[step]]\nput = \"/to/301?/d\"\nbody = { text = \"{{ uuid }}\" }\n\
                 [[step]]\nhead = \"/to/303?/e\"\n\
                 [[step]]\npost = \"/to/308?/to/302?/f\"\n\
                 [[step]]\nget = \"/to/302?relative\"\nheaders = { authorization = \"Bearer x\" }\n\
                 [[step]]\nget = \"/plain\"\n";
    let lines = same("redirects = 3", steps).await;
    assert_eq!(
        lines,
        [
            "POST home/to/302?/a?b=c content-type=text/plain; charset=utf-8 5",
            "GET home/a?b=c 0",
            "POST shop.example/to/307?/b content-type=text/plain; charset=utf-8 5",
            "POST shop.example/b content-type=text/plain; charset=utf-8 5",
            "PUT home/to/303?/c content-type=text/plain; charset=utf-8 36",
            "GET home/c 0",
            "PUT home/to/301?/d content-type=text/plain; charset=utf-8 36",
            "PUT home/d content-type=text/plain; charset=utf-8 36",
            "HEAD home/to/303?/e 0",
            "HEAD home/e 0",
            "POST home/to/308?/to/302?/f 0",
            "POST home/to/302?/f 0",
            "GET home/f 0",
            "GET home/to/302?relative authorization=Bearer x 0",
            "GET home/to/relative authorization=Bearer x 0",
            "GET home/plain 0",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_begins_with_two_slashes_names_no_server() {
    let steps = "[[step]]\nget = \"//give?sid=7\"\n\
                 [[step]]\nget = \"//to/302?relative\"\nheaders = { authorization = \"Bearer x\" }\n";
    let lines = same("redirects = 1, cookies = true", steps).await;
    assert_eq!(
        lines,
        [
            "GET home//give?sid=7 0",
            "GET home//to/302?relative cookie=sid=7 authorization=Bearer x 0",
            "GET home//to/relative cookie=sid=7 authorization=Bearer x 0",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_keep_credentials_from_other_servers() {
    let steps = "[[step]]\npost = \"/to/307?OTHER/a\"\nbody = { text = \"hello\" }\n\
                 headers = { authorization = \"Bearer x\", cookie = \"a=1\", x-own = \"1\" }\n\
                 [[step]]\nget = \"/to/302?OTHER/b\"\nexpect.headers = { x-path = \"/b\" }\n\
                 [[step]]\nget = \"/plain\"\nheaders = { authorization = \"Bearer x\" }\n";
    let lines = same("redirects = 3", steps).await;
    assert_eq!(
        lines,
        [
            "POST home/to/307?other/a cookie=a=1 authorization=Bearer x content-type=text/plain; charset=utf-8 5",
            "POST other/a content-type=text/plain; charset=utf-8 5",
            "GET home/to/302?other/b 0",
            "GET other/b 0",
            "GET home/plain authorization=Bearer x 0",
        ]
    );
}

/// `reqwest` sends a host that was meant for the first server to the second, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_header_stays_with_its_server() {
    let steps = "get = \"/to/302?OTHER/a\"\nheaders = { host = \"shop.example\" }";
    for (came, seen) in &each("redirects = 3", steps).await[..3] {
        assert_eq!(came.answered(), 1);
        let hosts: Vec<&str> = seen.iter().map(|request| request.host.as_str()).collect();
        assert_eq!(hosts, ["shop.example", "other"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_keep_cookies_alike() {
    let steps = "[[step]]\nget = \"/\"\n\
                 [[step]]\nget = \"/give?sid=7;%20Path=/;%20HttpOnly\"\n\
                 [[step]]\nget = \"/a?{{ uuid }}\"\n\
                 [[step]]\npost = \"/b\"\nbody = { text = \"hello\" }\n\
                 [[step]]\nget = \"/c\"\nheaders = { cookie = \"own=1\" }\n\
                 [[step]]\nget = \"/give-and-go?sid=8;%20Path=/\"\n\
                 [[step]]\nget = \"/d\"\n\
                 [[step]]\nget = \"/give?sid=;%20Path=/;%20Max-Age=0\"\n\
                 [[step]]\nget = \"/e\"\n";
    let lines = same("redirects = 1, cookies = true", steps).await;
    let lines: Vec<String> = lines.iter().map(|line| line.replace("%20", "")).collect();
    assert!(
        lines[2].starts_with("GET home/a?") && lines[2].ends_with(" cookie=sid=7 0"),
        "{lines:?}"
    );
    assert_eq!(
        [&lines[..2], &lines[3..]].concat(),
        [
            "GET home/ 0",
            "GET home/give?sid=7;Path=/;HttpOnly 0",
            "POST home/b cookie=sid=7 content-type=text/plain; charset=utf-8 5",
            "GET home/c cookie=own=1 0",
            "GET home/give-and-go?sid=8;Path=/ cookie=sid=7 0",
            "GET home/arrived cookie=sid=8 0",
            "GET home/d cookie=sid=8 0",
            "GET home/give?sid=;Path=/;Max-Age=0 cookie=sid=8 0",
            "GET home/e 0",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_with_files_is_sent_with_cookies_and_after_a_redirect() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[0, 159, 146, 150].repeat(50_000)).unwrap();
    let file = file.path().display();
    let steps = format!(
        "[[step]]\nget = \"/give?sid=7;%20Path=/\"\n\
         [[step]]\nput = \"/to/308?/a\"\nbody = {{ file = '{file}' }}\n\
         [[step]]\nput = \"/to/308?/b\"\n\
         body = {{ text = \"{{{{ uuid }}}}\" }}\n"
    );
    for (came, seen) in each("redirects = 1, cookies = true", &steps).await {
        assert_eq!(came.errors(), [], "{:?}", came.counts.examples);
        let told: Vec<_> =
            seen.iter().map(|it| (it.body.len(), it.headers.get("cookie"))).collect();
        let sid = "sid=7".to_owned();
        let sid = Some(&sid);
        assert_eq!(told, [(0, None), (200_000, sid), (200_000, sid), (36, sid), (36, sid)]);
        assert_eq!((&seen[1].body, &seen[3].body), (&seen[2].body, &seen[4].body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_is_too_long_is_an_error() {
    let step = "get = \"/loop\"\nredirects = 2";
    for (came, seen) in each("", step).await {
        assert_eq!((came.errors(), seen.len()), (vec![(ErrorKind::Protocol, 1)], 3));
        assert!(came.message(ErrorKind::Protocol).contains("too many redirects"));
    }
}

/// The step of a flow whose `location` is captured follows no redirect, and the others do.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_may_leave_a_redirect_as_it_is() {
    let steps = "[[step]]\nget = \"/to/302?/callback?code=17\"\nredirects = 0\nexpect.status = 302\n\
                 capture = { next = { header = \"location\", regex = 'code=(\\d+)' } }\n\
                 [[step]]\nget = \"/to/302?/next/{{ next }}\"\n";
    let lines = same("redirects = 1", steps).await;
    assert_eq!(
        lines,
        ["GET home/to/302?/callback?code=17 0", "GET home/to/302?/next/17 0", "GET home/next/17 0"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_named_after_a_redirect() {
    let dead = dead_address();
    let step = format!("get = \"/to/302?http://{dead}/\"");
    for (came, _) in each("redirects = 1", &step).await {
        let said = came.message(ErrorKind::Connect);
        let expected = format!("{dead}, to which the server redirects: Connection refused");
        assert!(said.contains(&expected), "{said}");
    }
    let closing = super::server::Server::closing().address;
    let step = format!("get = \"/to/302?http://{closing}/\"");
    for (came, _) in &each("redirects = 1", &step).await[..3] {
        let said = came.message(ErrorKind::Reset);
        assert!(said.contains(&format!("{closing}, to which the server redirects: ")), "{said}");
    }
}

/// Behind TLS with HTTP/2, or with HTTP/1.1 as the server's choice.
#[tokio::test(flavor = "multi_thread")]
async fn redirects_lead_from_tls_to_a_server_without_it() {
    for (protocols, transport) in
        [(&["h2"][..], "version = \"2\""), (&["http/1.1"], "version = \"2\""), (&[], "")]
    {
        let seen = Seen::default();
        let (home, other) = (start(0, &seen).await, start(1, &seen).await);
        let address = home.trim_start_matches("http://").parse().unwrap();
        let config = tls::config(rcgen::CertificateParams::default(), protocols).0;
        let url = front_with(address, config).await;
        let http =
            format!("{transport}, redirects = 2, cookies = true, tls = {{ insecure = true }}");
        let http = http.trim_start_matches(", ");
        let steps = format!(
            "get = \"/give?s=1;%20Secure;%20Path=/\"\n[[step]]\nget = \"/to/302?/a\"\n\
             [[step]]\nget = \"/to/302?{other}/b\""
        );
        let came = run(&url, http, "users = 2, iterations_per_user = 2", &steps).await;
        assert_eq!((came.answered(), came.errors()), (12, vec![]), "{:?}", came.counts.examples);
        // One connection of each user to each server.
        assert_eq!(came.connections.opened, 4, "{transport} {protocols:?}");
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 20);
        assert_eq!(seen.iter().filter(|it| it.path == "/a").count(), 4);
        assert!(seen.iter().filter(|it| it.path == "/a").all(|it| it.headers["cookie"] == "s=1"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_tells_the_redirects_and_the_names_of_cookies() {
    let seen = Seen::default();
    let (home, other) = (start(0, &seen).await, start(1, &seen).await);
    let text = format!(
        "http = {{ redirects = 3, cookies = true }}\n[[step]]\nget = \"/give-and-go?sid=secret\"\n\
         [[step]]\nget = \"/to/302?{other}/b\""
    );
    let mut tried = Vec::new();
    let plan = Plan { warmup: Duration::ZERO, ..plan(&home, &text) };
    let shown = try_steps(&plan, |_, one: Tried| {
        tried.push(one);
        std::ops::ControlFlow::Continue(())
    });
    shown.await.unwrap();
    let [first, second] = &tried[..] else { panic!() };
    assert_eq!(first.redirects, [format!("303 to {home}/arrived")]);
    assert_eq!(first.cookies, ["sid"]);
    assert_eq!(second.redirects, [format!("302 to {other}/b")]);
    let answer: &TrialAnswer = second.answer.as_ref().unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.headers.contains(&("x-path".to_owned(), b"/b".to_vec())), "{answer:?}");
}
