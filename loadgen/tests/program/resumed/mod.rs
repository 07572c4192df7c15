//! `loadgen manager --resume`: another manager resumes a run whose manager has ended.

mod troubles;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::processes::{Started, signal};
use crate::common::program::Finished;
use crate::hosts::Setting;
use rustix::process::Signal;
use serde_json::{Value, json};

/// Iterations of a pass over a contender, of one request each, in a second.
const PASS: u64 = 50;

/// Requests of a pass: one more is the verification.
const SENT: u64 = PASS + 1;

/// A server measured against itself, so that a round has two passes.
const LOAD: [&str; 8] = [
    "--aa",
    "--rate=50",
    "--iterations=50",
    "--users=8",
    "--warmup=0s",
    "--lease=1s",
    "--no-progress",
    "--out=run",
];

impl Setting {
    fn two(&self, more: &[&str]) -> Started {
        let listen = ["--expect-workers=2", "--listen", &self.address];
        self.manager_at(&listen, &[&LOAD[..], more].concat())
    }

    fn resume(&self, folder: &str) -> Started {
        let mut command = self.project.command(&["manager", "--resume", folder]);
        Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Waits until the server has received this number of requests.
    async fn until_sent(&self, requests: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.server.requests() < requests {
            assert!(Instant::now() < deadline, "{} requests", self.server.requests());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the server receives no more requests, and returns their number.
    async fn until_silent(&self) -> u64 {
        let mut before = u64::MAX;
        while before != self.server.requests() {
            before = self.server.requests();
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
        before
    }

    /// Starts a run, and kills its manager when the server has received this number of requests.
    async fn killed(&self, more: &[&str], requests: u64) -> [Started; 2] {
        let mut manager = self.two(more);
        let workers = [0, 1].map(|number| self.worker(number, &[]));
        self.until_sent(requests).await;
        manager.kill().unwrap();
        manager.wait().unwrap();
        workers
    }

    fn record(&self, folder: &str) -> Value {
        let path = self.project.path(folder).join("run.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// Runs a manager that must not resume, and returns what it said, in one line.
    fn refused(&self, folder: &str, code: i32) -> String {
        let finished = self.finished(self.resume(folder));
        assert_eq!(finished.code, Some(code), "{}", finished.said());
        words(&finished)
    }
}

fn words(finished: &Finished) -> String {
    finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns number and requests of each round over a target.
fn rounds(target: &Value) -> Vec<(u64, u64)> {
    let of = |round: &Value| {
        assert_eq!(round["whole"], true, "{round}");
        (round["round"].as_u64().unwrap(), round["total"]["requests"].as_u64().unwrap())
    };
    target["rounds"].as_array().unwrap().iter().map(of).collect()
}

/// Returns the rounds with lower numbers, as JSON.
fn before(target: &Value, number: u64) -> Vec<Value> {
    let rounds = target["rounds"].as_array().unwrap();
    rounds.iter().filter(|round| round["round"].as_u64().unwrap() < number).cloned().collect()
}

/// Returns the content of each file of a folder.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let named = files
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()));
    let mut all: Vec<_> = named.collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_manager_was_killed_ends_as_if_it_was_not() {
    let setting = Setting::new().await;
    // Two rounds of two passes are over, and the first pass of the third one.
    let workers = setting.killed(&["--rounds=5"], 5 * SENT + 20).await;
    let cut = setting.until_silent().await;
    assert!(cut < 6 * SENT, "the second pass of the third round was cut off: {cut}");
    let earlier = setting.record("run");
    assert_eq!(earlier["interrupted"], true);
    let finished = setting.finished(setting.resume("run"));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stderr.contains("resuming the run with round 3: 2 rounds kept"));
    // The server has received three more rounds, and nothing else.
    assert_eq!(setting.server.requests() - cut, 3 * 2 * SENT);
    let record = finished.json();
    for (target, before_it) in [0, 1].map(|at| (&record["targets"][at], &earlier["targets"][at])) {
        assert_eq!(rounds(target), [1, 2, 3, 4, 5].map(|number| (number, PASS)));
        assert_eq!(target["total"]["requests"], 5 * PASS);
        assert_eq!(before(target, 3), before(before_it, 3), "kept as they were");
    }
    for field in ["started", "seed", "command", "sent", "environment", "load"] {
        assert_eq!(record[field], earlier[field], "{field}");
    }
    assert_eq!((&record["interrupted"], &record["degraded"]), (&json!(false), &Value::Null));
    let pair = &record["comparison"]["pairs"][0];
    assert_eq!(pair["rounds"], 5, "{pair}");
    let resumed = record["resumed"].as_array().unwrap();
    assert_eq!((resumed.len(), &resumed[0]["from_round"]), (1, &json!(3)), "{resumed:?}");
    assert!(resumed[0]["gap_s"].as_f64().unwrap() > 5.0, "the lease, and the end of a round");
    let verdicts = record["verdicts"].as_array().unwrap();
    let verdict = verdicts.iter().find(|verdict| verdict["kind"] == "resumed").unwrap();
    let message = verdict["message"].as_str().unwrap();
    assert!(message.contains("with round 3,"), "{message}");
    assert!(!setting.project.path("run/.resume").exists(), "a run that has ended keeps no secrets");
    let told = setting.refused("run", 2);
    assert!(told.contains("nothing_to_resume") && told.contains("the run is finished"), "{told}");
    for worker in workers {
        signal(worker.id(), Signal::TERM);
        let finished = setting.finished(worker);
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let joined = finished.stderr.matches("joined the manager").count();
        assert_eq!(joined, 2, "{}", finished.said());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_is_resumed_with_fresh_workers_after_the_lease() {
    let setting = Setting::new().await;
    let manager = setting.two(&["--rounds=3"]);
    let workers = [0, 1].map(|number| setting.worker(number, &["--once"]));
    setting.until_sent(2 * SENT + 20).await;
    let told = setting.refused("run", 1);
    assert!(told.contains("run_in_use") && told.contains("still runs"), "{told}");
    signal(manager.id(), Signal::TERM);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    assert!(words(&finished).contains("loadgen manager --resume run"), "{}", finished.said());
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
    assert_eq!(setting.record("run")["interrupted"], true);
    let cut = setting.until_silent().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    // From another folder: the paths of the command line are still those of the first one.
    let folder = setting.project.path("run");
    let mut command = setting.project.command(&["manager", "--resume", folder.to_str().unwrap()]);
    command.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped());
    let manager = Started::of(&mut command);
    let workers = [1, 0].map(|number| setting.worker(number, &["--once"]));
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(setting.server.requests() - cut, 2 * 2 * SENT);
    let record = finished.json();
    for target in record["targets"].as_array().unwrap() {
        assert_eq!(rounds(target), [1, 2, 3].map(|number| (number, PASS)));
    }
    assert_eq!(record["interrupted"], false);
    assert_eq!(record["resumed"][0]["from_round"], 2);
    for worker in workers {
        assert_eq!(setting.finished(worker).code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_rest_would_be_another_is_refused_and_stays_as_it_is() {
    let step = |path: &str| format!("[[step]]\nname = \"a\"\nget = \"{path}\"\n");
    let setting = Setting::new().await;
    let write = |text: &str| std::fs::write(setting.project.path("mine.toml"), text).unwrap();
    write(&step("/"));
    let url = ["--url", &setting.server.url];
    let mine = ["manager", "--scenario=./mine.toml", "--expect-workers=2", "--rounds=3"];
    let more = ["--wait=20s", "--listen", &setting.address];
    let mut command = setting.project.command(&[&mine[..], &LOAD, &more, &url].concat());
    let mut manager = Started::of(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let workers = [0, 1].map(|number| setting.worker(number, &[]));
    setting.until_sent(2 * SENT + 20).await;
    manager.kill().unwrap();
    manager.wait().unwrap();
    let kept = content(&setting.project.path("run/.resume"));
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..3], ["lock", "round-000001-0", "round-000001-1"], "{names:?}");

    write(&step("/slow/1"));
    let told = setting.refused("run", 2);
    assert!(told.contains("cannot_resume"), "{told}");
    assert!(told.contains("the scenario or the load has changed"), "{told}");
    write(&step("/"));

    let (join, elsewhere) = (setting.project.path("join"), setting.project.path("elsewhere"));
    std::fs::rename(&join, &elsewhere).unwrap();
    let told = setting.refused("run", 2);
    assert!(told.contains("the authority of the workers was"), "{told}");
    assert!(!join.exists(), "nothing was created");
    std::fs::rename(&elsewhere, &join).unwrap();

    let file = setting.project.path("run/.resume/round-000001-1");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let told = setting.refused("run", 1);
    assert!(told.contains("damaged_run") && told.contains("round-000001-1"), "{told}");
    std::fs::write(&file, &bytes).unwrap();

    let told = setting.refused("run/.resume", 2);
    assert!(told.contains("bad_saved_run"), "{told}");
    let other = ["run", "--scenario=direct", "--duration=1s", "--warmup=0s", "--out=other"];
    assert_eq!(setting.project.run(&[&other[..], &url].concat()).code, Some(0));
    let told = setting.refused("other", 2);
    assert!(told.contains("nothing_to_resume"), "{told}");
    let again = ["manager", "--expect-workers=2", "--listen=127.0.0.1:1", "--out=run", "-s=direct"];
    let told = setting.project.run(&[&again[..], &url].concat());
    assert!(words(&told).contains("loadgen manager --resume run"), "{}", told.said());

    // Interrupted while it waits for the lease.
    let manager = setting.resume("run");
    tokio::time::sleep(Duration::from_secs(3)).await;
    signal(manager.id(), Signal::TERM);
    let finished = setting.finished(manager);
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    let told = words(&finished);
    assert!(told.contains("interrupted before anything was measured"), "{told}");

    // Of two workers, one comes.
    let [one, other] = workers;
    drop(other);
    let told = setting.refused("run", 2);
    let why = "its load was shared by 2 workers, and 1 have joined";
    assert!(told.contains("cannot_resume") && told.contains(why), "{told}");
    assert_eq!(content(&setting.project.path("run/.resume")), kept, "the folder is as it was");
    drop(one);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_goes_on_to_its_precision() {
    let setting = Setting::new().await;
    let precision = ["--precision=0.1", "--rounds=5", "--rounds-max=7"];
    // The first stage is over, and a round of the second one.
    let workers = setting.killed(&precision, 2 * 6 * SENT + 20).await;
    // At once, within the lease of the workers.
    let finished = setting.finished(setting.resume("run"));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    // Besides all rounds, the server has received a part of a pass.
    let cut = setting.server.requests() - 2 * 7 * SENT;
    assert!((20..SENT).contains(&cut), "{cut}");
    let record = finished.json();
    for target in record["targets"].as_array().unwrap() {
        assert_eq!(rounds(target).len(), 7);
    }
    let took = record["precision"]["took_s"].as_f64().unwrap();
    assert!(took > 2.0 * 7.0 * 0.9, "the time of all rounds: {took}");
    drop(workers);
}
