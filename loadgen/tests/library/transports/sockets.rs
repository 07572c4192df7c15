//! Tests servers on Unix domain sockets over all transports.

use axum::Router;
use loadgen::measure::ErrorKind;
use tempfile::TempDir;
use tokio::net::UnixListener;

use super::http2::run::run;
use super::journeys::{Seen, Server, TRANSPORTS, start, take};

/// Starts a server on a socket. Returns the folder of the socket, and the URL.
fn start_on_socket(number: usize, seen: &Seen) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let app = Router::new().fallback(take).with_state(Server { number, seen: seen.clone() });
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (folder, format!("unix:{}", path.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transports_reach_a_socket() {
    for transport in TRANSPORTS {
        let seen = Seen::default();
        let (_folder, url) = start_on_socket(0, &seen);
        let step = "post = \"/{{ uuid }}\"\nbody = { text = \"{{ user }}\" }\n";
        let load = "users = 2, iterations = 20";
        let came = run(&format!("{url}:/below/"), transport, load, step).await;
        assert_eq!((came.answered(), came.errors()), (20, vec![]), "{transport}");
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 20, "{transport}");
        for request in seen.iter() {
            assert_eq!((&*request.host, request.body.len()), ("localhost", 1), "{transport}");
            assert!(request.path.starts_with("/below/"), "{transport}: {}", request.path);
        }
        let connections = &came.connections;
        let expected = if transport.contains("connections = 1") { 1 } else { 2 };
        assert_eq!(connections.opened, expected, "{transport}");
        if !transport.contains("reqwest") {
            let [address] = &connections.addresses[..] else { panic!("{connections:?}") };
            assert_eq!((&address.address, address.connections), (&url, expected), "{transport}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_stays_at_the_socket_until_a_redirect_leads_elsewhere() {
    for transport in &TRANSPORTS[..3] {
        let seen = Seen::default();
        let (_folder, url) = start_on_socket(0, &seen);
        let other = start(1, &seen).await;
        let steps = format!(
            "get = \"/give?sid=7\"\n\
             [[step]]\nget = \"/to/302?/a\"\n\
             [[step]]\nget = \"/to/302?http://localhost/b\"\n\
             [[step]]\nget = \"/to/302?{other}/c\"\n"
        );
        let keys = format!("{transport}, cookies = true, redirects = 1");
        let came = run(&url, &keys, "users = 1, iterations = 1", &steps).await;
        assert_eq!((came.answered(), came.errors()), (4, vec![]), "{transport}");
        let seen = seen.lock().unwrap();
        let shown: Vec<(usize, &str, bool)> = seen
            .iter()
            .map(|it| (it.server, &*it.path, it.headers.contains_key("cookie")))
            .collect();
        let last = format!("/to/302?{other}/c");
        assert_eq!(
            shown,
            [
                (0, "/give?sid=7", false),
                (0, "/to/302?/a", true),
                (0, "/a", true),
                (0, "/to/302?http://localhost/b", true),
                (0, "/b", true),
                (0, &last, true),
                (1, "/c", false),
            ],
            "{transport}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_socket_is_a_failure_to_connect() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("unix:{}", folder.path().join("none").display());
    for transport in TRANSPORTS {
        let came = run(&url, transport, "users = 1, iterations = 2", "get = \"/\"\n").await;
        assert_eq!(came.errors(), [(ErrorKind::Connect, 2)], "{transport}");
        let said = came.message(ErrorKind::Connect);
        assert!(said.contains("No such file"), "{transport}: {said}");
    }
}
