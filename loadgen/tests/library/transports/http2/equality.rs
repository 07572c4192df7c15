//! Compares transports on one server that speaks HTTP/1.1 and HTTP/2: the server receives the same
//! requests, and the outcomes are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri, Version};
use loadgen::measure::ErrorKind;
use tokio::net::TcpListener;

use super::run::{Came, run};

/// The transports, as keys of `[http]`.
const TRANSPORTS: [&str; 4] = [
    "transport = \"http1\"",
    "version = \"2\", transport = \"http2\"",
    "version = \"2\", transport = \"http2\", connections = 1",
    "version = \"2\", transport = \"reqwest\"",
];

/// A request as the server received it, without what differs between versions of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    method: Method,
    path: String,
    host: String,
    headers: BTreeMap<String, Vec<u8>>,
    body: Bytes,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<Request>>,
    versions: Mutex<Vec<Version>>,
    callers: Mutex<BTreeSet<SocketAddr>>,
}

async fn server() -> (String, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let app = Router::new().fallback(take).with_state(seen.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, seen)
}

/// Answers a request as its path says.
async fn take(
    State(seen): State<Arc<Seen>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    version: Version,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path_and_query().unwrap().to_string();
    let mut headers: BTreeMap<String, Vec<u8>> = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    // reqwest sends the step's host as a header beside the `:authority` of the URL.
    let host = match (headers.remove("host"), uri.authority()) {
        (Some(host), _) => String::from_utf8(host).unwrap(),
        (None, authority) => authority.unwrap().to_string(),
    };
    seen.callers.lock().unwrap().insert(caller);
    seen.versions.lock().unwrap().push(version);
    let response = match path.as_str() {
        "/missing" => Response::builder().status(StatusCode::NOT_FOUND).body("no".into()),
        "/empty" => Response::builder().status(StatusCode::NO_CONTENT).body(Body::empty()),
        "/moved" => Response::builder()
            .status(StatusCode::FOUND)
            .header("location", "/")
            .body(Body::empty()),
        "/long" => Response::builder().body(vec![b'x'; 3_000_000].into()),
        _ => Response::builder()
            .header("x-token", "abc")
            .header("content-type", "application/json")
            .body("{\"n\": 7, \"name\": \"Ada\"}".into()),
    };
    seen.requests.lock().unwrap().push(Request { method, path, host, headers, body });
    response.unwrap()
}

