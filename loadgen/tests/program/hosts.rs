//! `loadgen manager` and `loadgen worker`, as on several hosts, but over loopback.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::processes::{Started, signal};
use crate::common::program::{Finished, Project};
use rustix::process::Signal;
use serde_json::Value;

/// A server, a project, and the address at which a manager listens.
pub struct Setting {
    pub server: Counting,
    pub project: Project,
    pub address: String,
}

impl Setting {
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { server: Counting::start().await, project: Project::real(), address }
    }

    /// Starts a manager of two workers.
    fn manager(&self, more: &[&str]) -> Started {
        self.manager_at(&["--expect-workers=2", "--listen", &self.address], more)
    }

    /// Starts a manager with these options for its address and its number of workers.
    pub fn manager_at(&self, listen: &[&str], more: &[&str]) -> Started {
        let arguments = ["manager", "--scenario=direct", "--format=json", "--url"];
        let arguments = [&arguments[..], &[&self.server.url], listen, more].concat();
        let mut command = self.project.command(&arguments);
        Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts a worker with its join file, after the manager has written the file.
    pub fn worker(&self, number: u32, more: &[&str]) -> Started {
        let file = format!("join/{number}");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.project.path(&file).is_file() {
            assert!(Instant::now() < deadline, "there is no {file}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut command =
            self.project.command(&[&["worker", "--join", file.as_str()], more].concat());
        Started::of(command.stdout(Stdio::null()).stderr(Stdio::piped()))
    }

    /// Waits until the load has begun.
    async fn until_loaded(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.server.requests() < 100 {
            assert!(Instant::now() < deadline, "the load has not begun");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn finished(&self, started: Started) -> Finished {
        let output = tokio::task::block_in_place(|| started.output());
        Finished::of(output, &self.project.path(""))
    }
}

fn requests(document: &Value) -> u64 {
    document["targets"][0]["total"]["requests"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_share_the_load_and_stay_for_the_next_run() {
    let setting = Setting::new().await;
    let iterations = ["--iterations=200", "--users=4", "--warmup=0s"];
    let first = setting.manager(&[&iterations[..], &["--out=run-1"]].concat());
    let mut workers = [0, 1].map(|number| setting.worker(number, &[]));
    let finished = setting.finished(first);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(requests(&document), 200);
    // One more request is the manager's verification.
    assert_eq!(setting.server.requests(), 201);
    let shares = document["targets"][0]["workers"].as_array().unwrap();
    let share = |worker: &Value| (worker["users"].as_u64(), worker["requests"].as_u64());
    assert_eq!(shares.iter().map(share).collect::<Vec<_>>(), [(Some(2), Some(100)); 2]);
    assert!(shares.iter().all(|worker| worker["host"].is_string() && worker["cpus"].is_u64()));
    let skew_ms = document["targets"][0]["rounds"][0]["start_skew_ms"].as_f64().unwrap();
    assert!(skew_ms > 0.0 && skew_ms < 3_000.0, "{skew_ms}");

    let kept = |file: &str| std::fs::read_to_string(setting.project.path(file)).unwrap();

    // The workers are still there, and find a new manager of the
    // same folder without new join files.
    assert!(workers.iter_mut().all(|worker| worker.try_wait().unwrap().is_none()));
    let second = setting.finished(setting.manager(&[&iterations[..], &["--out=run-2"]].concat()));
    assert_eq!(second.code, Some(0), "{}", second.said());
    assert_eq!((requests(&second.json()), setting.server.requests()), (200, 402));

    // The worker's password is in no list of processes.
    let password: Value = serde_json::from_str(&kept("join/0")).unwrap();
    let password = password["password"].as_str().unwrap();
    for (worker, what) in workers.iter().flat_map(|w| [(w, "cmdline"), (w, "environ")]) {
        let listed = std::fs::read(format!("/proc/{}/{what}", worker.id())).unwrap();
        assert!(!String::from_utf8_lossy(&listed).contains(password), "{what}");
    }

    // The workers leave when they are told to, and say what they did.
    for (worker, by) in workers.into_iter().zip([Signal::TERM, Signal::INT]) {
        signal(worker.id(), by);
        let finished = setting.finished(worker);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let joined = format!("joined the manager at {}", setting.address);
        assert_eq!(finished.stderr.matches(&joined).count(), 2, "{}", finished.said());
        assert!(!finished.stderr.contains(password), "{}", finished.said());
    }

    // Nothing that was saved or said contains a secret, except for the files
    // in `join`, which only the owner can read.
    for file in ["join/0", "join/1", "join/authority"] {
        assert!(kept(file).contains("PRIVATE KEY"));
        let mode = setting.project.path(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let folder = std::fs::read_dir(setting.project.path("run-1")).unwrap();
    let saved = folder.map(|file| {
        String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned()
    });
    for text in saved.chain([finished.stderr, second.stderr]) {
        assert!(!text.contains("PRIVATE") && !text.contains(password), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_wait_the_joined_workers_share_the_whole_load() {
    let setting = Setting::new().await;
    let load = ["--iterations=101", "--users=3", "--warmup=0s", "--wait=4s", "--out=run"];
    let mut command = setting.project.command(
        &[
            &["manager", "--scenario=direct", "--expect-workers=3", "--format=json", "--listen"],
            &[setting.address.as_str(), "--url", &setting.server.url][..],
            &load,
        ]
        .concat(),
    );
    let manager = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let workers = [0, 2].map(|number| setting.worker(number, &["--once"]));
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let said = "the wait is over: 2 of 3 workers have joined, and share the whole load";
    assert!(finished.stderr.contains(said), "{}", finished.said());
    let document = finished.json();
    assert_eq!((requests(&document), setting.server.requests()), (101, 102));
    let shares = document["targets"][0]["workers"].as_array().unwrap();
    let share = |worker: &Value| (worker["worker"].as_u64(), worker["users"].as_u64());
    assert_eq!(
        shares.iter().map(share).collect::<Vec<_>>(),
        [(0, 2), (2, 1)].map(|(w, u)| (Some(w), Some(u)))
    );
    assert!(document["degraded"].is_null() && document["load"]["workers"] == 2);
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

/// No matter which of the two becomes worker 0, the server gets no more requests than planned.
#[tokio::test(flavor = "multi_thread")]
async fn two_workers_with_one_join_file_send_one_share() {
    let setting = Setting::new().await;
    let load = ["--iterations=200", "--users=4", "--warmup=0s", "--wait=30s", "--out=run"];
    let manager = setting.manager(&load);
    let twins = [0, 0].map(|number| setting.worker(number, &[]));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let other = setting.worker(1, &[]);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let said =
        "worker 0 asks to join, but has already joined: either another process uses the same";
    assert_eq!(finished.stderr.matches(said).count(), 1, "{}", finished.said());
    assert_eq!((requests(&finished.json()), setting.server.requests()), (200, 201));
    let said = twins.into_iter().chain([other]).map(|worker| {
        signal(worker.id(), Signal::TERM);
        let finished = setting.finished(worker);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        finished.stderr
    });
    let waited = "either another process uses the same join file";
    assert_eq!(said.filter(|said| said.contains(waited)).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_loads_only_allowed_targets() {
    let setting = Setting::new().await;
    let manager = setting.manager(&["--duration=1s", "--out=run"]);
    let willing = setting.worker(0, &["--once"]);
    let unwilling = setting.worker(1, &["--once", "--allow-target=app.example:80,10.0.0.1"]);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("may not load 127.0.0.1:"), "{}", finished.said());
    // The verification is the manager's.
    assert_eq!(setting.server.requests(), 1);
    for worker in [willing, unwilling] {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_a_killed_manager_stop_and_wait_for_another() {
    let setting = Setting::new().await;
    let mut manager = setting.manager(&["--duration=60s", "--users=4", "--out=run"]);
    let workers = [0, 1].map(|number| setting.worker(number, &[]));
    setting.until_loaded().await;
    // Waits past the warm-up, and two seconds more.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    manager.kill().unwrap();
    manager.wait().unwrap();
    let killed = Instant::now();
    // The manager's folder has what the manager had received.
    let kept = std::fs::read(setting.project.path("run/run.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept["interrupted"], true);
    let round = &kept["targets"][0]["rounds"][0];
    assert!(round["held_s"].as_f64().unwrap() >= 1.0, "{round}");
    assert!(round["whole"] == false && requests(&kept) > 0, "{round}");
    let mut before = setting.server.requests();
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = setting.server.requests();
        if now == before {
            break;
        }
        assert!(killed.elapsed() < Duration::from_secs(10), "load without a manager");
        before = now;
    }
    let next = setting.manager(&["--iterations=50", "--users=2", "--warmup=0s", "--out=next"]);
    let finished = setting.finished(next);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(requests(&finished.json()), 50);
    for worker in workers {
        signal(worker.id(), Signal::INT);
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_is_named() {
    let setting = Setting::new().await;
    let manager = setting.manager(&["--duration=4s", "--users=2", "--warmup=0s", "--out=run"]);
    let workers = [0, 1].map(|number| setting.worker(number, &["--once"]));
    setting.until_loaded().await;
    for _ in 0..9 {
        signal(workers[1].id(), Signal::STOP);
        tokio::time::sleep(Duration::from_millis(150)).await;
        signal(workers[1].id(), Signal::CONT);
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let slow = |verdict: &&Value| verdict["kind"] == "slow_worker";
    let verdict = document["verdicts"].as_array().unwrap().iter().find(slow).unwrap();
    assert!(verdict["message"].as_str().unwrap().contains("worker 1 was delayed"), "{verdict}");
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_can_neither_join_nor_disturb() {
    let setting = Setting::new().await;
    let manager = setting.manager(&["--duration=3s", "--users=2", "--warmup=0s", "--out=run"]);
    let first = setting.worker(0, &["--once"]);
    // One stranger has a join file of another manager.
    let other = Setting::new().await;
    let elsewhere = other.manager(&["--wait=500ms", "--duration=1s"]);
    assert_eq!(other.finished(elsewhere).code, Some(1));
    let foreign = std::fs::read_to_string(other.project.path("join/1")).unwrap();
    let mut foreign: Value = serde_json::from_str(&foreign).unwrap();
    foreign["address"] = setting.address.clone().into();
    std::fs::write(setting.project.path("join/foreign"), foreign.to_string()).unwrap();
    // The stranger tries until its `--wait` is over, and says why it could not join.
    let arguments = ["worker", "--join=join/foreign", "--wait=3s"];
    let start = Instant::now();
    let stranger = setting.project.command(&arguments).output().unwrap();
    let refused = Finished::of(stranger, &setting.project.path(""));
    assert_eq!(refused.code, Some(1), "{}", refused.said());
    assert!((2.0..10.0).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    let why = "is not the manager of this join file: invalid peer certificate";
    let said = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(why), "{}", refused.said());
    let second = setting.worker(1, &["--once"]);
    // During the run, some strangers open connections and say nothing, some
    // send nonsense, and one sends much nonsense.
    setting.until_loaded().await;
    let mut strangers = Vec::new();
    for n in 0..500 {
        let Ok(mut stranger) = TcpStream::connect(&setting.address) else {
            panic!("the manager is gone: {}", setting.finished(manager).said());
        };
        if n % 2 == 0 {
            let _ = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n");
        }
        strangers.push(stranger);
    }
    let mut loud = TcpStream::connect(&setting.address).unwrap();
    loud.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // A TLS record with a large length, which never ends.
    let _ = loud.write_all(&[&[0x16, 3, 3, 0xff, 0xff], &[7_u8; 1 << 20][..]].concat());
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.json()["degraded"].is_null());
    for worker in [first, second] {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_on_the_managers_port_ends_no_worker() {
    let setting = Setting::new().await;
    // The first manager writes the join files, and ends.
    let first = setting.manager(&["--wait=100ms"]);
    assert_eq!(setting.finished(first).code, Some(1));
    // Another process takes the port, and answers with a TLS alert: handshake failure.
    let listener = TcpListener::bind(&setting.address).unwrap();
    let workers = [0, 1].map(|number| setting.worker(number, &["--once"]));
    for _ in 0..6 {
        let (mut worker, _) = tokio::task::block_in_place(|| listener.accept().unwrap());
        let _ = worker.write_all(&[0x15, 3, 3, 0, 2, 2, 0x28]);
    }
    drop(listener);
    // Then another manager, with other certificates, takes the port.
    let other = Setting { address: setting.address.clone(), ..Setting::new().await };
    assert_eq!(other.finished(other.manager(&["--wait=3s"])).code, Some(1));
    let load = ["--iterations=50", "--users=2", "--warmup=0s", "--out=run"];
    let finished = setting.finished(setting.manager(&load));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(requests(&finished.json()), 50);
    for worker in workers {
        let finished = setting.finished(worker);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        for met in ["received fatal alert: HandshakeFailure", "invalid peer certificate"] {
            let said = finished.stderr.matches(met).count();
            assert_eq!(said, 1, "{met}: {}", finished.said());
        }
    }
}

#[test]
fn invalid_managers_and_workers_are_refused_with_a_reason() {
    let project = Project::real().file("broken", "{}");
    let manager = ["manager", "-s=direct", "--expect-workers=1"];
    let said: Vec<String> = [
        &[&manager[..], &["--listen=127.0.0.1:1"]].concat(),
        &[&manager[..], &["--listen=127.0.0.1:1", "--url=http://127.0.0.1:1", "--workers=2"]]
            .concat(),
        &[&manager[..], &["--listen=7447", "--url=http://127.0.0.1:1"]].concat(),
        &[&manager[..], &["--listen=192.0.2.1:7447", "--url=http://127.0.0.1:1"]].concat(),
        &[&manager[..], &["--listen=[::]:7447", "--advertise=0.0.0.0", "--url=http://127.0.0.1:1"]]
            .concat(),
        &[&manager[..], &["--listen=load 1:7447", "--url=http://127.0.0.1:1"]].concat(),
        &vec!["worker", "--join=nowhere"],
        &vec!["worker", "--join=broken"],
        &vec!["worker", "--join=broken", "--allow-target=http://a"],
    ]
    .into_iter()
    .map(|arguments| project.run(arguments).said())
    .collect();
    insta::assert_snapshot!(said.join("\n---\n"));
}

/// The manager may be on another host although the join file comes by standard input.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_its_join_file_on_standard_input_keeps_its_limits() {
    let setting = Setting::new().await;
    let listen = ["--expect-workers=1", "--listen", &setting.address];
    let manager = setting.manager_at(&listen, &["--iterations=20", "--warmup=0s", "--out=run"]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !setting.project.path("join/0").is_file() {
        assert!(Instant::now() < deadline, "there is no join file");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let words = ["worker", "--join=-", "--allow-target=elsewhere:8000"];
    let mut command = setting.project.command(&words);
    let mut worker = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let join = std::fs::read(setting.project.path("join/0")).unwrap();
    // Standard input stays open until the worker is dropped.
    let mut input = worker.stdin.take().unwrap();
    input.write_all(&join).and_then(|()| input.write_all(b"\n")).unwrap();
    let finished = setting.finished(manager);
    drop(input);
    worker.wait().unwrap();
    assert_ne!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stderr.contains("--allow-target does not name"), "{}", finished.said());
}
