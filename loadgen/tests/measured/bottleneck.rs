//! Bottlenecks: a generator and a backend that are starved on
//! purpose, and the maximum rate of the generator.

use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::machine;
use crate::common::processes::{Started, named, tree};
use crate::common::program::{Finished, Project};
use loadgen::lab::Layout;
use loadgen::lab::cpus::{available, pin_self};
use rustix::process::{Pid, setpriority_process};
use serde_json::{Value, json};
use tokio::task::block_in_place;

/// Keeps a CPU busy until it is dropped.
pub struct Spinner {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    pub fn on(cpus: &[usize]) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (cpus, ended) = (cpus.to_owned(), over.clone());
        let thread = std::thread::spawn(move || {
            pin_self(&cpus).unwrap();
            while !ended.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Starts a run of one round against sanic, and waits until a process with this command line
/// exists. Returns the run and the id of that process.
#[allow(clippy::zombie_processes, reason = "whoever asked for it waits for it")]
fn started(project: &Project, scenario: &str, command_line: &str) -> (Child, u32) {
    let arguments = ["-t=sanic", "--rounds=1", "--warmup=500ms", "--duration=2s", "--format=json"];
    let mut command =
        project.command(&[&["-s", scenario, "--no-calibrate"], &arguments[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        // The guard has the service's command line in its own, too, and is the older process.
        if let Some(pid) =
            named(&tree(child.id()), command_line).into_iter().filter(not_a_guard).max()
        {
            return (child, pid);
        }
        assert!(Instant::now() < deadline, "{command_line} has not been started");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn not_a_guard(pid: &u32) -> bool {
    named(&[*pid].into(), "loadgen guard").is_empty()
}

/// Gives a process a smaller share of a CPU that it shares with others.
fn renice(pid: u32, nice: i32) {
    setpriority_process(Pid::from_raw(pid.cast_signed()), nice).unwrap();
}

/// Gives each thread of a process a smaller share of its CPU: on Linux, each thread has its own nice
/// value.
pub fn renice_threads(pid: u32, nice: i32) {
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        renice(task.file_name().to_str().unwrap().parse().unwrap(), nice);
    }
}

fn document(child: Child, project: &Project) -> Value {
    let finished = Finished::of(child.wait_with_output().unwrap(), &project.path(""));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    finished.json()
}

#[track_caller]
fn assert_not_ranked(document: &Value, bottleneck: &Value, verdict: &str) {
    let target = &document["targets"][0];
    let why = format!("{}\n{}", target["resources"], target["rounds"][0]["cpus_busy_percent"]);
    assert_eq!(target["bottleneck"], *bottleneck, "{why}");
    assert_eq!(document["comparison"]["ranking"], json!([]));
    assert_eq!(document["comparison"]["unranked"], json!(["sanic"]));
    let verdicts = document["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().any(|v| v["kind"] == *verdict), "{verdicts:?}");
}

#[test]
fn a_starved_generator_is_the_bottleneck() {
    let _alone = machine::alone_now();
    let layout = Layout::here(1);
    let [cpu] = layout.generator[..] else {
        return eprintln!("skipped: it takes a machine whose generator has one CPU: {layout:?}");
    };
    let project = Project::real();
    let (child, _) = started(&project, "direct", "targets.sanic_app");
    // No less: at nice 15 it may stand still for so long that the round does not count.
    renice_threads(child.id(), 10);
    let spinner = Spinner::on(&[cpu]);
    let document = document(child, &project);
    drop(spinner);
    assert_not_ranked(&document, &json!("generator"), "generator_bound");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_starved_worker_of_another_host_is_the_bottleneck() {
    let _alone = machine::alone().await;
    let [cpu, _, ..] = available()[..] else {
        return eprintln!("skipped: it takes two CPUs");
    };
    let (project, server) = (Project::bare(), Counting::start().await);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("--listen=127.0.0.1:{port}");
    let words = ["manager", "--expect-workers=1", &listen, "--format=json"];
    let load = [&server.url, "--users=20", "--warmup=500ms", "--duration=3s"];
    let manager = Started::of(
        project
            .command(&[&words[..], &load].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let join = project.path("join/0");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !join.is_file() {
        assert!(Instant::now() < deadline, "there is no join file");
        std::thread::sleep(Duration::from_millis(20));
    }
    let one = format!("--cpus={cpu}");
    let worker = Started::of(&mut project.command(&["worker", "--once", "--join=join/0", &one]));
    let spinner = Spinner::on(&[cpu]);
    while server.requests() < 100 {
        assert!(Instant::now() < deadline, "no load");
        std::thread::sleep(Duration::from_millis(20));
    }
    renice_threads(worker.id(), 10);
    let finished = block_in_place(|| Finished::of(manager.output(), &project.path("")));
    drop((spinner, worker));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = &document["targets"][0];
    assert_eq!(target["bottleneck"], json!("generator"), "{}", target["workers"]);
    assert_eq!(target["resources"], json!({}), "the manager is not the generator");
    assert_eq!(target["rounds"][0]["cpus_busy_percent"], json!({}), "nor its CPUs");
    let verdicts = document["verdicts"].to_string();
    let said = "1 of 1 worker had no more CPU";
    assert!(verdicts.contains("generator_bound") && verdicts.contains(said), "{verdicts}");
}

#[test]
fn a_starved_backend_is_the_bottleneck() {
    let _alone = machine::alone_now();
    let layout = Layout::here(1);
    let [cpu] = layout.backends[..] else {
        return eprintln!("skipped: it takes a machine whose backends have one CPU: {layout:?}");
    };
    let project = Project::real();
    let (child, redis) = started(&project, "redis3", "redis-server");
    renice_threads(redis, 15);
    let spinner = Spinner::on(&[cpu]);
    let document = document(child, &project);
    drop(spinner);
    assert_not_ranked(&document, &json!({ "backend": "redis" }), "backend_bound");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_noise_floor_is_kept_for_later_comparisons() {
    let _beside = machine::beside().await;
    let server = Counting::start().await;
    let project = Project::real();
    let run = |more: &[&str]| {
        let fixed =
            ["-s=direct", "--duration=200ms", "--warmup=0s", "--format=json", "--no-calibrate"];
        let mut command = project.command(&[&fixed[..], &["--url", &server.url], more].concat());
        let finished = Finished::of(command.output().unwrap(), &project.path(""));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        finished.json()
    };
    tokio::task::block_in_place(|| {
        assert_eq!(run(&["--users=2"])["noise_floor"], Value::Null);
        let itself = run(&["--users=2", "--aa"]);
        assert_eq!(itself["noise_floor"], Value::Null, "it has its own");
        let later = run(&["--users=2"]);
        let floor = &later["noise_floor"];
        assert_eq!(floor["percent"], itself["comparison"]["noise_floor_percent"]);
        assert_eq!((&floor["scenario"], &floor["target"]), (&json!("direct"), &json!(server.url)));
        assert_eq!(floor["started"], itself["started"]);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_not_calibrated() {
    let _beside = machine::beside().await;
    let server = Counting::start().await;
    let project = Project::real();
    let fixed = ["-s=direct", "--users=4", "--duration=300ms", "--warmup=0s", "--format=json"];
    let finished = tokio::task::block_in_place(|| {
        project.run(&[&fixed[..], &["--url", &server.url]].concat())
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(finished.json()["calibration"], Value::Null);
    assert!(!project.path("cache/loadgen/calibration.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_generator_is_calibrated_once() {
    let _alone = machine::alone().await;
    if std::thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: generator and target share a CPU here");
        return;
    }
    let target = "[terse]\nframework = \"none\"\nserver = \"sized\"\npackages = []\n\
                  command = [\"python\", \"sized.py\", \"{host}\", \"{port}\", \"{workers}\", \"20\"]\n";
    let project = Project::with_targets(target)
        .file("sized.py", include_str!("../data/sized.py"))
        .file("one.toml", "[[step]]\nname = \"page\"\nget = \"/\"\n")
        .file("two.toml", "[[step]]\nname = \"page\"\nget = \"/other\"\n")
        .file("moved.toml", "http = { redirects = 1 }\n[[step]]\nget = \"/\"\n")
        .file("cookies.toml", "http = { cookies = true }\n[[step]]\nget = \"/\"\n");
    let once = |more: &[&str]| {
        let fixed = ["--rounds=1", "--duration=300ms", "--warmup=0s", "--format=json"];
        let finished = project.run(&[&fixed[..], &["--target=terse"], more].concat());
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        finished.json()["calibration"].clone()
    };
    // A disturbed calibration is discarded, so that a later run repeats it.
    let run = |more: &[&str]| {
        let mut tries = (0..10).map(|_| once(more));
        tries.find(|found| !found.is_null()).expect("other programs use the CPUs all the time")
    };
    tokio::task::block_in_place(|| {
        assert_eq!(once(&["-s=one.toml", "--users=4", "--no-calibrate"]), Value::Null);
        assert_eq!(once(&["-s=moved.toml", "--users=4"]), Value::Null);
        let first = run(&["-s=one.toml", "--users=4"]);
        assert_eq!((&first["earlier"], &first["own_steps"]), (&json!(false), &json!(true)));
        assert!(first["rate_per_s"].as_f64().unwrap() > 0.0);
        let again = run(&["-s=one.toml", "--users=4"]);
        assert_eq!(again["earlier"], true);
        assert_eq!(again["rate_per_s"], first["rate_per_s"]);
        assert_eq!(run(&["-s=two.toml", "--users=4"])["earlier"], false, "other requests");
        assert_eq!(run(&["-s=cookies.toml", "--users=4"])["earlier"], false, "users with cookies");
        assert_eq!(run(&["-s=one.toml", "--users=5"])["earlier"], false, "another load");
        let workers = run(&["-s=one.toml", "--users=4", "--workers=1"]);
        assert_eq!(workers["earlier"], false, "another generator");
        std::fs::write(project.path("cache/loadgen/calibration.json"), "{ half").unwrap();
        assert_eq!(run(&["-s=one.toml", "--users=4"])["earlier"], false, "it can't be read");
    });
}