/// Runs the load over each transport, and returns what came and what the server has seen.
async fn each(load: &str, steps: &str) -> Vec<(Came, Arc<Seen>)> {
    let mut all = Vec::new();
    for transport in TRANSPORTS {
        let (url, seen) = server().await;
        let steps = steps.trim_start().trim_start_matches("[[step]]\n");
        let came = run(&url, transport, load, steps).await;
        let counted = came.answered() + came.counts.failures();
        assert_eq!(seen.requests.lock().unwrap().len() as u64, counted, "{transport}");
        let version = if transport.contains("http1") { Version::HTTP_11 } else { Version::HTTP_2 };
        assert!(seen.versions.lock().unwrap().iter().all(|it| *it == version), "{transport}");
        let callers = seen.callers.lock().unwrap().len() as u64;
        assert_eq!(came.connections.opened, callers, "{transport}");
        all.push((came, seen));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_send_the_same_requests() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[0, 159, 146, 150].repeat(50_000)).unwrap();
    let file = file.path().display();
    let steps = format!(
        "[[step]]\nget = \"/{{{{ user }}}}/{{{{ iteration }}}}/{{{{ uuid }}}}?n={{{{ int 1 999 }}}}\"\n\
         headers = {{ Host = \"example.org\", User-Agent = \"me\", Accept = \"a/b\", X-Own = \"{{{{ uuid }}}}\", Cookie = \"a=1; b=2\" }}\n\
         [[step]]\npost = \"/a\"\nbody = {{ json = {{ id = \"{{{{ uuid }}}}\", who = \"{{{{ name }}}}\" }} }}\n\
         [[step]]\npost = \"/b\"\nbody = {{ text = \"h\u{e9}llo\" }}\n\
         [[step]]\nput = \"/c\"\nbody = {{ text = \"{{{{ int 1 9 }}}}\", content_type = \"x/y; a=b\" }}\n\
         [[step]]\ndelete = \"/e\"\nbody = {{ text = \"\" }}\n\
         [[step]]\nget = \"/f\"\nbody = {{ text = \"a body all the same\" }}\n\
         [[step]]\npost = \"/g\"\n\
         [[step]]\nhead = \"/h\"\n\
         [[step]]\noptions = \"/q?a={{x}}|y\"\n\
         [[step]]\nget = '''/%7Bx%7d/{{{{ user }}}}/`<>'''\n\
         [[step]]\nput = \"/file\"\nbody = {{ file = '{file}' }}\n\
         [[step]]\nput = \"/form\"\nbody = {{ multipart = {{ a = \"{{{{ uuid }}}}\", b = {{ file = '{file}' }} }} }}\n"
    );
    let all = each("users = 1, iterations = 3", &steps).await;
    let requests = |seen: &Seen| -> Vec<Request> {
        let mut requests = seen.requests.lock().unwrap().clone();
        for request in &mut requests {
            // The addresses of the servers differ, and so do the boundaries of forms.
            // hyper adds this header to a request that has no body, but might have one.
            if request.method == Method::OPTIONS {
                request.headers.remove("content-length");
            }
            if request.host.starts_with("127.0.0.1:") {
                request.host = "127.0.0.1".to_owned();
            }
        }
        requests
    };
    let first = requests(&all[0].1);
    assert_eq!(first.len(), 36);
    for (came, seen) in &all {
        assert_eq!((came.answered(), came.errors()), (36, vec![]), "{:?}", came.counts.examples);
        assert_eq!(came.connections.opened, 1);
        for (one, other) in first.iter().zip(requests(seen)) {
            assert_eq!(*one, other);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_give_the_same_outcomes() {
    for (step, answered, errors, bytes) in [
        ("get = \"/\"\ncounters = { n = \"/n\" }", 12, vec![], 12 * 23),
        (
            "get = \"/\"\nexpect = { json = { \"/name\" = \"Ada\" }, headers = { x-token = \"abc\" } }",
            12,
            vec![],
            12 * 23,
        ),
        (
            "get = \"/\"\nexpect = { body = \"Bob\" }",
            0,
            vec![(ErrorKind::Expectation, 12)],
            12 * 23,
        ),
        ("get = \"/missing\"", 0, vec![(ErrorKind::Status, 12)], 24),
        ("get = \"/empty\"\nexpect = { status = 204 }", 12, vec![], 0),
        ("get = \"/moved\"\nexpect = { status = 302 }", 12, vec![], 0),
        ("head = \"/\"", 12, vec![], 0),
        ("get = \"/long\"\nexpect = { body = \"xxx\" }", 12, vec![], 12 * 3_000_000),
    ] {
        for (came, _) in each("users = 3, iterations_per_user = 4", step).await {
            assert_eq!((came.answered(), came.errors()), (answered, errors.clone()), "{step}");
            assert_eq!(came.counts.bytes, bytes, "{step}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn captured_values_reach_the_next_request() {
    let steps = "[[step]]\nget = \"/\"\ncapture = { who = { json = \"/name\" }, token = { header = \"x-token\" } }\n\
                 [[step]]\nget = \"/{{ who }}\"\nheaders = { x-back = \"{{ token }}\" }";
    for (came, seen) in each("users = 2, iterations = 10", steps).await {
        assert_eq!((came.answered(), came.errors()), (20, vec![]), "{:?}", came.counts.examples);
        let requests = seen.requests.lock().unwrap();
        let back: Vec<_> = requests.iter().filter(|it| it.path == "/Ada").collect();
        assert_eq!(back.len(), 10);
        assert!(back.iter().all(|it| it.headers["x-back"] == b"abc"));
    }
}
