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

use super::places::{Claim, Places};
use super::{ask, close, config, obeyed, payload};
use crate::cluster::authority::Identity;
use crate::cluster::challenge::Challenge;
use crate::cluster::encoding::encode;
use crate::cluster::error::ClusterError;
use crate::cluster::join::Join;
use crate::cluster::lease::LEASE;
use crate::cluster::link::{Folder, Hidden};
use crate::cluster::messages::{Admission, Command, Hello, Report, check_version, decode_report};
use crate::cluster::settings::{self, Admits};
use crate::cluster::tunnel::{self, Tunnel};

/// Event from the workers, in order of arrival.
#[derive(Debug)]
pub(crate) enum Event {
    /// Valid first message of a worker.
    Hello(Hello),
    /// A worker has joined.
    Joined(u32),
    /// A worker's link is gone, or the worker was silent for too long.
    Left(u32),
    /// A second process asked for this worker's place and was refused for now. Sent once
    /// under each holder of the place.
    Occupied(u32),
    /// A worker was refused.
    Refused {
        /// Number of the worker.
        worker: u32,
        /// Reason for the refusal.
        reason: String,
    },
    /// Report of a worker.
    Report(Report),
    /// Bytes that are not a valid message; a sentence about them.
    Foreign(String),
}

/// Queue of events. Reports wait encoded: decoded they take a hundred times the memory, and all
/// workers report at the same moment.
pub(crate) struct Events(UnboundedReceiver<Heard>);

enum Heard {
    Event(Event),
    Report { key: String, bytes: Vec<u8> },
}

impl Events {
    /// Waits for the next event; `None` when the bus is gone.
    pub(crate) async fn recv(&mut self) -> Option<Event> {
        self.0.recv().await.map(Event::from)
    }

    /// Returns the next event if one has arrived.
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

/// The manager's end of the network.
#[derive(Clone)]
pub(crate) struct ManagerBus {
    session: Session,
    run: String,
    /// Token that tells workers that the manager is alive, until it is dropped.
    _alive: Arc<LivelinessToken>,
    /// Addresses at which the manager listens for workers on other hosts; empty
    /// if all workers are on this host.
    pub addresses: Vec<SocketAddr>,
    /// Tunnel through which workers on other hosts connect.
    tunnel: Option<Arc<Tunnel>>,
    /// Folder of the socket at which the session listens.
    _hidden: Option<Arc<Hidden>>,
}

impl ManagerBus {
    /// Listens at a socket for the workers of `joins`, which run on this host as the same
    /// user, and sets the address of `joins` to the socket's path. Workers can join as long
    /// as the returned folder exists.
    pub(crate) async fn listen_here(
        joins: &mut [Join],
    ) -> Result<(Self, Events, Folder), ClusterError> {
        let (bus, events, folder) = Self::open(joins).await?;
        for join in joins {
            join.address = folder.public_socket().display().to_string();
        }
        Ok((bus, events, folder))
    }

    /// Listens at `address` for the workers of `joins`, to which
    /// `identity` proves who the manager is.
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

    /// Opens a session that listens for the workers of `joins` at a socket in a new folder.
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

    /// Sends a command to `worker`, and waits until the worker has obeyed.
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

    /// Closes the session, in at most a second, then the tunnel.
    pub(crate) async fn close(&self) {
        close(&self.session).await;
        if let Some(tunnel) = &self.tunnel {
            tunnel.close().await;
        }
    }
}

/// Declares all that the manager listens to. Declares the manager's token
/// last, when the manager is ready.
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

/// Sends an event. The receiver is gone only while the cluster is being
/// dropped: nobody needs the event then.
fn send(events: &UnboundedSender<Heard>, heard: Heard) {
    let _ = events.send(heard);
}

/// Returns the worker's number in a key `loadgen/RUN/worker/I/…`.
fn worker_in(key: &str) -> Option<u32> {
    key.split('/').nth(3)?.parse().ok()
}

fn report(sample: &Sample) -> Heard {
    let key = sample.key_expr().to_string();
    Heard::Report { key, bytes: sample.payload().to_bytes().into_owned() }
}

/// Admits workers.
struct Reception {
    passwords: Passwords,
    places: Mutex<Places>,
}

impl Reception {
    /// Answers a worker's hello, with a proof if the hello carries a challenge.
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
        match self.places().claim(worker, challenge, Instant::now()) {
            Claim::Held => {
                send(events, Heard::Event(Event::Hello(hello)));
                Admission::Admitted
            }
            Claim::Occupied { first } => {
                if first {
                    send(events, Heard::Event(Event::Occupied(worker)));
                }
                Admission::Occupied
            }
        }
    }

    /// Records that a worker has joined or left.
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

/// Password of each worker, by number.
type Passwords = BTreeMap<u32, String>;

fn passwords(joins: &[Join]) -> Passwords {
    joins.iter().map(|join| (join.worker, join.password.clone())).collect()
}

/// Writes the passwords to a file for Zenoh, in a folder that nobody else can enter.
fn write_passwords(path: &Path, joins: &[Join]) -> io::Result<()> {
    let mut file = std::fs::File::create_new(path)?;
    joins.iter().try_for_each(|join| writeln!(file, "{}:{}", join.user(), join.password))
}
