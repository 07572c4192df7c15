//! Implements a worker's end of the network.

use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::query::Query;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use super::{CLOSE_LIMIT, ask, blocking, close, config, encode_within_limit, payload, reply};
use crate::challenge::Challenge;
use crate::encoding::{decode, encode};
use crate::error::ClusterError;
use crate::join::Join;
use crate::lease::LEASE;
use crate::link::Handle;
use crate::messages::{Admission, Answer, Command, Hello, Report};
use crate::settings;
use crate::tunnel::{self, Tunnel, TunnelError};

/// Number of sent reports that a worker retains, for a manager that missed some reports. A worker
/// can't send more reports before the connection's lease expires.
const KEPT: usize = 64;
/// Time after a report at which the worker repeats the report's number, so that the
/// manager notices the loss of a last report. The manager notices the loss of any other
/// report by the next report, a second later.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// A worker's network connection to its manager.
pub struct WorkerBus {
    session: Session,
    worker: u32,
    publisher: AdvancedPublisher<'static>,
    _alive: LivelinessToken,
    /// Open handle of the Unix socket that the session uses. If the handle were closed, the
    /// socket's path could lead to another socket.
    _socket: Handle,
    /// TLS tunnel to a manager on another host; `None` if the manager is on this host.
    _tunnel: Option<Tunnel>,
}

/// A command of the manager that the worker has not answered yet.
pub struct Request {
    /// Command of the manager.
    pub command: Command,
    query: Query,
}

impl WorkerBus {
    /// Joins the manager that the join document `join` names, within `limit`; the manager may start
    /// later than the worker. Sends `hello` first, and accepts commands as soon as the manager has
    /// proved its identity. Cancels `gone` when the manager is lost later.
    pub async fn join(
        join: &Join,
        hello: &Hello,
        limit: Duration,
        gone: &CancellationToken,
    ) -> Result<(Self, UnboundedReceiver<Request>), ClusterError> {
        let deadline = Instant::now() + limit;
        let (tunnel, socket) = way(join, limit, deadline).await?;
        // A tunnel is for one connection, so there is one attempt only. The manager's own socket
        // may be busy, so the session tries until the deadline.
        let left = if tunnel.is_some() { Duration::ZERO } else { deadline - Instant::now() };
        let opening = open_aside(config(&settings::worker(join, socket.path(), left))?)?;
        let deadline = deadline + CLOSE_LIMIT;
        let session = match tokio::time::timeout_at(deadline, opening).await {
            Ok(Ok(Ok(session))) => session,
            // Zenoh does not distinguish a wrong password from a manager
            // that goes away during the attempt.
            Ok(_) => return Err(turned_away(join)),
            Err(_) => return Err(unreachable(join, limit, "the manager does not answer")),
        };
        let (requests, received) = mpsc::unbounded_channel();
        let run = &join.run;
        let alive = format!("loadgen/{run}/manager/alive");
        watch_manager(&session, &alive, deadline, gone)
            .await
            .map_err(|_| unreachable(join, limit, "the manager left"))?;
        let mine = format!("loadgen/{run}/worker/{}", join.worker);
        greet(&session, &format!("{mine}/hello"), join, hello).await?;
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
            .sample_miss_detection(MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT))
            .publisher_detection()
            .await
            .map_err(ClusterError::bus)?;
        let token = session.liveliness().declare_token(format!("{mine}/alive"));
        let _alive = token.await.map_err(ClusterError::bus)?;
        let (worker, _socket, _tunnel) = (join.worker, socket, tunnel);
        Ok((Self { session, worker, publisher, _alive, _socket, _tunnel }, received))
    }

    /// Number of this worker, from 0.
    #[must_use]
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Sends a report to the manager. Blocks for seconds if the network does, so never call this
    /// function from the task of a simulated user.
    pub async fn publish(&self, report: &Report) -> Result<(), ClusterError> {
        let bytes = encode_within_limit(report)?;
        blocking(|| self.publisher.put(bytes).wait()).map_err(ClusterError::bus)
    }

    /// Closes the session within a second.
    pub async fn close(&self) {
        close(&self.session).await;
    }
}

