//! Uploads of files that are too large to be kept in memory.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use loadgen::measure::ErrorKind;
use sha2::{Digest, Sha256};

use super::http2::run::run;
use crate::common::serve;

/// The transports that send such files, as keys of `[http]`.
const TRANSPORTS: [&str; 3] = ["", "version = \"2\"", "version = \"2\", connections = 1"];

/// Number of bytes of the file: no whole number of chunks, and more than a process keeps.
const LENGTH: usize = (16 << 20) + 12_345;

/// Requests that a server has received: method, path, `content-length`, and digest of the body.
type Seen = Arc<Mutex<Vec<(Method, String, usize, String)>>>;

async fn server() -> (String, Seen) {
    let seen = Seen::default();
    let app = Router::new().fallback(take).with_state(seen.clone());
    (format!("http://{}", serve(app).await), seen)
}

async fn take(
    State(seen): State<Seen>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let length = headers["content-length"].to_str().unwrap().parse().unwrap();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    assert_eq!(body.len(), length);
    seen.lock().unwrap().push((method, uri.path().to_owned(), length, digest(&body)));
    let response = Response::builder();
    let response = match uri.path() {
        "/moved" => response.status(307).header("location", "/here"),
        _ => response,
    };
    response.body(Body::empty()).unwrap()
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn content() -> Vec<u8> {
    (0..LENGTH).map(|n| (n % 251) as u8).collect()
}

/// Writes the file. Returns its path as a TOML string.
fn written(folder: &Path, content: &[u8]) -> String {
    let path = folder.join("film.bin");
    std::fs::write(&path, content).unwrap();
    format!("{:?}", path.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_any_size_arrives_whole() {
    let (folder, content) = (tempfile::tempdir().unwrap(), content());
    let file = written(folder.path(), &content);
    let steps = format!(
        "put = \"/film\"\nbody = {{ file = {file} }}\n\
         [[step]]\npost = \"/moved\"\nredirects = 1\nbody = {{ file = {file}, content_type = \"a/b\" }}\n\
         [[step]]\npost = \"/form\"\nbody.multipart = {{ user = \"{{{{ user }}}}\", film = {{ file = {file} }} }}"
    );
    for http in TRANSPORTS {
        let (url, seen) = server().await;
        let came = run(&url, http, "users = 2, iterations = 2", &steps).await;
        assert_eq!((came.answered(), came.counts.failures()), (6, 0), "{http}: {:?}", came.counts);
        let seen = seen.lock().unwrap();
        for path in ["/film", "/moved", "/here"] {
            let of_path: Vec<_> = seen.iter().filter(|it| it.1 == path).collect();
            assert_eq!(of_path.len(), 2, "{http}: {path}");
            for (method, _, length, found) in of_path {
                let expected = if path == "/film" { Method::PUT } else { Method::POST };
                assert_eq!((method, *length), (&expected, LENGTH), "{http}: {path}");
                assert_eq!(*found, digest(&content), "{http}: {path}");
            }
        }
        let forms: Vec<usize> = seen.iter().filter(|it| it.1 == "/form").map(|it| it.2).collect();
        assert_eq!((forms.len(), forms[0]), (2, forms[1]), "{http}");
        assert!(forms[0] > LENGTH + 200, "{forms:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_becomes_shorter_is_no_fault_of_the_server() {
    for http in TRANSPORTS {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), &content());
        let (url, seen) = server().await;
        let steps = format!("put = \"/film\"\nbody = {{ file = {file} }}");
        let cutting = async {
            while seen.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            std::fs::write(folder.path().join("film.bin"), "short").unwrap();
        };
        let (came, ()) =
            tokio::join!(run(&url, http, "users = 1, iterations = 20", &steps), cutting);
        let failed = came.counts.errors.get(&ErrorKind::Expectation).copied().unwrap_or_default();
        assert!(failed > 0 && failed == came.counts.failures(), "{http}: {:?}", came.counts);
        let example = &came.counts.examples[&ErrorKind::Expectation];
        assert!(example.ends_with("film.bin: it has become shorter"), "{example}");
    }
}
