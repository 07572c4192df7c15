//! Implements a worker's end of the tunnel.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncReadExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error};

use super::{Tasks, Tunnel, VERSIONS, WELCOME, believed, carry, provider, shown, unusable};
use crate::address::host;
use crate::authority::Identity;
use crate::error::ClusterError;
use crate::link::{Handle, OwnListener};
use loadgen_engine::dial;

/// First and maximum pause between two attempts to connect. The pause doubles after each attempt.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Reason why a worker could not open a tunnel to its manager.
#[derive(Debug)]
pub enum TunnelError {
    /// No peer answered in time. The value is the outcome of the last attempt.
    Silence(String),
    /// The peer has not proved to be the manager. The value is the reason. Anyone may take the port
    /// of a manager that is away, so this error may pass.
    NotTheManager(String),
    /// The manager has proved its identity, and did not admit this worker.
    NotLetIn,
    /// The worker's join document, or a socket on the worker's host, can't be used.
    Failed(ClusterError),
}

/// Opens a TLS tunnel to the manager at `address` (`HOST:PORT`). Waits until the manager admits
/// this worker, or until the deadline. Returns the tunnel, and the local socket that leads through
/// the tunnel to the manager, for one connection of this process.
///
/// # Errors
/// If no peer answered in time, or as soon as a peer answers that is not the
/// manager or does not admit this worker.
pub async fn connect(
    address: &str,
    identity: &Identity,
    deadline: Instant,
) -> Result<(Tunnel, Handle), TunnelError> {
    let (connector, name) = connector(address, identity).map_err(TunnelError::Failed)?;
    let manager = knock(address, &connector, &name, deadline).await?;
    let (listener, handle) =
        OwnListener::new().map_err(|e| TunnelError::Failed(ClusterError::socket(&e)))?;
    let tasks = Tasks::default();
    tasks.spawn(async move {
        let Ok(Ok((inner, _hidden))) = timeout_at(deadline, listener.accept()).await else {
            return;
        };
        carry(inner, manager).await;
    });
    Ok((Tunnel(tasks), handle))
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
    let name = ServerName::try_from(host(address).to_owned()).map_err(|error| {
        ClusterError::Join(format!("its address {address} is invalid: {error}"))
    })?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// Tries to connect to the manager until a peer answers or the deadline passes.
async fn knock(
    address: &str,
    connector: &TlsConnector,
    name: &ServerName<'static>,
    deadline: Instant,
) -> Result<TlsStream<TcpStream>, TunnelError> {
    let (mut pause, longest) = PAUSE;
    let mut last = "the manager does not answer".to_owned();
    loop {
        match timeout_at(deadline, try_once(address, connector, name.clone())).await {
            Ok(Ok(manager)) => return Ok(manager),
            Ok(Err(TunnelError::Silence(why))) => last = why,
            Ok(Err(refusal)) => return Err(refusal),
            Err(_) => return Err(TunnelError::Silence(last)),
        }
        if Instant::now() + pause > deadline {
            return Err(TunnelError::Silence(last));
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn try_once(
    address: &str,
    connector: &TlsConnector,
    name: ServerName<'static>,
) -> Result<TlsStream<TcpStream>, TunnelError> {
    let silence = |error: io::Error| TunnelError::Silence(error.to_string());
    let addresses = lookup_host(address).await.map_err(silence)?.collect();
    let (stream, _) = dial(addresses, None, &|_, _| {}).await.map_err(silence)?;
    stream.set_nodelay(true).map_err(silence)?;
    // Until here anyone may be at the other end, and send anything.
    let mut manager =
        connector.connect(name, stream).await.map_err(|error| match of_tls(&error) {
            Some(why) => TunnelError::NotTheManager(why.to_string()),
            None => silence(error),
        })?;
    // From here on the peer is the manager: it has the key of its
    // certificate, and its bytes are authentic.
    match manager.read_u8().await {
        Ok(WELCOME) => Ok(manager),
        Ok(other) => Err(TunnelError::NotTheManager(format!("it began with the byte {other}"))),
        Err(error) => match of_tls(&error) {
            Some(Error::AlertReceived(_)) => Err(TunnelError::NotLetIn),
            // Somebody has altered the manager's bytes.
            Some(why) => Err(TunnelError::NotTheManager(why.to_string())),
            None => Err(silence(error)),
        },
    }
}

/// Returns the TLS error in an I/O error, if there is one.
fn of_tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}
