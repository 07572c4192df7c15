//! Tests HTTP/2 over TLS, where the server chooses the version.

use super::run::run;
use crate::common::tls::Tls;

const BOTH: &[&str] = &["h2", "http/1.1"];

/// Runs six users with ten iterations each. Returns the number of connections and the HTTP versions that
/// the server has seen.
async fn seen(protocols: &[&str], keys: &str) -> (usize, Vec<String>) {
    let server = Tls::start(protocols).await;
    let http = format!("version = \"2\", tls = {{ insecure = true }}{keys}");
    let load = "users = 6, iterations_per_user = 10";
    let step = "get = \"/\"\nexpect = { body = \"hello\" }";
    let came = run(&server.url, &http, load, step).await;
    assert_eq!((came.answered(), came.errors()), (60, vec![]), "{:?}", came.counts.examples);
    assert_eq!(came.counts.bytes, 300);
    assert_eq!(came.connections.opened, server.connections() as u64);
    let versions: Vec<String> = server.versions().into_iter().collect();
    let recorded = came.connections.versions;
    let first = versions[0].trim_end_matches(".0").to_owned();
    assert_eq!(recorded, [(first, server.connections() as u64)].into());
    (server.connections(), versions)
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_used_if_the_server_chooses_it() {
    let http2 = vec!["HTTP/2.0".to_owned()];
    assert_eq!(seen(BOTH, "").await, (6, http2.clone()));
    assert_eq!(seen(&["h2"], "").await, (6, http2.clone()));
    assert_eq!(seen(BOTH, ", connections = 2").await, (2, http2.clone()));
    assert_eq!(seen(BOTH, ", streams = 4").await, (2, http2.clone()));
    assert_eq!(seen(BOTH, ", connection = \"per-request\"").await, (60, http2));
}

/// In HTTP/1.1 each user needs a connection, also if the scenario shares those of HTTP/2.
#[tokio::test(flavor = "multi_thread")]
async fn users_fall_back_to_the_version_that_the_server_chooses() {
    let http1 = vec!["HTTP/1.1".to_owned()];
    for protocols in [&["http/1.1"][..], &[]] {
        assert_eq!(seen(protocols, "").await, (6, http1.clone()));
        assert_eq!(seen(protocols, ", connections = 2, streams = 3").await, (6, http1.clone()));
    }
    assert_eq!(seen(&["http/1.1"], ", connection = \"per-request\"").await, (60, http1));
}

/// Generated values, bodies and headers arrive over the fallback, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_http_1_receives_whole_requests() {
    let server = Tls::start(&["http/1.1"]).await;
    let step = "get = \"/?n={{ iteration }}\"\nheaders = { x-own = \"{{ uuid }}\" }\n\
                body = { text = \"{{ name }}\" }\ncapture = { kind = { header = \"content-type\" } }\n\
                [[step]]\nhead = \"/\"\nheaders = { x-kind = \"{{ kind }}\" }";
    let http = "version = \"2\", tls = { insecure = true }";
    let came = run(&server.url, http, "users = 2, iterations = 20", step).await;
    assert_eq!((came.answered(), came.errors()), (40, vec![]), "{:?}", came.counts.examples);
    assert_eq!((server.connections(), came.counts.bytes), (2, 100));
}
