//! The network: the only file that names Zenoh. Everything here is typed; bytes that are no
//! message of ours become an [`Event::Foreign`] or a refusal.
//!
//! Keys, where `RUN` is random and `I` a worker's number:
//!
//! | key | who declares it |
//! |---|---|
//! | `loadgen/RUN/manager/alive` | liveliness token of the manager |
//! | `loadgen/RUN/manager/hello` | the manager answers a [`Hello`] |
//! | `loadgen/RUN/worker/I/alive` | liveliness token of a worker: it has joined |
//! | `loadgen/RUN/worker/I/command` | a worker answers a [`Command`] |
//! | `loadgen/RUN/worker/I/report` | a worker publishes each [`Report`] |

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, Query};
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt, CacheConfig,
    HistoryConfig, MissDetectionConfig, RecoveryConfig,
};

use super::error::ClusterError;
use super::join::Join;
use super::messages::{Answer, Command, Hello, Report, check_version, decode, encode};
use super::settings::{self, LARGEST, LEASE};

/// How many reports a worker keeps for a manager that missed some: the lease ends before more.
const KEPT: usize = 64;
/// How often a worker tells the number of its last report, so that the loss of a last one shows.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How often a port is looked for; between the search and its use another program may take it.
const PORT_ATTEMPTS: usize = 10;
/// How long a session may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// What the manager hears from its workers, in the order in which it came.
#[derive(Debug)]
pub enum Event {
    /// A worker has joined.
    Joined(u32),
    /// A worker's link is gone, or it was silent for too long.
    Left(u32),
    /// A worker was refused.
    Refused {
        /// Its number.
        worker: u32,
        /// Why.
        reason: String,
    },
    /// A worker reports.
    Report(Report),
    /// Bytes that are no message of ours; a sentence about them.
    Foreign(String),
}

/// The manager's end.
#[derive(Clone)]
pub struct ManagerBus {
    session: Session,
    run: String,
    /// Tells workers that the manager is there, until it is dropped.
    _alive: Arc<LivelinessToken>,
}

impl ManagerBus {
    /// Listens on a free port of the loopback interface for the workers of `joins`, whose
    /// endpoints are filled in.
    pub async fn listen(
        run: &str,
        joins: &mut [Join],
    ) -> Result<(Self, UnboundedReceiver<Event>), ClusterError> {
        // 0600, and gone when this function returns: Zenoh reads it once, when it opens.
        let mut dictionary = tempfile::NamedTempFile::new().map_err(ClusterError::bus)?;
        for join in joins.iter() {
            writeln!(dictionary, "{}:{}", join.user, join.password).map_err(ClusterError::bus)?;
        }
        let mut attempts = 0;
        let (session, endpoint) = loop {
            let endpoint = format!("tcp/127.0.0.1:{}", free_port()?);
            match zenoh::open(config(&settings::manager(&endpoint, dictionary.path()))?).await {
                Ok(session) => break (session, endpoint),
                Err(e) if attempts >= PORT_ATTEMPTS => return Err(ClusterError::bus(e)),
                Err(_) => attempts += 1,
            }
        };
        for join in joins {
            join.endpoint.clone_from(&endpoint);
        }
        // Unbounded, since Zenoh's callbacks must not block; workers send some KiB a second, and
        // a round takes them at once.
        let (events, received) = mpsc::unbounded_channel();
        let alive = declare(&session, run, &events).await.map_err(ClusterError::bus)?;
        let bus = Self { session, run: run.to_owned(), _alive: Arc::new(alive) };
        Ok((bus, received))
    }

    /// Gives `worker` a command, and waits until it has obeyed.
    pub async fn command(
        &self,
        worker: u32,
        what: &'static str,
        command: &Command,
        limit: Duration,
    ) -> Result<(), ClusterError> {
        let key = format!("loadgen/{}/worker/{worker}/command", self.run);
        let who = format!("worker {worker}");
        ask(&self.session, &key, &who, what, command, limit).await
    }

    /// Leaves, and takes no longer than a second.
    pub async fn close(&self) {
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.session.close()).await;
    }
}

/// All that the manager listens to, and last, when it is ready, the token that says so.
async fn declare(
    session: &Session,
    run: &str,
    events: &UnboundedSender<Event>,
) -> zenoh::Result<LivelinessToken> {
    let (hellos, alive, reports) = (events.clone(), events.clone(), events.clone());
    session
        .declare_queryable(format!("loadgen/{run}/manager/hello"))
        .callback(move |query| answer_hello(&query, &hellos))
        .background()
        .await?;
    session
        .declare_subscriber(format!("loadgen/{run}/worker/*/report"))
        .callback(move |sample| send(&reports, report(&sample)))
        .advanced()
        .history(HistoryConfig::default().detect_late_publishers())
        .recovery(RecoveryConfig::default().heartbeat())
        .query_timeout(LEASE)
        .background()
        .await?;
    session
        .liveliness()
        .declare_subscriber(format!("loadgen/{run}/worker/*/alive"))
        .history(true)
        .callback(move |sample| send(&alive, presence(&sample)))
        .background()
        .await?;
    session.liveliness().declare_token(format!("loadgen/{run}/manager/alive")).await
}

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
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.session.close()).await;
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