impl Request {
    /// Answers the command. Ignores errors, since the manager may be gone.
    pub async fn answer(self, answer: &Answer) {
        if let Ok(bytes) = encode(answer) {
            let _ = self.query.reply(self.query.key_expr(), bytes).await;
        }
    }
}

/// Returns the Unix socket through which to reach the manager. If the manager is on another host,
/// opens a tunnel behind the socket, and returns the tunnel, too.
async fn way(
    join: &Join,
    limit: Duration,
    deadline: Instant,
) -> Result<(Option<Tunnel>, Handle), ClusterError> {
    let Some(identity) = &join.identity else {
        let socket = Handle::of_socket(Path::new(&join.address));
        return Ok((None, socket.map_err(|error| unreachable(join, limit, error.to_string()))?));
    };
    let connected = tunnel::connect(&join.address, identity, deadline).await;
    let (tunnel, socket) = connected.map_err(|refusal| match refusal {
        TunnelError::Silence(why) => unreachable(join, limit, why),
        TunnelError::NotTheManager(why) => not_the_manager(join, why),
        TunnelError::NotLetIn => {
            ClusterError::NotLetIn { address: join.address.clone(), user: join.user() }
        }
        TunnelError::Failed(error) => error,
    })?;
    Ok((Some(tunnel), socket))
}

/// Sends the worker's first message, and checks that the manager admits the worker. Accepts an
/// answer only with a valid proof that the manager knows the worker's password.
async fn greet(
    session: &Session,
    key: &str,
    join: &Join,
    hello: &Hello,
) -> Result<(), ClusterError> {
    let challenge = Challenge::new()?;
    let answer = ask(session, key, "the manager", hello, Some(&challenge), LEASE).await?;
    let (bytes, proof) = (answer.payload().to_bytes(), answer.attachment());
    let proof = proof.map(|proof| proof.to_bytes()).unwrap_or_default();
    if !challenge.is_met(&join.password, &bytes, &proof) {
        let why = format!("it does not know the password of {}", join.user());
        return Err(not_the_manager(join, why));
    }
    match decode(&bytes).map_err(ClusterError::Bus)? {
        Admission::Admitted => Ok(()),
        Admission::Occupied => Err(ClusterError::Occupied { address: join.address.clone() }),
        Admission::Refused { reason } => Err(ClusterError::Refused {
            who: "the manager".to_owned(),
            what: "this worker",
            reason,
        }),
    }
}

fn unreachable(join: &Join, limit: Duration, why: impl Into<String>) -> ClusterError {
    ClusterError::Unreachable { address: join.address.clone(), limit, why: why.into() }
}

fn not_the_manager(join: &Join, why: String) -> ClusterError {
    ClusterError::NotTheManager { address: join.address.clone(), why }
}

fn turned_away(join: &Join) -> ClusterError {
    ClusterError::TurnedAway { address: join.address.clone(), user: join.user() }
}

/// Opens a network session in a separate thread, because Zenoh blocks until the session is
/// open. No time limit in this process could end the blocked call, and in a Tokio task the call
/// would delay the end of the process.
fn open_aside(config: Config) -> Result<oneshot::Receiver<zenoh::Result<Session>>, ClusterError> {
    let (session, opened) = oneshot::channel();
    std::thread::Builder::new()
        .name("join".to_owned())
        .spawn(move || session.send(zenoh::open(config).wait()))
        .map_err(ClusterError::bus)?;
    Ok(opened)
}

/// Waits until the manager is alive, at most until the deadline. Cancels `gone` when
/// the manager ends or is lost later.
async fn watch_manager(
    session: &Session,
    alive: &str,
    deadline: Instant,
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

fn receive_command(query: Query, requests: &UnboundedSender<Request>) {
    match payload(&query) {
        Ok(command) => {
            let _ = requests.send(Request { command, query });
        }
        Err(reason) => reply(&query, &Answer::Refused { reason }),
    }
}
