//! A worker's end.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error};

use super::{Tasks, Tunnel, VERSIONS, WELCOME, believed, carry, provider, shown, unusable};
use crate::cluster::authority::Identity;
use crate::cluster::error::ClusterError;
use crate::cluster::join::host;

/// Between two attempts, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Why there is no tunnel.
#[derive(Debug)]
pub enum Refusal {
    /// Nobody was there in time; what came of the last attempt.
    Silence(String),
    /// Who listens there is not the manager; why.
    NotTheManager(String),
    /// The manager did not let this worker in.
    NotLetIn,
    /// Nothing could be tried.
    Failed(ClusterError),
}

/// Waits until the manager at `address`, `HOST:PORT`, lets this worker in, or until the deadline. Gives the
/// address on the loopback interface behind which the manager is, for one connection.
///
/// # Errors
/// When nobody was there in time, and as soon as somebody is there who is not the right one.
pub async fn connect(
    address: &str,
    identity: &Identity,
    deadline: Instant,
) -> Result<(Tunnel, SocketAddr), Refusal> {
    let (connector, name) = connector(address, identity).map_err(Refusal::Failed)?;
    let manager = knock(address, &connector, &name, deadline).await?;
    let failed = |error| Refusal::Failed(ClusterError::bus(error));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let here = listener.local_addr().map_err(failed)?;
    let tasks = Tasks::default();
    tasks.spawn(async move {
        let Ok(Ok((inner, _))) = timeout_at(deadline, listener.accept()).await else { return };
        drop(listener);
        let _ = inner.set_nodelay(true);
        carry(inner, manager).await;
    });
    Ok((Tunnel(tasks), here))
}

fn connector(
    address: &str,
    identity: &Identity,
) -> Result<(TlsConnector, ServerName<'static>), ClusterError> {
    let (certificate, key) = shown(identity)?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(unusable)?
        .with_root_certificates(believed(identity)?)
        .with_client_auth_cert(certificate, key)
        .map_err(unusable)?;
    let name = ServerName::try_from(host(address).to_owned())
        .map_err(|error| ClusterError::Join(format!("its address {address}: {error}")))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// Tries until somebody answers.
async fn knock(
    address: &str,
    connector: &TlsConnector,
    name: &ServerName<'static>,
    deadline: Instant,
) -> Result<TlsStream<TcpStream>, Refusal> {
    let (mut pause, longest) = PAUSE;
    let mut last = "it does not answer".to_owned();
    loop {
        match timeout_at(deadline, try_once(address, connector, name.clone())).await {
            Ok(Ok(manager)) => return Ok(manager),
            Ok(Err(error)) => last = transient(error)?,
            Err(_) => return Err(Refusal::Silence(last)),
        }
        if Instant::now() + pause > deadline {
            return Err(Refusal::Silence(last));
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn try_once(
    address: &str,
    connector: &TlsConnector,
    name: ServerName<'static>,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut manager = connector.connect(name, stream).await?;
    match manager.read_u8().await? {
        WELCOME => Ok(manager),
        other => Err(io::Error::other(format!("it began with the byte {other}"))),
    }
}

/// What is said of an error that may pass; of one that won't, an error.
fn transient(error: io::Error) -> Result<String, Refusal> {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(_)) => Err(Refusal::NotLetIn),
        Some(error) => Err(Refusal::NotTheManager(error.to_string())),
        None => Ok(error.to_string()),
    }
}
