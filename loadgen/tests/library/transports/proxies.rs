//! Tests proxies over all transports, with a proxy that tells what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, Uri};
use axum::response::Redirect;
use axum::routing::get;
use loadgen::measure::ErrorKind;
use rcgen::CertificateParams;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::http2::run::run;
use crate::common::tls::{config, front, front_with};

/// A proxy that forwards requests and opens tunnels. Each connection goes to one server.
pub struct Proxy {
    pub address: SocketAddr,
    /// The first head of each connection.
    pub heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy that answers CONNECT with `answer`, and opens a tunnel if that is a 200.
    pub async fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                client.set_nodelay(true).unwrap();
                tokio::spawn(serve(client, seen.clone(), answer));
            }
        });
        Self { address, heads }
    }

    pub async fn start() -> Self {
        Self::answering("HTTP/1.1 200 Connection established\r\n\r\n").await
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(
    mut client: TcpStream,
    seen: Arc<Mutex<Vec<String>>>,
    answer: &'static str,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let text = String::from_utf8(head.clone()).unwrap();
    seen.lock().unwrap().push(text.clone());
    let target = text.split(' ').nth(1).unwrap();
    let mut server = match text.starts_with("CONNECT ") {
        true => {
            client.write_all(answer.as_bytes()).await?;
            if !answer.contains(" 200 ") || !answer.ends_with("\r\n\r\n") {
                return Ok(());
            }
            TcpStream::connect(target).await?
        }
        false => {
            let place = target.strip_prefix("http://").unwrap().split('/').next().unwrap();
            let mut server = TcpStream::connect(place).await?;
            server.write_all(&head).await?;
            server
        }
    };
    server.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Starts a server that gives a cookie with a redirect, and then wants it. No request may have what was meant for the
/// proxy.
async fn server() -> SocketAddr {
    let go = || async { ([("set-cookie", "sid=7; Path=/")], Redirect::to("/arrived?a=b")) };
    let arrived = |headers: HeaderMap, uri: Uri| async move {
        assert_eq!(uri.query(), Some("a=b"));
        headers["cookie"].to_str().unwrap().to_owned()
    };
    let app = Router::new().route("/go", get(go)).route("/arrived", get(arrived));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

const STEPS: &str = "get = \"/go\"\nexpect.body = \"sid=7\"\n[[step]]\nget = \"/arrived?a=b\"\nexpect.body = \"sid=7\"";

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_http_1_are_forwarded_and_all_others_take_a_tunnel() {
    let server = server().await;
    for is_tls in [false, true] {
        for (transport, protocols) in [
            ("transport = \"http1\"", &["http/1.1"][..]),
            ("version = \"2\", transport = \"http2\"", &["h2"]),
            ("version = \"2\", transport = \"http2\", connections = 1", &["h2"]),
            ("transport = \"reqwest\"", &["http/1.1"]),
        ] {
            let url = match is_tls {
                false => format!("http://{server}"),
                true => front_with(server, config(CertificateParams::default(), protocols).0).await,
            };
            for is_tls_proxy in [false, true] {
                let proxy = Proxy::start().await;
                let place = match is_tls_proxy {
                    false => format!("http://{}", proxy.address),
                    true => front(proxy.address).await,
                };
                let place = place.replace("://", "://us%20er:word@");
                let http = format!(
                    "{transport}, proxy = \"{place}\", redirects = 2, cookies = true, tls = {{ insecure = true }}"
                );
                let came = run(&url, &http, "users = 2, iterations_per_user = 2", STEPS).await;
                let about = format!("{http} {url}: {:?}", came.counts.examples);
                assert_eq!((came.answered(), came.errors()), (8, vec![]), "{about}");
                let heads = proxy.heads();
                let connections = if http.contains("connections") { 1 } else { 2 };
                assert_eq!(heads.len(), connections, "{about}");
                assert_eq!(came.connections.opened, connections as u64, "{about}");
                assert!(came.connections.addresses.is_empty(), "{about}");
                let tunnels = is_tls || http.contains("http2");
                for head in heads {
                    let begin = match tunnels {
                        true => {
                            format!("CONNECT {} HTTP/1.1\r\n", &url[url.find("127").unwrap()..])
                        }
                        false => format!("GET {url}/go HTTP/1.1\r\n"),
                    };
                    assert!(head.starts_with(&begin), "{about}: {head}");
                    let authorized = "proxy-authorization: basic dxmgzxi6d29yza==\r\n";
                    assert!(head.to_lowercase().contains(authorized), "{about}: {head}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_names_the_proxy_between() {
    let proxy = super::server::Server::closing().address;
    let http = format!("proxy = \"http://{proxy}\"");
    let came = run("http://127.0.0.1:9", &http, "users = 1, iterations = 1", "get = \"/\"").await;
    let said = came.message(ErrorKind::Reset);
    assert!(said.contains(&format!(", through the proxy {proxy}")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_that_is_not_opened_says_why() {
    for (answer, why) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "it refuses the user and the password of its URL (407)",
        ),
        ("HTTP/1.1 403 No\r\nx: y\r\n\r\n", "it opens no tunnel to the server: 403 No"),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "its answer to CONNECT is not HTTP"),
        ("HTTP/1.1 200 OK\r\n", "it closed the connection"),
    ] {
        let proxy = Proxy::answering(answer).await;
        let http = format!("version = \"2\", proxy = \"http://user:hunter2@{}\"", proxy.address);
        let came = run(
            "http://127.0.0.1:9",
            &http,
            "users = 1, iterations = 1",
            "get = \"/\"\ntimeout = \"5s\"",
        )
        .await;
        let said = came.message(ErrorKind::Connect);
        let expected = format!("the proxy {}: {why}", proxy.address);
        assert!(said.contains(&expected) && !said.contains("hunter2"), "{said}");
    }
}
