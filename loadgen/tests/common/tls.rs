//! Servers behind TLS with a self-signed certificate.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use axum::serve::Listener;
use rcgen::{CertificateParams, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// A server that answers `GET /` over TLS.
pub struct Tls {
    pub url: String,
    /// Certificate in PEM format, for `SSL_CERT_FILE`.
    pub certificate: String,
    accepted: Arc<AtomicUsize>,
    versions: Arc<Mutex<BTreeSet<String>>>,
}

impl Tls {
    /// Starts a server that offers these protocols in its handshake (ALPN), such as `h2`.
    pub async fn start(protocols: &[&str]) -> Self {
        Self::start_with(CertificateParams::new(["localhost".to_owned()]).unwrap(), protocols).await
    }

    /// Like `start`, with another certificate.
    pub async fn start_with(certificate: CertificateParams, protocols: &[&str]) -> Self {
        let (config, certificate) = config(certificate, protocols);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let (sender, streams) = mpsc::channel(64);
        tokio::spawn(accept(listener, config.into(), accepted.clone(), sender));
        let versions = Arc::new(Mutex::new(BTreeSet::new()));
        let seen = versions.clone();
        let answer = async move |request: Request| {
            seen.lock().unwrap().insert(format!("{:?}", request.version()));
            "hello"
        };
        let app = Router::new().route("/", get(answer));
        let listener = Accepted { streams, address };
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let url = format!("https://localhost:{}", address.port());
        Self { url, certificate, accepted, versions }
    }

    /// Returns the number of connections that the server has accepted.
    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Returns the HTTP versions of the requests so far.
    pub fn versions(&self) -> BTreeSet<String> {
        self.versions.lock().unwrap().clone()
    }
}

/// Returns the configuration of a server with this self-signed certificate, and the certificate in PEM
/// format.
pub fn config(certificate: CertificateParams, protocols: &[&str]) -> (ServerConfig, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate.der().clone()], private).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    (config, certificate.pem())
}

/// Starts a TLS front for the server at `address`, which passes bytes on unchanged, and returns its
/// URL. Where the server breaks off a connection, the front ends its own without a farewell.
pub async fn front(address: SocketAddr) -> String {
    front_with(address, config(CertificateParams::default(), &["http/1.1"]).0).await
}

/// Like `front`, with this configuration of TLS.
pub async fn front_with(address: SocketAddr, config: ServerConfig) -> String {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(address).await?;
                // Else each small piece waits for the acknowledgement of the one before.
                server.set_nodelay(true)?;
                client.set_nodelay(true)?;
                let mut client = acceptor.accept(client).await?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    url
}

/// Accepts connections, and does each connection's TLS handshake in a separate task.
async fn accept(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    accepted: Arc<AtomicUsize>,
    sender: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let acceptor = TlsAcceptor::from(config);
    while let Ok((stream, peer)) = listener.accept().await {
        accepted.fetch_add(1, Ordering::SeqCst);
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                let _ = sender.send((stream, peer)).await;
            }
        });
    }
}

/// Connections whose handshake is complete.
struct Accepted {
    streams: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl Listener for Accepted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.streams.recv().await {
            Some(stream) => stream,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
