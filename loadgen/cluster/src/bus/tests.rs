//! Tests that a worker can do nothing on behalf of another worker, even if it speaks Zenoh directly
//! with its own join document.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use zenoh::sample::Locality;
use zenoh::{Session, Wait};

use super::{Event, Events, ManagerBus, WorkerBus, config};
use crate::authority::Authority;
use crate::challenge::Challenge;
use crate::encoding::encode;
use crate::join::Join;
use crate::lease::LEASE;
use crate::link::{Folder, Handle};
use crate::messages::{Answer, Hello, News, Report};
use crate::settings;
use crate::tunnel::{self, Tunnel};
use loadgen_measure::{Snapshot, StrainSample};

const LIMIT: Duration = Duration::from_secs(3);
/// Waiting time that is long enough for a permitted message to arrive.
const A_WHILE: Duration = Duration::from_millis(700);

/// A manager of two workers on loopback with TLS, and the workers' join documents.
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

/// Opens a network session with a worker's join document, as a program other than loadgen could.
async fn session(join: &Join) -> (Tunnel, Handle, zenoh::Result<Session>) {
    let deadline = tokio::time::Instant::now() + LIMIT;
    let identity = join.identity.as_ref().unwrap();
    let (tunnel, socket) = tunnel::connect(&join.address, identity, deadline).await.unwrap();
    let config = config(&settings::worker(join, socket.path(), Duration::ZERO)).unwrap();
    let opened = tokio::task::spawn_blocking(move || zenoh::open(config).wait()).await.unwrap();
    (tunnel, socket, opened)
}

/// Collects events until no event arrives for `A_WHILE`.
async fn heard(events: &mut Events) -> Vec<Event> {
    let mut heard = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(A_WHILE, events.recv()).await {
        heard.push(event);
    }
    heard
}

fn report_of(worker: u32) -> Report {
    let news = News::Snapshot(Snapshot::new(0, Vec::new()), StrainSample::default());
    Report { epoch: 1, worker, news }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_can_neither_forge_command_nor_read_for_another() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let (honest, mut commands) = worker(&joins[0]).await;
    assert!(matches!(heard(&mut events).await[..], [Event::Hello(_), Event::Joined(0)]));
    // Worker 1 speaks Zenoh directly, with its own join document, and sends arbitrary messages.
    let run = &joins[1].run;
    let (_tunnel, _socket, rogue) = session(&joins[1]).await;
    let rogue = rogue.unwrap();
    let (told, mut overheard) = tokio::sync::mpsc::unbounded_channel();
    for key in [format!("loadgen/{run}/**"), "**".to_owned(), "**/@adv/**".to_owned()] {
        let told = told.clone();
        let listen =
            move |sample: zenoh::sample::Sample| drop(told.send(sample.key_expr().to_string()));
        // The worker may hear its own messages.
        let subscriber = rogue.declare_subscriber(key).allowed_origin(Locality::Remote);
        subscriber.callback(listen).background().await.unwrap();
    }
    let forged = encode(&report_of(0)).unwrap();
    rogue.put(format!("loadgen/{run}/worker/0/report"), forged).await.unwrap();
    let stop = encode(&crate::messages::Command::Quit).unwrap();
    let asked = rogue.get(format!("loadgen/{run}/worker/0/command")).payload(stop).timeout(A_WHILE);
    let answers = asked.await.unwrap();
    let _alive = rogue.liveliness().declare_token(format!("loadgen/{run}/worker/0/alive")).await;
    let _gone = rogue.liveliness().declare_token(format!("loadgen/{run}/manager/alive")).await;
    let hello = encode(&Hello::from_worker(0)).unwrap();
    for under in [0, 1] {
        let key = format!("loadgen/{run}/worker/{under}/hello");
        rogue.get(key).payload(hello.clone()).timeout(A_WHILE).await.unwrap();
    }
    // The report of the honest worker arrives, and nothing else does.
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

/// Opens many connections, one after another: a connection must not break if both
/// sides begin to send at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_valid_worker_can_join_again_and_again() {
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
async fn a_worker_can_report_and_receive_its_own_commands() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let (own, mut commands) = worker(&joins[1]).await;
    assert!(matches!(heard(&mut events).await[..], [Event::Hello(_), Event::Joined(1)]));
    own.publish(&report_of(1)).await.unwrap();
    let heard = heard(&mut events).await;
    assert!(matches!(&heard[..], [Event::Report(report)] if *report == report_of(1)), "{heard:?}");
    let command = crate::messages::Command::Quit;
    let obeying = async {
        let request = tokio::time::timeout(LIMIT, commands.recv()).await.unwrap().unwrap();
        request.answer(&Answer::Done).await;
    };
    let (done, ()) = tokio::join!(bus.command(1, "it", &command, LIMIT), obeying);
    done.unwrap();
    own.close().await;
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_the_right_authority_cannot_join() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    let right = &joins[0];
    let other = tempfile::tempdir().unwrap();
    let foreign = self::joins(other.path(), &right.address).remove(0);
    let claims_to_be_of_it = Join { run: right.run.clone(), ..foreign.clone() };
    // This worker trusts the right authority, but has a certificate of another one.
    let mut half = claims_to_be_of_it.clone();
    half.identity.as_mut().unwrap().authority = right.identity.clone().unwrap().authority;
    // This worker has a worker's password, but not its certificate.
    let known = Join { identity: half.identity.clone(), ..right.clone() };
    let plain = Join { identity: None, ..right.clone() };
    let not_the_manager = "is not the manager of this join file: invalid peer certificate";
    let not_let_in = "did not admit worker-0";
    let no_socket = "no manager found";
    for (stranger, expected) in [
        (foreign, not_the_manager),
        (claims_to_be_of_it, not_the_manager),
        (half, not_let_in),
        (known, not_let_in),
        (plain, no_socket),
    ] {
        let error = refusal(&stranger).await;
        assert!(error.contains(expected), "{error}");
    }
    assert!(heard(&mut events).await.is_empty());
    bus.close().await;
}

