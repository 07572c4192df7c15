//! Implements the manager's end of the network.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use zenoh::liveliness::LivelinessToken;
use zenoh::query::Query;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Session, Wait};
use zenoh_ext::{AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use super::places::{Decision, Places};
use super::{ask, close, config, obeyed, payload};
use crate::authority::Identity;
use crate::challenge::Challenge;
use crate::encoding::encode;
use crate::error::ClusterError;
use crate::join::Join;
use crate::lease::LEASE;
use crate::link::{Folder, Hidden};
use crate::messages::{Admission, Command, Hello, Report, check_version, decode_report};
use crate::settings::{self, Admits};
use crate::tunnel::{self, Tunnel};

/// Event that the network reports to the manager. Events are reported in the order of arrival.
#[derive(Debug)]
pub(crate) enum Event {
    /// A worker sent a valid first message, and is admitted.
    Hello(Hello),
    /// The worker with this number has joined.
    Joined(u32),
    /// The connection of the worker with this number has ended, or
    /// the worker was silent for too long.
    Left(u32),
    /// A second process tried to join as the worker with this number, and was refused for now. Sent
    /// only at the first refusal since the other process was admitted.
    Occupied(u32),
    /// The manager refused to admit a worker.
    Refused {
        /// Number of the worker, from 0.
        worker: u32,
        /// Reason for the refusal.
        reason: String,
    },
    /// Report of a worker.
    Report(Report),
    /// Bytes arrived that are not a valid message. The value is a sentence about the error.
    Foreign(String),
}

/// Queue of events from the workers. Reports wait in encoded form: a decoded report takes a hundred
/// times the memory, and all workers report at the same moment.
pub(crate) struct Events(UnboundedReceiver<Heard>);

enum Heard {
    Event(Event),
    Report { key: String, bytes: Vec<u8> },
}

impl Events {
    /// Waits for the next event. Returns `None` when the network session is gone.
    pub(crate) async fn recv(&mut self) -> Option<Event> {
        self.0.recv().await.map(Event::from)
    }

    /// Returns the next event if an event has already arrived. Does not wait.
    pub(crate) fn try_recv(&mut self) -> Option<Event> {
        self.0.try_recv().ok().map(Event::from)
    }
}

impl From<Heard> for Event {
    fn from(heard: Heard) -> Self {
        let (key, bytes) = match heard {
            Heard::Event(event) => return event,
            Heard::Report { key, bytes } => (key, bytes),
        };
        match decode_report(&bytes) {
            Ok(report) if worker_in(&key) == Some(report.worker) => Self::Report(report),
            Ok(report) => Self::Foreign(format!("{key} reported for worker {}", report.worker)),
            Err(reason) => Self::Foreign(format!("{key}: {reason}")),
        }
    }
}

/// The manager's network connection to its workers.
#[derive(Clone)]
pub(crate) struct ManagerBus {
    session: Session,
    run: String,
    /// Liveliness token, which tells workers that the manager is alive until the token is dropped.
    _alive: Arc<LivelinessToken>,
    /// Addresses at which the manager listens for workers on other hosts; empty
    /// if all workers are on this host.
    pub addresses: Vec<SocketAddr>,
    /// TLS tunnel through which workers on other hosts connect;
    /// `None` if all workers are on this host.
    tunnel: Option<Arc<Tunnel>>,
    /// Keeps the socket at which the session listens. `None` if all workers are on this host: the
    /// caller then keeps the socket's folder.
    _hidden: Option<Arc<Hidden>>,
}

impl ManagerBus {
    /// Listens at a Unix socket for workers on this host, one for each join document in `joins`.
    /// Writes the socket's path into the documents. The workers must run as the same user, and can
    /// join as long as the returned folder exists.
    pub(crate) async fn listen_here(
        joins: &mut [Join],
    ) -> Result<(Self, Events, Folder), ClusterError> {
        let (bus, events, folder) = Self::open(joins).await?;
        for join in joins {
            join.address = folder.public_socket().display().to_string();
        }
        Ok((bus, events, folder))
    }

    /// Listens at `address` for workers on other hosts, one for each join document in `joins`.
    /// `identity` proves to the workers who the manager is.
    pub(crate) async fn listen(
        address: &str,
        identity: &Identity,
        joins: &[Join],
    ) -> Result<(Self, Events), ClusterError> {
        let listener = tunnel::listen(address).await.map_err(|e| ClusterError::Listen {
            address: address.to_owned(),
            why: e.to_string(),
        })?;
        let (mut bus, events, folder) = Self::open(joins).await?;
        let inner = folder.bound().map_err(|e| ClusterError::socket(&e))?;
        bus.addresses = listener.addresses();
        bus.tunnel = Some(Arc::new(tunnel::accept(listener, identity, Arc::new(inner))?));
        bus._hidden = Some(Arc::new(folder.hide()));
        Ok((bus, events))
    }

    /// Opens a network session that listens at a Unix socket in a new folder, for one worker
    /// for each join document in `joins`.
    async fn open(joins: &[Join]) -> Result<(Self, Events, Folder), ClusterError> {
        let folder = Folder::new().map_err(|e| ClusterError::socket(&e))?;
        // Zenoh reads the file once, when the session opens.
        let path = folder.path("passwords");
        write_passwords(&path, joins).map_err(|e| ClusterError::socket(&e))?;
        let run = joins.first().map_or("", |join| &join.run);
        let lease = lease(joins);
        let admits = Admits { run, workers: joins.len(), passwords: &path, lease };
        let opened = zenoh::open(config(&settings::manager(&folder.socket(), &admits))?).await;
        std::fs::remove_file(&path).map_err(|e| ClusterError::socket(&e))?;
        let (bus, events) = Self::serve(opened.map_err(ClusterError::bus)?, run, joins).await?;
        Ok((bus, events, folder))
    }

    async fn serve(
        session: Session,
        run: &str,
        joins: &[Join],
    ) -> Result<(Self, Events), ClusterError> {
        // Unbounded, since Zenoh's callbacks must not block. Workers send some KiB per second,
        // and a round takes events at once.
        let (events, received) = mpsc::unbounded_channel();
        let places = Mutex::new(Places::new(2 * lease(joins)));
        let reception = Reception { passwords: passwords(joins), places };
        let alive = declare(&session, run, Arc::new(reception), &events).await;
        let _alive = Arc::new(alive.map_err(ClusterError::bus)?);
        let (run, addresses) = (run.to_owned(), Vec::new());
        let bus = Self { session, run, _alive, addresses, tunnel: None, _hidden: None };
        Ok((bus, Events(received)))
    }

    /// Sends a command to the worker with the number `worker`, and waits at most `limit` until the
    /// worker has obeyed. `what` names the command in errors.
    pub(crate) async fn command(
        &self,
        worker: u32,
        what: &'static str,
        command: &Command,
        limit: Duration,
    ) -> Result<(), ClusterError> {
        let key = format!("loadgen/{}/worker/{worker}/command", self.run);
        let who = format!("worker {worker}");
        let answer = ask(&self.session, &key, &who, command, None, limit).await?;
        obeyed(&answer.payload().to_bytes(), &who, what)
    }

    /// Closes the network session, in at most a second, and then the tunnel to other hosts, if any.
    pub(crate) async fn close(&self) {
        close(&self.session).await;
        if let Some(tunnel) = &self.tunnel {
            tunnel.close().await;
        }
    }
}

/// Subscribes to the workers' messages and liveliness tokens. Then, when the manager is ready,
/// declares and returns the manager's own liveliness token.
async fn declare(
    session: &Session,
    run: &str,
    reception: Arc<Reception>,
    events: &UnboundedSender<Heard>,
) -> zenoh::Result<LivelinessToken> {
    let (hellos, alive, reports) = (events.clone(), events.clone(), events.clone());
    let present = reception.clone();
    session
        .declare_queryable(format!("loadgen/{run}/worker/*/hello"))
        .callback(move |query| reception.answer(&query, &hellos))
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
        .callback(move |sample| present.presence(&sample, &alive))
        .background()
        .await?;
    session.liveliness().declare_token(format!("loadgen/{run}/manager/alive")).await
}

/// Sends an event to the queue. Ignores an error: the receiver is gone only while the cluster is
/// being dropped, and the event is then not needed.
fn send(events: &UnboundedSender<Heard>, heard: Heard) {
    let _ = events.send(heard);
}

/// Returns the worker's number `I` in a key `loadgen/RUN/worker/I/…`; `None` for other keys.
fn worker_in(key: &str) -> Option<u32> {
    key.split('/').nth(3)?.parse().ok()
}

fn report(sample: &Sample) -> Heard {
    let key = sample.key_expr().to_string();
    Heard::Report { key, bytes: sample.payload().to_bytes().into_owned() }
}

/// Decides which processes are admitted as workers.
struct Reception {
    passwords: Passwords,
    places: Mutex<Places>,
}

impl Reception {
    /// Answers a worker's first message. If the message carries a challenge, the answer carries a
    /// proof that the manager knows the worker's password.
    fn answer(&self, query: &Query, events: &UnboundedSender<Heard>) {
        let challenge = query.attachment().and_then(|bytes| Challenge::read(&bytes.to_bytes()));
        let admission = match (check_hello(query, events), &challenge) {
            (Ok(hello), Some(challenge)) => self.let_in(hello, challenge, events),
            (Ok(_), None) => Admission::Refused { reason: "the hello has no challenge".to_owned() },
            (Err(reason), _) => Admission::Refused { reason },
        };
        let Ok(answer) = encode(&admission) else { return };
        let password = worker_in(query.key_expr()).and_then(|worker| self.passwords.get(&worker));
        let proof =
            challenge.zip(password).map(|(challenge, known)| challenge.prove(known, &answer));
        let _ = query.reply(query.key_expr(), answer).attachment(proof).wait();
    }

    fn let_in(
        &self,
        hello: Hello,
        challenge: &Challenge,
        events: &UnboundedSender<Heard>,
    ) -> Admission {
        let worker = hello.worker;
        match self.places().admit(worker, challenge, Instant::now()) {
            Decision::Admitted => {
                send(events, Heard::Event(Event::Hello(hello)));
                Admission::Admitted
            }
            Decision::Occupied { first } => {
                if first {
                    send(events, Heard::Event(Event::Occupied(worker)));
                }
                Admission::Occupied
            }
        }
    }

    /// Records that a worker has joined or left, and sends the event.
    fn presence(&self, sample: &Sample, events: &UnboundedSender<Heard>) {
        // Hold the lock until the event is sent, so that no process is reported to join a place
        // before the last holder is reported to leave.
        let mut places = self.places();
        let event = match (worker_in(sample.key_expr()), sample.kind()) {
            (Some(worker), SampleKind::Put) => {
                places.joined(worker);
                Event::Joined(worker)
            }
            (Some(worker), SampleKind::Delete) => {
                places.left(worker);
                Event::Left(worker)
            }
            (None, _) => Event::Foreign(format!("no worker has the key {}", sample.key_expr())),
        };
        send(events, Heard::Event(event));
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads and checks a worker's first message.
fn check_hello(query: &Query, events: &UnboundedSender<Heard>) -> Result<Hello, String> {
    let hello = payload::<Hello>(query)?;
    let worker = hello.worker;
    if worker_in(query.key_expr()) != Some(worker) {
        return Err(format!("worker {worker} sent its hello under {}", query.key_expr()));
    }
    let refused = |reason: &String| {
        send(events, Heard::Event(Event::Refused { worker, reason: reason.clone() }));
    };
    check_version(hello.protocol, &hello.version).inspect_err(refused)?;
    Ok(hello)
}

fn lease(joins: &[Join]) -> Duration {
    joins.first().map_or(LEASE, |join| join.lease)
}

/// Password of each worker, by the worker's number.
type Passwords = BTreeMap<u32, String>;

fn passwords(joins: &[Join]) -> Passwords {
    joins.iter().map(|join| (join.worker, join.password.clone())).collect()
}

/// Writes the workers' passwords to a new file for Zenoh. The folder
/// must not be accessible to other users.
fn write_passwords(path: &Path, joins: &[Join]) -> io::Result<()> {
    let mut file = std::fs::File::create_new(path)?;
    joins.iter().try_for_each(|join| writeln!(file, "{}:{}", join.user(), join.password))
}
