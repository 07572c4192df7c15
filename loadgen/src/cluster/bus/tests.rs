//! What a worker can do that speaks Zenoh by itself, with a join document of its own: nothing that is
//! another's.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use zenoh::sample::Locality;
use zenoh::{Session, Wait};

use super::{Event, Events, ManagerBus, WorkerBus, config};
use crate::cluster::authority::{Authority, Identity};
use crate::cluster::join::{Access, Join};
use crate::cluster::messages::{Hello, News, Report, encode};
use crate::cluster::settings::{self, Admits, By, LEASE};
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
    let files = Join::write_all(folder, &authority, address, 2, LEASE).unwrap();
    files.iter().map(|file| Join::parse(&std::fs::read_to_string(file).unwrap()).unwrap()).collect()
}

async fn setting() -> Setting {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let authority = Authority::of(folder.path()).unwrap();
    let identity = authority.manager("127.0.0.1").unwrap();
    let (bus, events) =
        ManagerBus::listen(&address, &admits(&authority.run, &identity)).await.unwrap();
    let joins = joins(folder.path(), &address);
    Setting { bus, events, joins, _folder: folder }
}

async fn worker(join: &Join) -> (WorkerBus, UnboundedReceiver<super::Request>) {
    let hello = Hello::from_worker(join.worker);
    WorkerBus::join(join, &hello, LIMIT, &Default::default()).await.unwrap()
}

async fn session(join: &Join) -> zenoh::Result<Session> {
    let config = config(&settings::worker(join, LIMIT)).unwrap();
    tokio::task::spawn_blocking(move || zenoh::open(config).wait()).await.unwrap()
}

fn admits<'a>(run: &'a str, identity: &'a Identity) -> Admits<'a> {
    Admits { run, workers: 2, by: By::Certificate(identity), lease: LEASE }
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
    let rogue = session(&joins[1]).await.unwrap();
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
    let other = tempfile::tempdir().unwrap();
    let foreign = self::joins(other.path(), joins[0].address()).remove(0);
    let mut claims_to_be_of_it = foreign.clone();
    claims_to_be_of_it.run.clone_from(&joins[0].run);
    // It knows the manager by the right authority, and has a certificate of another one.
    let mut half = claims_to_be_of_it.clone();
    if let (Access::Certificate(half), Access::Certificate(right)) =
        (&mut half.access, &joins[0].access)
    {
        half.authority.clone_from(&right.authority);
    }
    let mut plain = joins[0].clone();
    plain.endpoint = format!("tcp/{}", plain.address());
    for stranger in [foreign, claims_to_be_of_it, half, plain] {
        let hello = Hello::from_worker(0);
        let limit = Duration::from_secs(1);
        let joined = WorkerBus::join(&stranger, &hello, limit, &Default::default()).await;
        let error = joined.err().unwrap().to_string();
        assert!(error.contains("did not let worker-0 in"), "{error}");
    }
    assert!(heard(&mut events).await.is_empty());
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_obeys_no_manager_but_its_own() {
    let right = tempfile::tempdir().unwrap();
    let address = free_address();
    let join = joins(right.path(), &address).remove(0);
    let run = join.run.clone();
    let hello = Hello::from_worker(0);
    let limit = Duration::from_secs(1);
    // On the manager's address listens one of another authority, then a worker that takes itself for
    // the manager: its certificate is of the right authority.
    let rogue =
        Authority::of(tempfile::tempdir().unwrap().path()).unwrap().manager("127.0.0.1").unwrap();
    let worker = Authority::of(right.path()).unwrap().worker("worker-1").unwrap();
    for identity in [rogue, worker] {
        let (bus, mut events) =
            ManagerBus::listen(&address, &admits(&run, &identity)).await.unwrap();
        let joined = WorkerBus::join(&join, &hello, limit, &Default::default()).await;
        let error = joined.err().unwrap().to_string();
        assert!(error.contains("did not let worker-0 in"), "{error}");
        assert!(heard(&mut events).await.is_empty());
        bus.close().await;
    }
}