/// Tries to join with this join document, and returns the error message of the refusal.
async fn refusal(join: &Join) -> String {
    let (hello, limit) = (Hello::from_worker(0), Duration::from_secs(1));
    let joined = WorkerBus::join(join, &hello, limit, &Default::default()).await;
    joined.err().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cannot_join_as_another_worker() {
    let Setting { bus, mut events, joins, _folder } = setting().await;
    // Worker 1's certificate and password with the name of worker 0: the password is wrong.
    let another = Join { worker: 0, ..joins[1].clone() };
    assert!(session(&another).await.2.is_err());
    let closed = "closed the connection before worker-0 joined";
    assert!(refusal(&another).await.contains(closed));
    assert!(heard(&mut events).await.is_empty());
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_obeys_only_its_own_manager() {
    let right = tempfile::tempdir().unwrap();
    let address = free_address();
    let joins = joins(right.path(), &address);
    // First a manager of another authority listens at the manager's address. Then a worker of the
    // right authority pretends to be the manager.
    let rogue =
        Authority::of(tempfile::tempdir().unwrap().path()).unwrap().manager("127.0.0.1").unwrap();
    let worker = Authority::of(right.path()).unwrap().worker("worker-1").unwrap();
    for identity in [rogue, worker] {
        let (bus, mut events) = ManagerBus::listen(&address, &identity, &joins).await.unwrap();
        let error = refusal(&joins[0]).await;
        assert!(error.contains("is not the manager of this join file"), "{error}");
        assert!(heard(&mut events).await.is_empty());
        bus.close().await;
    }
}

/// Starts a peer that pretends to be the manager of the worker with this join document. The peer
/// knows the worker's password, to stand in for a router that accepts every password.
async fn impostor(join: &Join, answer: Vec<u8>, proof: Option<Vec<u8>>) -> (Session, Folder) {
    let (run, folder) = (&join.run, Folder::new().unwrap());
    let passwords = folder.path("passwords");
    std::fs::write(&passwords, format!("{}:{}", join.user(), join.password)).unwrap();
    let endpoint = format!("unixsock-stream/{}", folder.socket().display());
    let listens = serde_json::json!({
        "mode": "router",
        "listen": { "endpoints": [endpoint] },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "auth": { "usrpwd": { "dictionary_file": passwords } } },
    });
    let session = zenoh::open(config(&listens).unwrap()).await.unwrap();
    session
        .declare_queryable(format!("loadgen/{run}/worker/*/hello"))
        .callback(move |query| {
            let reply = query.reply(query.key_expr(), answer.clone());
            reply.attachment(proof.clone()).wait().unwrap();
        })
        .background()
        .await
        .unwrap();
    (session, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_takes_no_command_without_proof_of_its_password() {
    let mut join = Join::on_this_host("a1", 0).unwrap();
    let (of_manager, of_worker) = ("loadgen/a1/manager/alive", "loadgen/a1/worker/0");
    let done = encode(&Answer::Done).unwrap();
    let refused = encode(&Answer::Refused { reason: "leave".to_owned() }).unwrap();
    // An answer without a proof, with a proof for another password, a refusal without a proof, and
    // an answer with a recorded proof.
    let guess = Challenge::new().unwrap().prove("another", &done);
    let recorded = Challenge::new().unwrap().prove(&join.password, &done);
    for (answer, proof) in
        [(&done, None), (&done, Some(guess)), (&refused, None), (&done, Some(recorded))]
    {
        let (impostor, folder) = impostor(&join, answer.clone(), proof).await;
        let _alive = impostor.liveliness().declare_token(of_manager).await.unwrap();
        join.address = folder.public_socket().display().to_string();
        // The impostor would send a command as soon as the worker listens for commands.
        let (listened, listens) = (CancellationToken::new(), format!("{of_worker}/command"));
        let (heard, querier) = (listened.clone(), impostor.declare_querier(listens).await.unwrap());
        let listener = querier.matching_listener();
        let listener = listener.callback(move |status| {
            if status.matching() {
                heard.cancel();
            }
        });
        let _listener = listener.await.unwrap();
        let error = refusal(&join).await;
        let said =
            "is not the manager of this join file: it does not know the password of worker-0";
        assert!(error.contains(said), "{error}");
        assert!(!listened.is_cancelled(), "it listened to commands");
        impostor.close().await.unwrap();
    }
}
