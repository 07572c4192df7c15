//! TLS between the manager and its workers: a tunnel for each worker, in which Zenoh's connection runs.
//! Zenoh itself speaks and listens at Unix sockets that no other user can reach ([`link`](super::link)).
//!
//! Zenoh has TLS of its own, but reads and writes one connection of rustls from two threads without a
//! lock (eclipse-zenoh/zenoh#2557, open in 1.10): some one link in twenty breaks with "handshake not
//! complete", and memory is not safe. Here one thread at a time has it.
//!
//! Both sides show a certificate of the manager's authority and believe no other: TLS 1.3 (RFC 8446).
//! That is who may speak at all; which worker it is that speaks, Zenoh knows by its password.

mod accept;
mod connect;
mod listener;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use accept::accept;
pub use connect::{TunnelError, connect};
pub use listener::listen;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{RootCertStore, SupportedProtocolVersion, version};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::authority::Identity;
use super::error::ClusterError;

/// Older versions are not spoken.
const VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13];
/// What the manager says first: that it has let a worker in. A worker can't tell otherwise, since its
/// handshake is over before the manager looks at its certificate (RFC 8446, appendix E.1.2).
const WELCOME: u8 = b'+';
/// How long the other direction may go on when one has ended.
const LINGER: Duration = Duration::from_secs(1);

/// What carries bytes for as long as this value is there.
pub struct Tunnel(Tasks);

/// Its tasks.
#[derive(Clone, Default)]
struct Tasks {
    end: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// Runs one more until it is done or the tunnel ends.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.clone();
        self.tracker.spawn(async move {
            let _ = end.run_until_cancelled(task).await;
        });
    }
}

impl Tunnel {
    /// Ends it, and waits until its sockets are closed.
    pub async fn close(&self) {
        let Self(tasks) = self;
        tasks.end.cancel();
        tasks.tracker.close();
        tasks.tracker.wait().await;
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.0.end.cancel();
    }
}

/// Passes on what both say until one of them has ended.
async fn carry<A, B>(a: A, b: B)
where
    A: AsyncRead + AsyncWrite,
    B: AsyncRead + AsyncWrite,
{
    let ((from_a, to_a), (from_b, to_b)) = (split(a), split(b));
    let (up, down) = (pass(from_a, to_b), pass(from_b, to_a));
    tokio::pin!(up, down);
    // Not at once: what is still to be read when a socket is closed takes away what was sent (RFC 1122,
    // section 4.2.2.13).
    tokio::select! {
        () = &mut up => drop(tokio::time::timeout(LINGER, down).await),
        () = &mut down => drop(tokio::time::timeout(LINGER, up).await),
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    // However it ended, it has ended; the other side is told.
    let _ = copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Not the process's default, which other libraries set.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The one authority that is believed.
fn believed(identity: &Identity) -> Result<Arc<RootCertStore>, ClusterError> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(identity.authority.as_bytes());
    roots.add(authority.map_err(unusable)?).map_err(unusable)?;
    Ok(Arc::new(roots))
}

/// The certificate that is shown, and its key.
fn shown(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ClusterError> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    Ok((vec![certificate.map_err(unusable)?], key.map_err(unusable)?))
}

/// None of these errors has anything of the key in it.
fn unusable(error: impl std::fmt::Display) -> ClusterError {
    ClusterError::Join(format!("its certificates: {error}"))
}
