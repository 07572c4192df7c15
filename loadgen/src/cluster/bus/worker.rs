//! A worker's end of the network.

use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::query::Query;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use super::{CLOSE_LIMIT, ask, blocking, close, config, encode_within_limit, payload, reply};
use crate::cluster::error::ClusterError;
use crate::cluster::join::Join;
use crate::cluster::messages::{Answer, Command, Hello, Report, encode};
use crate::cluster::settings::{self, LEASE};

/// How many reports a worker keeps for a manager that missed some: the lease ends before more.
const KEPT: usize = 64;
/// How often a worker tells the number of its last report, so that the loss of a last one shows.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// A worker's end.
pub struct WorkerBus {
    session: Session,
    worker: u32,
    publisher: AdvancedPublisher<'static>,
    _alive: LivelinessToken,
}

/// A command that waits for its answer.
pub struct Request {
    /// The command.
    pub command: Command,
    query: Query,
}

impl WorkerBus {
    /// Joins the manager of `join` within `limit`, which may not be there yet. `gone` is
    /// cancelled when the manager is lost later. Its first words are `hello`.
    pub async fn join(
        join: &Join,
        hello: &Hello,
        limit: Duration,
        gone: &CancellationToken,
    ) -> Result<(Self, UnboundedReceiver<Request>), ClusterError> {
        let deadline = tokio::time::Instant::now() + limit + CLOSE_LIMIT;
        // Zenoh doesn't tell a wrong password from a manager that isn't there: both are tried
        // again until the limit.
        let opening = open_aside(config(&settings::worker(join, limit))?)?;
        let session = match tokio::time::timeout(limit + CLOSE_LIMIT, opening).await {
            Ok(Ok(Ok(session))) => session,
            _ => return Err(no_session(join, limit).await),
        };
        let (requests, received) = mpsc::unbounded_channel();
        let run = &join.run;
        let alive = format!("loadgen/{run}/manager/alive");
        watch_manager(&session, &alive, deadline, gone)
            .await
            .map_err(|_| ClusterError::Unreachable { endpoint: join.endpoint.clone(), limit })?;
        let mine = format!("loadgen/{run}/worker/{}", join.worker);
        session
            .declare_queryable(format!("{mine}/command"))
            .callback(move |query| receive_command(query, &requests))
            .background()
            .await
            .map_err(ClusterError::bus)?;
        let publisher = session
            .declare_publisher(format!("{mine}/report"))
            .congestion_control(CongestionControl::Block)
            .cache(CacheConfig::default().max_samples(KEPT))
            .sample_miss_detection(MissDetectionConfig::default().heartbeat(HEARTBEAT))
            .publisher_detection()
            .await
            .map_err(ClusterError::bus)?;
        let key = format!("loadgen/{run}/manager/hello");
        ask(&session, &key, "the manager", "this worker", hello, LEASE).await?;
        let token = session.liveliness().declare_token(format!("{mine}/alive"));
        let _alive = token.await.map_err(ClusterError::bus)?;
        let bus = Self { session, worker: join.worker, publisher, _alive };
        Ok((bus, received))
    }

    /// The number of this worker.
    #[must_use]
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Sends a report. Waits for seconds when the network does, so never call it from a user's
    /// task.
    pub async fn publish(&self, report: &Report) -> Result<(), ClusterError> {
        let bytes = encode_within_limit(report)?;
        blocking(|| self.publisher.put(bytes).wait()).map_err(ClusterError::bus)
    }

    /// Leaves, and takes no longer than a second.
    pub async fn close(&self) {
        close(&self.session).await;
    }
}

impl Request {
    /// Answers the command. Whoever asked may have gone, so there is no error.
    pub async fn answer(self, answer: &Answer) {
        if let Ok(bytes) = encode(answer) {
            let _ = self.query.reply(self.query.key_expr(), bytes).await;
        }
    }
}

/// Opens a session in a thread of its own. Zenoh's future for it blocks until there is one: no
/// time limit of ours could end it, and a task of Tokio's would hold up the end of the process.
fn open_aside(config: Config) -> Result<oneshot::Receiver<zenoh::Result<Session>>, ClusterError> {
    let (session, opened) = oneshot::channel();
    std::thread::Builder::new()
        .name("join".to_owned())
        .spawn(move || session.send(zenoh::open(config).wait()))
        .map_err(ClusterError::bus)?;
    Ok(opened)
}

/// Waits until the manager is there, and cancels `gone` when it goes.
async fn watch_manager(
    session: &Session,
    alive: &str,
    deadline: tokio::time::Instant,
    gone: &CancellationToken,
) -> Result<(), ClusterError> {
    let (here, gone) = (CancellationToken::new(), gone.clone());
    let seen = here.clone();
    session
        .liveliness()
        .declare_subscriber(alive)
        .history(true)
        .callback(move |sample| match sample.kind() {
            SampleKind::Put => seen.cancel(),
            SampleKind::Delete => gone.cancel(),
        })
        .background()
        .await
        .map_err(ClusterError::bus)?;
    tokio::time::timeout_at(deadline, here.cancelled()).await.map_err(ClusterError::bus)
}

/// Zenoh says only that it gave up; whether anybody listens tells the reasons apart.
async fn no_session(join: &Join, limit: Duration) -> ClusterError {
    let endpoint = join.endpoint.clone();
    let address = endpoint.rsplit('/').next().unwrap_or_default().to_owned();
    let connecting = tokio::net::TcpStream::connect(address);
    match tokio::time::timeout(CLOSE_LIMIT, connecting).await {
        Ok(Ok(_)) => ClusterError::NotLetIn { endpoint, user: join.user() },
        Ok(Err(_)) | Err(_) => ClusterError::Unreachable { endpoint, limit },
    }
}

fn receive_command(query: Query, requests: &UnboundedSender<Request>) {
    match payload(&query) {
        Ok(command) => {
            let _ = requests.send(Request { command, query });
        }
        Err(reason) => reply(&query, &Answer::Refused { reason }),
    }
}
