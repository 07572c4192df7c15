//! The manager's end of the network.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use zenoh::Session;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::Query;
use zenoh::sample::{Sample, SampleKind};
use zenoh_ext::{AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use super::{ask, close, config, payload, reply};
use crate::cluster::error::ClusterError;
use crate::cluster::join::{Access, Join};
use crate::cluster::messages::{Answer, Command, Hello, Report, check_version, decode_report};
use crate::cluster::settings::{self, Admits, LEASE};

/// How often a port is looked for; between the search and its use another program may take it.
const PORT_ATTEMPTS: usize = 10;

/// What the manager hears from its workers, in the order in which it came.
#[derive(Debug)]
pub enum Event {
    /// A worker's first words, which were right.
    Hello(Hello),
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

/// The events as they come. Reports wait packed: unpacked they take a hundred times the memory, and all
/// workers report at the same moment.
pub struct Events(UnboundedReceiver<Heard>);

enum Heard {
    Event(Event),
    Report { key: String, bytes: Vec<u8> },
}

impl Events {
    /// The next one; `None` when the bus is gone.
    pub async fn recv(&mut self) -> Option<Event> {
        self.0.recv().await.map(Event::from)
    }

    /// The next one, if one has come.
    pub fn try_recv(&mut self) -> Option<Event> {
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
            Ok(report) => Self::Foreign(format!("{key} spoke for worker {}", report.worker)),
            Err(reason) => Self::Foreign(format!("{key}: {reason}")),
        }
    }
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
    pub async fn listen_on_loopback(
        run: &str,
        joins: &mut [Join],
    ) -> Result<(Self, Events), ClusterError> {
        // 0600, and gone when this function returns: Zenoh reads it once, when it opens.
        let mut dictionary = tempfile::NamedTempFile::new().map_err(ClusterError::bus)?;
        for join in joins.iter() {
            if let Access::Password(password) = &join.access {
                writeln!(dictionary, "{}:{password}", join.user()).map_err(ClusterError::bus)?;
            }
        }
        let admits = Admits {
            run,
            workers: joins.len(),
            by: settings::By::Password(dictionary.path()),
            lease: LEASE,
        };
        let mut attempts = 0;
        let (session, endpoint) = loop {
            let endpoint = format!("tcp/127.0.0.1:{}", free_port()?);
            match zenoh::open(config(&settings::manager(&endpoint, &admits))?).await {
                Ok(session) => break (session, endpoint),
                Err(e) if attempts >= PORT_ATTEMPTS => return Err(ClusterError::bus(e)),
                Err(_) => attempts += 1,
            }
        };
        for join in joins {
            join.endpoint.clone_from(&endpoint);
        }
        Self::serve(session, run).await
    }

    /// Listens at `address` for the workers that it admits.
    pub async fn listen(
        address: &str,
        admits: &Admits<'_>,
    ) -> Result<(Self, Events), ClusterError> {
        let settings = settings::manager(&format!("tls/{address}"), admits);
        let listen = |why: String| ClusterError::Listen { address: address.to_owned(), why };
        // The system's own words tell more than what Zenoh makes of them.
        drop(TcpListener::bind(address).map_err(|e| listen(e.to_string()))?);
        let opened = zenoh::open(config(&settings)?).await;
        let session = opened.map_err(|_| listen("the network layer cannot use it".to_owned()))?;
        Self::serve(session, admits.run).await
    }

    async fn serve(session: Session, run: &str) -> Result<(Self, Events), ClusterError> {
        // Unbounded, since Zenoh's callbacks must not block; workers send some KiB a second, and
        // a round takes them at once.
        let (events, received) = mpsc::unbounded_channel();
        let alive = declare(&session, run, &events).await.map_err(ClusterError::bus)?;
        let bus = Self { session, run: run.to_owned(), _alive: Arc::new(alive) };
        Ok((bus, Events(received)))
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
        close(&self.session).await;
    }
}

/// All that the manager listens to, and last, when it is ready, the token that says so.
async fn declare(
    session: &Session,
    run: &str,
    events: &UnboundedSender<Heard>,
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

/// The receiver is gone only when the cluster is being dropped: nobody wants the event then.
fn send(events: &UnboundedSender<Heard>, heard: Heard) {
    let _ = events.send(heard);
}

/// The worker's number in a key `loadgen/RUN/worker/I/…`.
fn worker_in(key: &str) -> Option<u32> {
    key.split('/').nth(3)?.parse().ok()
}

fn presence(sample: &Sample) -> Heard {
    Heard::Event(match (worker_in(sample.key_expr()), sample.kind()) {
        (Some(worker), SampleKind::Put) => Event::Joined(worker),
        (Some(worker), SampleKind::Delete) => Event::Left(worker),
        (None, _) => Event::Foreign(format!("no worker has the key {}", sample.key_expr())),
    })
}

fn report(sample: &Sample) -> Heard {
    let key = sample.key_expr().to_string();
    Heard::Report { key, bytes: sample.payload().to_bytes().into_owned() }
}

fn answer_hello(query: &Query, events: &UnboundedSender<Heard>) {
    let checked = payload::<Hello>(query).and_then(|hello| {
        let (protocol, worker) = (hello.protocol, hello.worker);
        let checked = check_version(protocol, &hello.version);
        let event = match &checked {
            Ok(()) => Event::Hello(hello),
            Err(reason) => Event::Refused { worker, reason: reason.clone() },
        };
        send(events, Heard::Event(event));
        checked
    });
    reply(query, &Answer::from(checked));
}

fn free_port() -> Result<u16, ClusterError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(ClusterError::bus)?;
    Ok(listener.local_addr().map_err(ClusterError::bus)?.port())
}
