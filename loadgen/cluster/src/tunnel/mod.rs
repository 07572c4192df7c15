//! Provides TLS between the manager and its workers: a tunnel for each worker, which carries
//! Zenoh's connection. Zenoh itself connects and listens at Unix sockets that no other user can
//! reach ([`link`](super::link)).
//!
//! Zenoh has its own TLS, but reads and writes one rustls connection from two threads without a
//! lock (eclipse-zenoh/zenoh#2557, open in 1.10): about one link in twenty breaks with "handshake
//! not complete", and memory is not safe. Here one thread at a time uses a connection.
//!
//! Both sides present a certificate of the manager's authority and trust no other: TLS
//! 1.3 (RFC 8446). The certificate decides who may speak at all. Zenoh identifies the
//! speaking worker by its password.

mod accept;
mod connect;
mod listener;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub(super) use accept::accept;
pub use connect::{TunnelError, connect};
pub(super) use listener::listen;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{RootCertStore, SupportedProtocolVersion, version};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::authority::Identity;
use super::error::ClusterError;

/// Allowed versions of TLS: only TLS 1.3.
const VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13];
/// First byte that the manager sends, which tells a worker that the manager admits the worker. The
/// TLS handshake can't tell: on the worker's side the handshake is over before the manager checks
/// the worker's certificate (RFC 8446, appendix E.1.2).
const WELCOME: u8 = b'+';
/// Time for which one direction of a connection may continue when the other direction has ended.
const LINGER: Duration = Duration::from_secs(1);

/// A TLS tunnel between manager and worker, which carries bytes as long as this value exists.
pub struct Tunnel(Tasks);

/// Background tasks of a tunnel, which end together.
#[derive(Clone, Default)]
struct Tasks {
    end: CancellationToken,
    tracker: TaskTracker,
}

impl Tasks {
    /// Runs a task until the task is done or the tunnel ends.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.clone();
        self.tracker.spawn(async move {
            let _ = end.run_until_cancelled(task).await;
        });
    }
}

impl Tunnel {
    /// Ends the tunnel, and waits until its sockets are closed.
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

/// Forwards bytes between `a` and `b` in both directions. When one direction has ended, the other
/// direction may continue for at most `LINGER`.
async fn carry<A, B>(a: A, b: B)
where
    A: AsyncRead + AsyncWrite,
    B: AsyncRead + AsyncWrite,
{
    let ((from_a, to_a), (from_b, to_b)) = (split(a), split(b));
    let (up, down) = (pass(from_a, to_b), pass(from_b, to_a));
    tokio::pin!(up, down);
    // Let the other direction finish: a socket that is closed with unread data discards the data
    // that it has sent (RFC 1122, section 4.2.2.13).
    tokio::select! {
        () = &mut up => drop(tokio::time::timeout(LINGER, down).await),
        () = &mut down => drop(tokio::time::timeout(LINGER, up).await),
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    // Errors need no handling: the direction has ended, and the other side is told.
    let _ = copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Returns the cryptography provider of the library AWS-LC. Avoids the process's default
/// provider, which other libraries set.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Returns the trusted root certificates: only the certificate of the identity's authority.
fn believed(identity: &Identity) -> Result<Arc<RootCertStore>, ClusterError> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(identity.authority.as_bytes());
    roots.add(authority.map_err(unusable)?).map_err(unusable)?;
    Ok(Arc::new(roots))
}

/// Returns the certificate to present in the TLS handshake, and the certificate's private key.
fn shown(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ClusterError> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    Ok((vec![certificate.map_err(unusable)?], key.map_err(unusable)?))
}

/// Converts an error about a certificate or a key. None of these
/// errors contains any part of the key.
fn unusable(error: impl std::fmt::Display) -> ClusterError {
    ClusterError::Join(format!("its certificates are invalid: {error}"))
}
