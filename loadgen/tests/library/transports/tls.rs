//! Tests TLS: handshakes that fail, records that are torn, and sessions that are resumed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use loadgen::engine::Finished;
use loadgen::measure::{Connections, Counts, ErrorKind};
use rcgen::{CertificateParams, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, split};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::server::{Server, Then};
use crate::common::engine::{finish, hold, plan};
use crate::common::tls::{Tls, config, front, front_with};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const INSECURE: &str = "tls = { insecure = true }";

/// Sends `/` over `http1` with these options of `[http]`, `times` times for each user.
async fn get(url: &str, http: &str, load: &str) -> (Counts, Connections) {
    let text = format!(
        "load = {{ {load} }}\nhttp = {{ {http} }}\n[[step]]\nget = \"/\"\ntimeout = \"2s\""
    );
    let (series, Finished { connections, .. }) = finish(plan(url, &text)).await;
    (hold(&series), *connections)
}

/// Sends one request that must fail, and returns the kind and the message of its error.
async fn fault(url: &str, http: &str) -> (ErrorKind, String) {
    let (counts, _) = get(url, http, "users = 1, iterations = 1").await;
    assert_eq!((counts.failures(), counts.answered.len()), (1, 0));
    counts.examples.into_iter().next().unwrap()
}

/// Starts a server that does `with` each connection.
async fn raw<F>(with: fn(TcpStream) -> F) -> String
where
    F: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(with(stream));
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handshake_names_its_reason() {
    let plain = |mut stream: TcpStream| async move {
        stream.read_u8().await?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await?;
        copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    };
    let closes = |mut stream: TcpStream| async move {
        stream.read_u8().await?;
        // Reads the rest, so that the end of the connection is no reset.
        let _ = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut [0; 4096])).await;
        Ok(())
    };
    let silent = |mut stream: TcpStream| async move {
        copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    };
    // A record of TLS (RFC 8446, section 5.1) that claims to be longer than any may be.
    let torn = |mut stream: TcpStream| async move {
        stream.write_all(b"\x16\x03\x03\xff\xff hello").await?;
        copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    };
    let (mut old, mut early) = (of_localhost(), of_localhost());
    old.not_after = date_time_ymd(2020, 1, 1);
    early.not_before = date_time_ymd(3000, 1, 1);
    let other = CertificateParams::new(["example.org".to_owned()]).unwrap();
    let nameless = CertificateParams::default();
    for (url, kind, message) in [
        (raw(plain).await, ErrorKind::Connect, "the server does not speak TLS"),
        (
            raw(closes).await,
            ErrorKind::Connect,
            "the server closed the connection during the TLS handshake",
        ),
        (raw(torn).await, ErrorKind::Connect, "the server sent a malformed TLS message"),
        (raw(silent).await, ErrorKind::Timeout, "no complete response within 2s"),
    ] {
        let (came, said) = fault(&url, INSECURE).await;
        assert_eq!((came, said.as_str()), (kind, message));
    }
    for (certificate, message) in [
        (old, "the server's certificate has expired"),
        (early, "the server's certificate is not valid yet"),
        (other, "the server's certificate is for another host name: it is for example.org"),
        (nameless, "the server's certificate names no host: it has no subject alternative name"),
    ] {
        let server = Tls::start_with(certificate, &["http/1.1"]).await;
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, &server.certificate).unwrap();
        let trusting = format!("tls = {{ ca = \"{}\" }}", ca.display());
        assert_eq!(fault(&server.url, &trusting).await, (ErrorKind::Connect, message.to_owned()));
        let (counts, _) = get(&server.url, INSECURE, "users = 1, iterations = 1").await;
        assert_eq!(counts.answered.len(), 1, "{message}: any certificate is accepted on request");
    }
}