/// Runs what may block. Zenoh's futures do all of their work when they are first polled, so that
/// awaiting one that sends would hold a thread of users for as long as the network is congested.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
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

/// Asks whoever answers at `key`.
async fn ask(
    session: &Session,
    key: &str,
    who: &str,
    what: &'static str,
    message: &impl Serialize,
    limit: Duration,
) -> Result<(), ClusterError> {
    let bytes = encode_within_limit(message)?;
    let query = session
        .get(key)
        .payload(bytes)
        .priority(Priority::InteractiveHigh)
        .express(true)
        .congestion_control(CongestionControl::Block)
        .consolidation(ConsolidationMode::None)
        .timeout(limit);
    let replies = blocking(|| query.wait()).map_err(ClusterError::bus)?;
    let silent = || ClusterError::Bus(format!("{who} did not answer"));
    let reply = tokio::time::timeout(limit, replies.recv_async())
        .await
        .map_err(|_| silent())?
        .map_err(|_| silent())?;
    let sample = reply.into_result().map_err(|_| silent())?;
    match decode(&sample.payload().to_bytes()).map_err(ClusterError::Bus)? {
        Answer::Done => Ok(()),
        Answer::Refused { reason } => {
            Err(ClusterError::Refused { who: who.to_owned(), what, reason })
        }
    }
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
        Ok(Ok(_)) => ClusterError::NotLetIn { endpoint, user: join.user.clone() },
        Ok(Err(_)) | Err(_) => ClusterError::Unreachable { endpoint, limit },
    }
}

fn encode_within_limit(message: &impl Serialize) -> Result<Vec<u8>, ClusterError> {
    let bytes = encode(message).map_err(ClusterError::Bus)?;
    // The rest is for what Zenoh adds.
    let limit = LARGEST - 4096;
    if bytes.len() > limit {
        return Err(ClusterError::TooLarge { bytes: bytes.len(), limit });
    }
    Ok(bytes)
}

/// The receiver is gone only when the cluster is being dropped: nobody wants the event then.
fn send(events: &UnboundedSender<Event>, event: Event) {
    let _ = events.send(event);
}

/// The worker's number in a key `loadgen/RUN/worker/I/…`.
fn worker_in(key: &str) -> Option<u32> {
    key.split('/').nth(3)?.parse().ok()
}

fn presence(sample: &Sample) -> Event {
    match (worker_in(sample.key_expr()), sample.kind()) {
        (Some(worker), SampleKind::Put) => Event::Joined(worker),
        (Some(worker), SampleKind::Delete) => Event::Left(worker),
        (None, _) => Event::Foreign(format!("no worker has the key {}", sample.key_expr())),
    }
}

fn report(sample: &Sample) -> Event {
    let key = sample.key_expr();
    match decode::<Report>(&sample.payload().to_bytes()) {
        Ok(report) if worker_in(key) == Some(report.worker) => Event::Report(report),
        Ok(report) => Event::Foreign(format!("{key} spoke for worker {}", report.worker)),
        Err(reason) => Event::Foreign(format!("{key}: {reason}")),
    }
}

fn answer_hello(query: &Query, events: &UnboundedSender<Event>) {
    let checked = payload::<Hello>(query).and_then(|hello| {
        check_version(hello.protocol, &hello.version).inspect_err(|reason| {
            send(events, Event::Refused { worker: hello.worker, reason: reason.clone() });
        })
    });
    if let Ok(bytes) = encode(&Answer::from(checked)) {
        let _ = query.reply(query.key_expr(), bytes).wait();
    }
}

fn receive_command(query: Query, requests: &UnboundedSender<Request>) {
    match payload(&query) {
        Ok(command) => {
            let _ = requests.send(Request { command, query });
        }
        Err(reason) => {
            if let Ok(bytes) = encode(&Answer::Refused { reason }) {
                let _ = query.reply(query.key_expr(), bytes).wait();
            }
        }
    }
}

fn payload<T: serde::de::DeserializeOwned>(query: &Query) -> Result<T, String> {
    decode(&query.payload().map(|p| p.to_bytes()).unwrap_or_default())
}

fn free_port() -> Result<u16, ClusterError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(ClusterError::bus)?;
    Ok(listener.local_addr().map_err(ClusterError::bus)?.port())
}

fn config(settings: &serde_json::Value) -> Result<Config, ClusterError> {
    Config::from_json5(&settings.to_string()).map_err(ClusterError::bus)
}
