//! Checks the health of targets.

use std::path::PathBuf;

use tokio::net::UnixStream;

use super::grpc_health::serves;
use super::probe::Probe;
use crate::lab::error::LabError;
use crate::lab::manifest::Ready;
use crate::lab::service::listener::{NOT_ACCEPTED, listens};

/// Probe of a target.
#[derive(Debug, Clone)]
pub enum HealthCheck {
    /// `GET` of this path must be answered with a 2xx status.
    Http(HealthClients, String),
    /// The health service of gRPC must report that the server serves.
    Grpc(HealthClients),
    /// A connection must be accepted: the weakest check. On the socket at this path, or on a port.
    Listens(Option<PathBuf>),
}

impl HealthCheck {
    /// Creates a probe that checks a target of the lab.
    pub fn of_lab() -> Result<Self, LabError> {
        Ok(Self::Http(HealthClients::new(None)?, "/health".to_owned()))
    }

    /// Creates a probe that checks a target as the manifest says. The target listens where the clients lead.
    pub(in crate::lab) fn of(clients: &HealthClients, ready: &Ready) -> Self {
        match ready {
            Ready::Path(path) => Self::Http(clients.clone(), path.clone()),
            Ready::Grpc => Self::Grpc(clients.clone()),
            Ready::Listens => Self::Listens(clients.socket.clone()),
        }
    }
}

impl Probe for HealthCheck {
    async fn check(&self, port: u16) -> Result<(), String> {
        match self {
            Self::Http(clients, path) => healthy(&clients.http1, &clients.origin(port), path).await,
            Self::Grpc(clients) => serves(&clients.http2, &clients.origin(port)).await,
            Self::Listens(None) => listens(port).await,
            Self::Listens(Some(socket)) => {
                let connected = UnixStream::connect(socket).await;
                connected.map(drop).map_err(|_| NOT_ACCEPTED.to_owned())
            }
        }
    }
}

/// Clients for the targets' health checks. They use no proxy: targets are on loopback.
#[derive(Debug, Clone)]
pub struct HealthClients {
    /// Client that speaks HTTP/1.1.
    pub http1: reqwest::Client,
    /// Client that speaks HTTP/2 in the clear, without an upgrade, as gRPC does.
    http2: reqwest::Client,
    /// Path of the socket to which all requests go; `None` for the port of each request.
    socket: Option<PathBuf>,
}

impl HealthClients {
    /// Creates the clients for the server at this socket; `None` for servers on ports.
    pub(in crate::lab) fn new(socket: Option<PathBuf>) -> Result<Self, LabError> {
        // Keeps no connection open: a server waits for open connections when it is stopped.
        let builder = || {
            let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
            socket.iter().fold(builder, |builder, socket| builder.unix_socket(socket.as_path()))
        };
        let built = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| LabError::Io {
                what: "create an HTTP client".to_owned(),
                source: std::io::Error::other(error),
            })
        };
        let (http1, http2) = (built(builder())?, built(builder().http2_prior_knowledge())?);
        Ok(Self { http1, http2, socket })
    }

    /// Scheme, host and port that requests name. Over a socket as those of the load: a server may answer no other.
    fn origin(&self, port: u16) -> String {
        match &self.socket {
            None => format!("http://127.0.0.1:{port}"),
            Some(_) => "http://localhost".to_owned(),
        }
    }
}

async fn healthy(client: &reqwest::Client, origin: &str, path: &str) -> Result<(), String> {
    let answer = client.get(format!("{origin}{path}")).send().await;
    match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("answered GET {path} with {}", answer.status())),
        Err(error) if error.is_connect() => Err(NOT_ACCEPTED.to_owned()),
        Err(_) => Err(format!("did not answer GET {path} as HTTP")),
    }
}
