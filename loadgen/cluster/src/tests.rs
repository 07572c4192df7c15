//! Tests the network alone: which peers are admitted, and which messages are accepted.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::blobs::{Assignment, Blob, CHUNK};
use super::bus::{Event, Events, ManagerBus, Request, WorkerBus};
use super::error::ClusterError;
use super::join::Join;
use super::link::Folder;
use super::messages::{Answer, Command, Hello, News, PROTOCOL, Report, VERSION};
use super::testing::plan;
use super::{Cluster, Gathering, Keys, RemoteWorkers, Terms};
use loadgen_engine::Finished;
use loadgen_measure::{Snapshot, StrainSample};

const LIMIT: Duration = Duration::from_secs(2);

/// Time limit for an event that must come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts a manager for one worker on this host. Returns the manager, the worker's join document,
/// the folder of the socket between manager and worker, and the manager's events.
async fn manager() -> (ManagerBus, (Join, Folder), Events) {
    let mut joins = [Join::on_this_host("a1", 0).unwrap()];
    let (bus, events, folder) = ManagerBus::listen_here(&mut joins).await.unwrap();
    let [join] = joins;
    (bus, (join, folder), events)
}

async fn join(join: &Join, hello: &Hello) -> Result<Worker, ClusterError> {
    let gone = CancellationToken::new();
    let (bus, requests) = WorkerBus::join(join, hello, LIMIT, &gone).await?;
    Ok(Worker { bus, requests, gone })
}

struct Worker {
    bus: WorkerBus,
    requests: UnboundedReceiver<Request>,
    gone: CancellationToken,
}

impl Worker {
    async fn next(&mut self) -> Request {
        let request = tokio::time::timeout(PATIENCE, self.requests.recv()).await;
        request.expect("a command in time").unwrap()
    }
}

