//! Implements the manager's end of the tunnel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::listener::Listeners;
use super::{Tasks, Tunnel, VERSIONS, WELCOME, believed, carry, provider, shown, unusable};
use crate::authority::Identity;
use crate::error::ClusterError;
use crate::link::Handle;

/// Time limit for a peer to complete the TLS handshake with a valid certificate.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of TLS handshakes at the same time. A further handshake cancels the oldest
/// handshake. A worker's handshake takes milliseconds, so slow peers do not keep workers out,
/// however many slow peers there are.
const MOST_HANDSHAKES: usize = 1_000;
/// Pause before the next attempt to accept a connection after the
/// system lacked the resources for one.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts TLS connections from peers that present a certificate of the manager's authority, and
/// forwards the peers' bytes to the Unix socket `inner`.
///
/// # Errors
/// If the certificates or the key in `identity` are not valid.
pub(crate) fn accept(
    listeners: impl Into<Listeners>,
    identity: &Identity,
    inner: Arc<Handle>,
) -> Result<Tunnel, ClusterError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(believed(identity)?, provider());
    let (certificate, key) = shown(identity)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(VERSIONS)
        .map_err(unusable)?
        .with_client_cert_verifier(verifier.build().map_err(unusable)?)
        .with_single_cert(certificate, key)
        .map_err(unusable)?;
    let (tasks, acceptor) = (Tasks::default(), TlsAcceptor::from(Arc::new(config)));
    tasks.spawn(accept_all(listeners.into(), acceptor, inner, tasks.clone()));
    Ok(Tunnel(tasks))
}

async fn accept_all(listener: Listeners, acceptor: TlsAcceptor, inner: Arc<Handle>, tasks: Tasks) {
    let mut newest = VecDeque::new();
    loop {
        let Ok((stranger, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if newest.len() == MOST_HANDSHAKES
            && let Some(oldest) = newest.pop_front()
        {
            // Has no effect on an admitted peer.
            CancellationToken::cancel(&oldest);
        }
        let sent_away = CancellationToken::new();
        newest.push_back(sent_away.clone());
        let letting_in = tokio::time::timeout(
            HANDSHAKE_LIMIT,
            let_in(stranger, acceptor.clone(), inner.clone()),
        );
        tasks.spawn(async move {
            if let Some(Ok(Ok((worker, inner)))) = sent_away.run_until_cancelled(letting_in).await {
                carry(worker, inner).await;
            }
        });
    }
}

async fn let_in(
    stranger: TcpStream,
    acceptor: TlsAcceptor,
    inner: Arc<Handle>,
) -> io::Result<(TlsStream<TcpStream>, UnixStream)> {
    stranger.set_nodelay(true)?;
    let mut worker = acceptor.accept(stranger).await?;
    let inner = UnixStream::connect(inner.path()).await?;
    worker.write_all(&[WELCOME]).await?;
    worker.flush().await?;
    Ok((worker, inner))
}
