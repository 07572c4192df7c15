//! What a worker can do that speaks Zenoh by itself, with a join document of its own: nothing that is
//! another's.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use zenoh::sample::Locality;
use zenoh::{Session, Wait};

use super::{Event, Events, ManagerBus, WorkerBus, config};
use crate::cluster::authority::Authority;
use crate::cluster::join::Join;
use crate::cluster::messages::{Hello, News, Report, encode};
use crate::cluster::settings::{self, LEASE};
use crate::cluster::tunnel::{self, Tunnel};
use crate::measure::{Pulse, Snapshot};

const LIMIT: Duration = Duration::from_secs(3);
/// Long enough for what is let through to arrive.
const A_WHILE: Duration = Duration::from_millis(700);

/// A manager of two workers on loopback, with TLS, and what each of them has.
struct Setting {
    bus: ManagerBus,
    events: Events,
    joins: Vec<Join>,
    _folder: TempDir,
}

fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn joins(folder: &Path, address: &str) -> Vec<Join> {
    let authority = Authority::of(folder).unwrap();
    Join::of_all(&authority, address, 2, LEASE).unwrap()
}

async fn setting() -> Setting {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let authority = Authority::of(folder.path()).unwrap();
    let identity = authority.manager("127.0.0.1").unwrap();
    let joins = joins(folder.path(), &address);
    let (bus, events) = ManagerBus::listen(&address, &identity, &joins).await.unwrap();
    Setting { bus, events, joins, _folder: folder }
}

async fn worker(join: &Join) -> (WorkerBus, UnboundedReceiver<super::Request>) {
    let hello = Hello::from_worker(join.worker);
    WorkerBus::join(join, &hello, LIMIT, &Default::default()).await.unwrap()
}

/// A session of whatever program, with what a worker was given.
async fn session(join: &Join) -> (Tunnel, zenoh::Result<Session>) {
    let deadline = tokio::time::Instant::now() + LIMIT;
    let identity = join.identity.as_ref().unwrap();
    let (tunnel, address) = tunnel::connect(&join.address, identity, deadline).await.unwrap();
    let config = config(&settings::worker(join, &address.to_string(), LIMIT)).unwrap();
    let opened = tokio::task::spawn_blocking(move || zenoh::open(config).wait()).await.unwrap();
    (tunnel, opened)
}

/// All events that come within a while.
async fn heard(events: &mut Events) -> Vec<Event> {
    let mut heard = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(A_WHILE, events.recv()).await {
        heard.push(event);
    }
    heard
}

fn report_of(worker: u32) -> Report {
    let news = News::Snapshot(Snapshot { number: 0, intervals: Vec::new() }, Pulse::default());
    Report { epoch: 1, worker, news }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_can_neither_forge_nor_command_nor_read_for_another() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let (honest, mut commands) = worker(&joins[0]).await;
    assert!(matches!(heard(&mut events).await[..], [Event::Hello(_), Event::Joined(0)]));
    // Worker 1 speaks for itself, with what it was given, and says whatever it wants.
    let run = &joins[1].run;
    let (_tunnel, rogue) = session(&joins[1]).await;
    let rogue = rogue.unwrap();
    let (told, mut overheard) = tokio::sync::mpsc::unbounded_channel();
    for key in [format!("loadgen/{run}/**"), "**".to_owned(), "**/@adv/**".to_owned()] {
        let told = told.clone();
        let listen =
            move |sample: zenoh::sample::Sample| drop(told.send(sample.key_expr().to_string()));
        // What it says itself, it may hear.
        let subscriber = rogue.declare_subscriber(key).allowed_origin(Locality::Remote);
        subscriber.callback(listen).background().await.unwrap();
    }
    let forged = encode(&report_of(0)).unwrap();
    rogue.put(format!("loadgen/{run}/worker/0/report"), forged).await.unwrap();
    let stop = encode(&crate::cluster::messages::Command::Quit).unwrap();
    let asked = rogue.get(format!("loadgen/{run}/worker/0/command")).payload(stop).timeout(A_WHILE);
    let answers = asked.await.unwrap();
    let _alive = rogue.liveliness().declare_token(format!("loadgen/{run}/worker/0/alive")).await;
    let _gone = rogue.liveliness().declare_token(format!("loadgen/{run}/manager/alive")).await;
    let hello = encode(&Hello::from_worker(0)).unwrap();
    for under in [0, 1] {
        let key = format!("loadgen/{run}/worker/{under}/hello");
        rogue.get(key).payload(hello.clone()).timeout(A_WHILE).await.unwrap();
    }
    // What the honest one says meanwhile arrives, and nothing else does.
    honest.publish(&report_of(0)).await.unwrap();
    let heard = heard(&mut events).await;
    assert!(matches!(&heard[..], [Event::Report(report)] if *report == report_of(0)), "{heard:?}");
    assert!(commands.try_recv().is_err(), "it was commanded by another worker");
    while let Ok(reply) = answers.recv_async().await {
        assert!(reply.result().is_err(), "its command was answered");
    }
    assert_eq!(overheard.try_recv().ok(), None, "it read what is not for it");
    rogue.close().await.unwrap();
    honest.close().await;
    bus.close().await;
}