fn of_localhost() -> CertificateParams {
    CertificateParams::new(["localhost".to_owned()]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_asked_for_in_place_of_the_host() {
    let certificate = CertificateParams::new(["example.org".to_owned()]).unwrap();
    let server = Tls::start_with(certificate, &["http/1.1"]).await;
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &server.certificate).unwrap();
    let named = format!("tls = {{ ca = \"{}\", server_name = \"example.org\" }}", ca.display());
    let (counts, _) = get(&server.url, &named, "users = 1, iterations = 3").await;
    assert_eq!((counts.answered.len(), counts.failures()), (3, 0), "{:?}", counts.examples);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_and_client_certificates_must_agree() {
    let server = Server::always(OK, || Then::Next);
    let roots = {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(of_localhost().self_signed(&key).unwrap().der().clone()).unwrap();
        Arc::new(roots)
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = || ServerConfig::builder_with_provider(provider.clone());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    let key = rcgen::KeyPair::generate().unwrap();
    let chain = vec![of_localhost().self_signed(&key).unwrap().der().clone()];
    let demanding = builder()
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(chain, key.serialize_der().try_into().unwrap())
        .unwrap();
    let url = front_with(server.address, demanding).await;
    for only in ["1.2", "1.3"] {
        let tls = format!("tls = {{ insecure = true, version = \"{only}\" }}");
        let (_, said) = fault(&url, &tls).await;
        let expected =
            "the server requires a certificate of the client: name `cert` and `key` in [http.tls]";
        assert_eq!(said, expected, "TLS {only}");
    }
    let url = front(server.address).await;
    for (only, suite) in [("1.2", "TLS 1.2, "), ("1.3", "TLS 1.3, ")] {
        let tls = format!("tls = {{ insecure = true, version = \"{only}\" }}");
        let (counts, connections) = get(&url, &tls, "users = 2, iterations = 6").await;
        assert_eq!(counts.answered.len(), 6);
        let suites: Vec<&String> = connections.tls_suites.keys().collect();
        assert!(suites.len() == 1 && suites[0].starts_with(suite), "{suites:?}");
    }
}

/// Passes bytes to a TLS front until the handshake is over, and then changes one byte of each record.
async fn tearing(front: SocketAddr) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = split(client);
                let (mut from_server, mut to_server) = split(TcpStream::connect(front).await?);
                tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
                loop {
                    let mut header = [0; 5];
                    from_server.read_exact(&mut header).await?;
                    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
                    let mut record = vec![0; length];
                    from_server.read_exact(&mut record).await?;
                    // The answer is the only record of this length with application data.
                    if header[0] == 23 && length == OK.len() + 17 {
                        record[3] ^= 1;
                    }
                    to_client.write_all(&[&header[..], &record].concat()).await?;
                }
                #[expect(unreachable_code, reason = "names the type of the errors")]
                std::io::Result::Ok(())
            });
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_record_is_a_protocol_error() {
    let server = Server::always(OK, || Then::Next);
    let front = front(server.address).await;
    let front = front.trim_start_matches("https://").parse().unwrap();
    let (kind, said) = fault(&tearing(front).await, INSECURE).await;
    assert_eq!(
        (kind, said.as_str()),
        (ErrorKind::Protocol, "the server sent a malformed TLS message")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn users_resume_only_their_own_sessions() {
    let server = Server::always(OK, || Then::Next);
    let url = front_with(server.address, config(of_localhost(), &["http/1.1"]).0).await;
    for (resumption, version, resumed) in
        [(true, "1.3", 21), (true, "1.2", 21), (false, "1.3", 0), (false, "1.2", 0)]
    {
        let http = format!(
            "connection = \"per-request\", tls = {{ insecure = true, version = \"{version}\", \
             resumption = {resumption} }}"
        );
        let (counts, connections) = get(&url, &http, "users = 3, iterations_per_user = 8").await;
        assert_eq!((counts.answered.len(), counts.failures()), (24, 0), "{:?}", counts.examples);
        // The first connection of each user has no session to resume.
        let came = (connections.opened, connections.tls_resumed);
        assert_eq!(came, (24, resumed), "TLS {version}");
        let times = [&connections.connect_histogram, &connections.tls_histogram];
        assert_eq!(times.map(|it| it.latencies().len()), [24, 24]);
    }
    let requests = server.requests();
    assert!(requests.iter().all(|it| it.headers.contains(&("connection".into(), "close".into()))));
}
