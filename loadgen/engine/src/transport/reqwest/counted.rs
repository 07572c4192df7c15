//! Counts the connections that a client opens.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::task::yield_now;
use tower_layer::Layer;
use tower_service::Service;

use crate::transport::connections::Tally;

/// Number of turns that other tasks get before a client opens another connection. An answered request
/// gives its connection back to the client only after two other tasks ran, and the next request takes
/// it as soon as it is there: see `settle` in [`super`].
const TURNS: usize = 16;

/// Number of connections that one client has opened.
#[derive(Clone, Default)]
pub(super) struct Opened {
    count: Arc<AtomicU64>,
    /// Counts of the connections of all clients.
    tally: Arc<Tally>,
}

impl Opened {
    /// Creates a count of zero. Each new connection also counts
    /// in `tally`, the count of all clients.
    pub(super) fn new(tally: Arc<Tally>) -> Self {
        Self { count: Arc::default(), tally }
    }

    /// Number of connections so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn one_more(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.tally.one_more();
    }
}

/// Wraps a client's connector, to count the connections.
#[derive(Clone)]
pub(super) struct Counted(pub Opened);

impl<S> Layer<S> for Counted {
    type Service = Connector<S>;

    fn layer(&self, inner: S) -> Connector<S> {
        Connector { inner, opened: self.0.clone() }
    }
}

/// A connector that counts its connections.
#[derive(Clone)]
pub(super) struct Connector<S> {
    inner: S,
    opened: Opened,
}

impl<S, R> Service<R> for Connector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let (connecting, opened) = (self.inner.call(request), self.opened.clone());
        let turns = if opened.count() == 0 { 0 } else { TURNS };
        Box::pin(async move {
            for _ in 0..turns {
                yield_now().await;
            }
            connecting.await.inspect(|_| opened.one_more())
        })
    }
}