/// A link over which both sides begin to speak at once did not always last.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_get_in_gets_in_each_time() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let mut next = async || tokio::time::timeout(LIMIT, events.recv()).await.unwrap();
    for _ in 0..50 {
        let (own, _commands) = worker(&joins[0]).await;
        assert!(matches!(next().await, Some(Event::Hello(_))));
        assert!(matches!(next().await, Some(Event::Joined(0))));
        own.publish(&report_of(0)).await.unwrap();
        assert!(matches!(next().await, Some(Event::Report(_))));
        own.close().await;
        assert!(matches!(next().await, Some(Event::Left(0))));
    }
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_reports_and_commands_go_through() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let (own, mut commands) = worker(&joins[1]).await;
    assert!(matches!(heard(&mut events).await[..], [Event::Hello(_), Event::Joined(1)]));
    own.publish(&report_of(1)).await.unwrap();
    let heard = heard(&mut events).await;
    assert!(matches!(&heard[..], [Event::Report(report)] if *report == report_of(1)), "{heard:?}");
    let command = crate::cluster::messages::Command::Quit;
    let obeying = async {
        let request = commands.recv().await.unwrap();
        request.answer(&crate::cluster::messages::Answer::Done).await;
    };
    let (done, ()) = tokio::join!(bus.command(1, "it", &command, LIMIT), obeying);
    done.unwrap();
    own.close().await;
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_with_another_authority_or_with_none() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let right = &joins[0];
    let other = tempfile::tempdir().unwrap();
    let foreign = self::joins(other.path(), &right.address).remove(0);
    let claims_to_be_of_it = Join { run: right.run.clone(), ..foreign.clone() };
    // It knows the manager by the right authority, and has a certificate of another one.
    let mut half = claims_to_be_of_it.clone();
    half.identity.as_mut().unwrap().authority = right.identity.clone().unwrap().authority;
    // And one that has a worker's password, but not its certificate.
    let known = Join { identity: half.identity.clone(), ..right.clone() };
    let plain = Join { identity: None, ..right.clone() };
    let not_the_manager = "is not the manager of this join document: invalid peer certificate";
    let not_let_in = "did not let worker-0 in";
    for (stranger, expected) in [
        (foreign, not_the_manager),
        (claims_to_be_of_it, not_the_manager),
        (half, not_let_in),
        (known, not_let_in),
        (plain, not_let_in),
    ] {
        let error = refusal(&stranger).await;
        assert!(error.contains(expected), "{error}");
    }
    assert!(heard(&mut events).await.is_empty());
    bus.close().await;
}

/// Why a worker with this document does not get in.
async fn refusal(join: &Join) -> String {
    let (hello, limit) = (Hello::from_worker(0), Duration::from_secs(1));
    let joined = WorkerBus::join(join, &hello, limit, &Default::default()).await;
    joined.err().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gets_in_as_nobody_but_itself() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    // Its own certificate, and the name of another worker: the password is not of that one.
    let another = Join { worker: 0, ..joins[1].clone() };
    assert!(session(&another).await.1.is_err());
    assert!(refusal(&another).await.contains("did not let worker-0 in"));
    assert!(heard(&mut events).await.is_empty());
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_obeys_no_manager_but_its_own() {
    let right = tempfile::tempdir().unwrap();
    let address = free_address();
    let joins = joins(right.path(), &address);
    // On the manager's address listens one of another authority, then a worker that takes itself for
    // the manager: its certificate is of the right authority.
    let rogue =
        Authority::of(tempfile::tempdir().unwrap().path()).unwrap().manager("127.0.0.1").unwrap();
    let worker = Authority::of(right.path()).unwrap().worker("worker-1").unwrap();
    for identity in [rogue, worker] {
        let (bus, mut events) = ManagerBus::listen(&address, &identity, &joins).await.unwrap();
        let error = refusal(&joins[0]).await;
        assert!(error.contains("is not the manager of this join document"), "{error}");
        assert!(heard(&mut events).await.is_empty());
        bus.close().await;
    }
}
