//! Checks the health of targets.

use super::grpc_health::serves;
use super::probe::Probe;
use crate::lab::error::LabError;
use crate::lab::manifest::Ready;
use crate::lab::service::listener::listens;

/// Probe of a target.
#[derive(Debug, Clone)]
pub enum HealthCheck {
    /// `GET` of this path must be answered with a 2xx status.
    Http(reqwest::Client, String),
    /// The health service of gRPC must report that the server serves.
    Grpc(reqwest::Client),
    /// A connection must be accepted: the weakest check.
    Listens,
}

impl HealthCheck {
    /// Creates a probe that checks a target of the lab.
    pub fn of_lab() -> Result<Self, LabError> {
        Ok(Self::Http(HealthClients::new()?.http1, "/health".to_owned()))
    }

    /// Creates a probe that checks a target as the manifest says.
    pub(in crate::lab) fn of(clients: &HealthClients, ready: &Ready) -> Self {
        match ready {
            Ready::Path(path) => Self::Http(clients.http1.clone(), path.clone()),
            Ready::Grpc => Self::Grpc(clients.http2.clone()),
            Ready::Listens => Self::Listens,
        }
    }
}

impl Probe for HealthCheck {
    async fn check(&self, port: u16) -> Result<(), String> {
        match self {
            Self::Http(client, path) => healthy(client, port, path).await,
            Self::Grpc(client) => serves(client, port).await,
            Self::Listens => listens(port).await,
        }
    }
}

/// Clients for the targets' health checks. They use no proxy: targets are on loopback.
#[derive(Debug, Clone)]
pub(in crate::lab) struct HealthClients {
    /// Client that speaks HTTP/1.1.
    pub http1: reqwest::Client,
    /// Client that speaks HTTP/2 in the clear, without an upgrade, as gRPC does.
    http2: reqwest::Client,
}

impl HealthClients {
    pub(in crate::lab) fn new() -> Result<Self, LabError> {
        // Keeps no connection open: a server waits for open connections when it is stopped.
        let builder = || reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
        let built = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| LabError::Io {
                what: "create an HTTP client".to_owned(),
                source: std::io::Error::other(error),
            })
        };
        Ok(Self { http1: built(builder())?, http2: built(builder().http2_prior_knowledge())? })
    }
}

async fn healthy(client: &reqwest::Client, port: u16, path: &str) -> Result<(), String> {
    let answer = client.get(format!("http://127.0.0.1:{port}{path}")).send().await;
    match answer {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("answered GET {path} with {}", answer.status())),
        Err(error) if error.is_connect() => Err("did not accept a connection".to_owned()),
        Err(_) => Err(format!("did not answer GET {path} as HTTP")),
    }
}
