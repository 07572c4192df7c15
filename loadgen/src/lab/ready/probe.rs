//! A check that tells whether a service is ready.

use std::time::Duration;

/// Timeout of a readiness probe. A target waits less time for its backends before the target
/// reports itself as unhealthy.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// Check that tells whether a service is ready.
pub trait Probe: Sync {
    /// Checks the service on `port` once, without a timeout. A missing or wrong answer is an error, as a
    /// phrase that follows "it", such as "did not accept a connection".
    fn check(&self, port: u16) -> impl Future<Output = Result<(), String>> + Send;

    /// Like [`check`](Self::check), with a timeout.
    fn ask(&self, port: u16) -> impl Future<Output = Result<(), String>> + Send {
        async move {
            tokio::time::timeout(PROBE_TIMEOUT, self.check(port))
                .await
                .unwrap_or_else(|_| Err(format!("did not answer within {PROBE_TIMEOUT:?}")))
        }
    }
}