async fn next(events: &mut Events) -> Event {
    loop {
        let event = tokio::time::timeout(PATIENCE, events.recv()).await;
        match event.unwrap().unwrap() {
            Event::Hello(_) => {}
            event => return event,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_wrong_password_cannot_join() {
    let (bus, (right, _folder), _events) = manager().await;
    let mut wrongs = [right.clone(), right.clone(), right.clone()];
    wrongs[0].password = "0".repeat(64);
    wrongs[1].worker = 1;
    wrongs[2].address = "/nowhere/link".to_owned();
    let mut messages = Vec::new();
    for wrong in &wrongs {
        let error = join(wrong, &Hello::from_worker(0)).await.err().unwrap();
        messages.push(error.to_string());
    }
    let at = &right.address;
    assert_eq!(
        messages,
        [
            format!("the manager at {at} closed the connection before worker-0 joined"),
            format!("the manager at {at} closed the connection before worker-1 joined"),
            "no manager found at /nowhere/link within 2s: No such file or directory (os error 2)"
                .to_owned(),
        ]
    );
    assert!(join(&right, &Hello::from_worker(0)).await.is_ok(), "the others are not disturbed");
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_worker_with_one_join_document_joins_after_the_first_left() {
    let (bus, (right, _folder), mut events) = manager().await;
    let first = join(&right, &Hello::from_worker(0)).await.unwrap();
    assert!(matches!(next(&mut events).await, Event::Joined(0)));
    for _ in 0..2 {
        let error = join(&right, &Hello::from_worker(0)).await.err().unwrap();
        assert!(matches!(error, ClusterError::Occupied { .. }) && error.may_pass(), "{error}");
    }
    assert!(matches!(next(&mut events).await, Event::Occupied(0)), "it is said once");
    first.bus.close().await;
    assert!(matches!(next(&mut events).await, Event::Left(0)));
    assert!(join(&right, &Hello::from_worker(0)).await.is_ok());
    assert!(matches!(next(&mut events).await, Event::Joined(0)));
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_version_is_refused_on_both_sides() {
    let (bus, (right, _folder), mut events) = manager().await;
    let hello = Hello { protocol: 99, ..Hello::from_worker(0) };
    let error = join(&right, &hello).await.err().unwrap().to_string();
    let reason = format!(
        "the peer is loadgen {VERSION} with protocol 99, but this is loadgen {VERSION} with protocol {PROTOCOL}"
    );
    assert_eq!(error, format!("the manager refused this worker: {reason}"));
    match next(&mut events).await {
        Event::Refused { worker: 0, reason: said } => assert_eq!(said, reason),
        other => panic!("{other:?}"),
    }
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_reports_only_for_itself_and_in_order() {
    let (bus, (right, _folder), mut events) = manager().await;
    let worker = join(&right, &Hello::from_worker(0)).await.unwrap();
    assert!(matches!(next(&mut events).await, Event::Joined(0)));
    let report = |worker, number| Report {
        epoch: 1,
        worker,
        news: News::Snapshot(Snapshot::new(number, Vec::new()), StrainSample::default()),
    };
    worker.bus.publish(&report(7, 0)).await.unwrap();
    for number in 0..20 {
        worker.bus.publish(&report(0, number)).await.unwrap();
    }
    match next(&mut events).await {
        Event::Foreign(reason) => {
            assert_eq!(reason, "loadgen/a1/worker/0/report reported for worker 7");
        }
        other => panic!("{other:?}"),
    }
    for number in 0..20 {
        match next(&mut events).await {
            Event::Report(got) => assert_eq!(got, report(0, number)),
            other => panic!("{other:?}"),
        }
    }
    let huge = News::Failed("x".repeat(25 << 20));
    let error = worker.bus.publish(&Report { epoch: 1, worker: 0, news: huge }).await.unwrap_err();
    assert!(matches!(error, ClusterError::TooLarge { .. }), "{error}");
    worker.bus.close().await;
    assert!(matches!(next(&mut events).await, Event::Left(0)));
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_arrives_and_the_end_of_the_manager_is_noticed() {
    let (bus, (right, _folder), mut events) = manager().await;
    let mut worker = join(&right, &Hello::from_worker(0)).await.unwrap();
    // Until this event the manager may not know the route of commands to this worker.
    assert!(matches!(next(&mut events).await, Event::Joined(0)));
    let blob = Blob::of(&"x".repeat(CHUNK)).unwrap();
    let command = Command::Chunk(blob.chunks().next().unwrap());
    let obeying = async {
        let request = worker.next().await;
        assert!(request.command == command, "as it was sent");
        request.answer(&Answer::Refused { reason: "no".to_owned() }).await;
    };
    let (error, ()) = tokio::join!(bus.command(0, "the plan", &command, LIMIT), obeying);
    assert_eq!(error.unwrap_err().to_string(), "worker 0 refused the plan: no");
    let error = bus.command(1, "the plan", &Command::Quit, LIMIT).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "communication between manager and workers failed: worker 1 did not answer"
    );
    bus.close().await;
    tokio::time::timeout(LIMIT, worker.gone.cancelled()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_ignores_commands_of_older_rounds() {
    let (bus, (right, _folder), mut events) = manager().await;
    let serving =
        tokio::spawn(async move { super::join(&right, Terms::default()).await?.serve().await });
    assert!(matches!(next(&mut events).await, Event::Joined(0)));
    let say = async |command: Command| {
        bus.command(0, "it", &command, LIMIT).await.map_err(|e| e.to_string())
    };
    let plan = plan("http://127.0.0.1:1", 1);
    let blob = Blob::of_plan(&plan).unwrap();
    let assignment =
        Assignment { plan: blob.digest().clone(), rows: Vec::new(), share: plan.share };
    let prepare = |epoch| Command::Prepare { epoch, assignment: assignment.clone() };
    let start = |epoch| Command::Start { epoch, after: Duration::from_secs(60) };
    assert_eq!(say(start(0)).await.unwrap_err(), "worker 0 refused it: the round was not prepared");
    assert_eq!(say(Command::Ping).await, Ok(()));
    let missing = "worker 0 refused it: the plan has not arrived";
    assert_eq!(say(prepare(5)).await.unwrap_err(), missing);
    for chunk in blob.chunks() {
        assert_eq!(say(Command::Chunk(chunk)).await, Ok(()));
    }
    assert_eq!(say(prepare(5)).await, Ok(()));
    assert_eq!(say(prepare(5)).await, Ok(()), "twice is once");
    let older = "worker 0 refused it: the command is of round 4, but this is round 5";
    assert_eq!(say(prepare(4)).await.unwrap_err(), older);
    assert_eq!(say(start(4)).await.unwrap_err(), older);
    assert_eq!(say(start(5)).await, Ok(()));
    assert_eq!(say(start(5)).await, Ok(()), "twice is once");
    assert_eq!(say(Command::Stop { epoch: 4 }).await.unwrap_err(), older);
    assert_eq!(say(Command::Quit).await, Ok(()));
    assert!(serving.await.unwrap().is_ok());
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_another_scenario_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let workers = RemoteWorkers {
        count: 1,
        listen: address.clone(),
        address,
        keys: Keys::Folder(folder.path().to_owned()),
        lease: Duration::from_secs(3),
        limit: Some(LIMIT),
        needs_all: false,
    };
    let document = folder.path().join("0");
    let (listening, ready) = tokio::sync::oneshot::channel();
    let mut listening = Some(listening);
    let gathering = Cluster::gather(&workers, move |gathering| {
        if let (Gathering::Listening { .. }, Some(listening)) = (gathering, listening.take()) {
            listening.send(()).unwrap();
        }
    });
    let joining = async {
        ready.await.unwrap();
        let right = Join::parse(&std::fs::read_to_string(&document).unwrap()).unwrap();
        join(&right, &Hello::from_worker(0)).await.unwrap()
    };
    let (cluster, mut worker) = tokio::join!(gathering, joining);
    let mut cluster = cluster.unwrap();
    let lying = async {
        loop {
            let request = worker.next().await;
            let started = match &request.command {
                Command::Start { epoch, .. } => Some(*epoch),
                _ => None,
            };
            request.answer(&Answer::Done).await;
            if let Some(epoch) = started {
                let news = News::Finished(Finished::default(), "e3b0".to_owned());
                worker.bus.publish(&Report { epoch, worker: 0, news }).await.unwrap();
                break;
            }
        }
    };
    let round = cluster.round(plan("http://127.0.0.1:1", 1), CancellationToken::new(), |_, _| {});
    let (round, ()) = tokio::join!(round, lying);
    let lost: Vec<String> = round.unwrap().lost.iter().map(ToString::to_string).collect();
    assert_eq!(
        lost,
        ["worker 0 was lost in second 0: it ran another scenario than the manager sent"]
    );
    cluster.quit().await;
}
