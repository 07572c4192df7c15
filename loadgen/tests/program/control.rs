//! `loadgen ctl` and the terminal: commands to a run in progress, and what a server sees of them.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::processes::Started;
use crate::common::program::{Finished, Project};
use rexpect::process::WaitStatus;
use rexpect::session::spawn_command;
use serde_json::{Value, json};
use tokio::task::block_in_place;

const DEADLINE: Duration = Duration::from_secs(30);

/// A run in progress.
struct Run {
    server: Counting,
    project: Project,
    folder: String,
    started: Started,
}

impl Run {
    /// Starts a run whose requests take 0.1 s each, and waits until the load begins.
    async fn start(load: &str, folder: &str, more: &[&str]) -> Self {
        let server = Counting::start().await;
        let scenario = format!("[load]\n{load}\n[[step]]\nget = \"/slow/100\"\n");
        let project = Project::real().file("slow.toml", &scenario);
        let out = format!("--out={folder}");
        let fixed = ["-s=slow.toml", "--url", &server.url, "--warmup=0s", "--no-calibrate", &out];
        let mut command = project.command(&[&fixed[..], &["--format=json"], more].concat());
        let started = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let run = Self { server, project, folder: folder.to_owned(), started };
        // The first request is the verification's.
        run.until("the load begins", || run.server.requests() > 3).await;
        run
    }

    /// Runs `loadgen ctl` for this run.
    fn ctl(&self, words: &[&str]) -> Finished {
        let run = format!("--run={}", self.folder);
        block_in_place(|| self.project.run(&[&["ctl", run.as_str()], words].concat()))
    }

    /// Runs `loadgen ctl` for this run, which must succeed, and returns its answer.
    #[track_caller]
    fn obeys(&self, words: &[&str]) -> String {
        let told = self.ctl(words);
        assert_eq!(told.code, Some(0), "{}", told.said());
        told.stdout
    }

    async fn until(&self, what: &str, is: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is() {
            assert!(begin.elapsed() < DEADLINE, "waited in vain: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the server sees exactly `users` users: the maximum of simultaneous requests over
    /// 0.4 s, which is some requests of each user.
    async fn until_users(&self, users: u64) {
        let begin = Instant::now();
        loop {
            self.server.take_most_under_way();
            tokio::time::sleep(Duration::from_millis(400)).await;
            let seen = self.server.take_most_under_way();
            if seen == users {
                return;
            }
            assert!(begin.elapsed() < DEADLINE, "{seen} users instead of {users}");
        }
    }

    /// Returns the requests per second, measured for 1.5 s.
    async fn rate(&self) -> f64 {
        let (begin, before) = (Instant::now(), self.server.requests());
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        (self.server.requests() - before) as f64 / begin.elapsed().as_secs_f64()
    }

    /// Waits for the run's end, and returns its output and its project.
    fn finished(self) -> (Finished, Project) {
        let output = block_in_place(|| self.started.output());
        (Finished::of(output, &self.project.path("")), self.project)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_added_and_removed_in_one_process() {
    let run = Run::start("users = 3\nduration = \"8s\"", "run", &["--rounds=2"]).await;
    run.until_users(3).await;
    let socket = run.project.path("run/ctl.sock");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let answer = run.obeys(&["users", "40"]);
    assert!(answer.starts_with("40 users from second "), "{answer}");
    assert!(answer.ends_with(&format!(" of the round over {}\n", run.server.url)), "{answer}");
    run.until_users(40).await;
    run.obeys(&["users", "2"]);
    run.until_users(2).await;
    // The next round has the planned load.
    run.until_users(3).await;
    let url = run.server.url.clone();
    let (finished, _project) = run.finished();
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stderr.contains(&format!("of the round over {url}\n")), "it is noted");
    assert!(!socket.exists(), "the way in is closed");
    let document = finished.json();
    let rounds = document["targets"][0]["rounds"].as_array().unwrap();
    let users: Vec<&Value> =
        rounds[0]["changes"].as_array().unwrap().iter().map(|change| &change["users"]).collect();
    assert_eq!(users, [&json!(40), &json!(2)]);
    assert_eq!(rounds[0]["changes"][0]["rate_per_s"], Value::Null);
    let whole: Vec<&Value> = rounds.iter().map(|round| &round["whole"]).collect();
    assert_eq!(whole, [&json!(false), &json!(true)]);
    assert_eq!((&rounds[1]["changes"], &document["degraded"]), (&json!([]), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_added_to_workers_that_had_none() {
    let run = Run::start("users = 1\nduration = \"10s\"", "run", &["--workers=2"]).await;
    run.until_users(1).await;
    run.obeys(&["users", "31"]);
    run.until_users(31).await;
    run.obeys(&["users", "4"]);
    run.until_users(4).await;
    let seen = run.server.requests();
    let (finished, _) = run.finished();
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = &document["targets"][0];
    assert_eq!(target["rounds"][0]["whole"], false);
    assert_eq!(target["rounds"][0]["held_s"], 10.0);
    assert!(target["total"]["requests"].as_u64().unwrap() >= seen - 5, "the server saw {seen}");
    let workers = target["workers"].as_array().unwrap();
    assert!(workers.iter().all(|worker| worker["requests"].as_u64().unwrap() > 100), "{workers:?}");
}

/// Folder whose path is longer than the path of a socket may be.
const LONG: &str = "a-folder-with-a-name-that-is-too-long-for-the-path-of-a-socket-which-is-108-bytes/\
                    and-another-one-in-it-so-that-the-path-is-too-long-without-the-first-as-well";

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_changed_and_the_run_is_stopped() {
    for more in [&[][..], &["--workers=2"]] {
        let load = "model = \"open\"\nrate = 60\nusers = 100\nduration = \"1m\"";
        let run = Run::start(load, LONG, more).await;
        let before = run.rate().await;
        assert!((42.0..78.0).contains(&before), "{before} requests/s instead of 60");
        let answer = run.obeys(&["rate", "180"]);
        assert!(answer.starts_with("180 requests/s from second "), "{answer}");
        tokio::time::sleep(Duration::from_millis(700)).await;
        let after = run.rate().await;
        assert!((126.0..234.0).contains(&after), "{after} requests/s instead of 180");
        assert_eq!(
            run.obeys(&["stop"]),
            "the run ends; loadgen reports and saves the results so far\n"
        );
        let (finished, _) = run.finished();
        assert_eq!(finished.code, Some(130), "{}", finished.said());
        let document = finished.json();
        assert_eq!(document["interrupted"], true);
        assert_eq!(document["targets"][0]["rounds"][0]["changes"][0]["rate_per_s"], 180.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_changes_are_refused_with_a_reason() {
    let closed = Run::start("users = 2\nduration = \"1m\"", "run", &[]).await;
    let open = "model = \"open\"\nrate = 20\nduration = \"1m\"";
    let open = Run::start(open, "run", &[]).await;
    let counted = Run::start("users = 2\niterations = 10_000", "run", &[]).await;
    drop(UnixListener::bind(closed.project.path("ctl.sock")).unwrap());
    let elsewhere = |folder: &str| {
        let run = format!("--run={folder}");
        block_in_place(|| closed.project.run(&["ctl", &run, "stop"]))
    };
    let said: Vec<String> = [
        closed.ctl(&["users", "0"]),
        closed.ctl(&["users", "1000001"]),
        closed.ctl(&["rate", "500"]),
        open.ctl(&["users", "5"]),
        open.ctl(&["rate", "0"]),
        open.ctl(&["rate", "nan"]),
        counted.ctl(&["users", "5"]),
        // No folder, the folder of something else, and the folder of a run that has ended.
        elsewhere("nowhere"),
        elsewhere("scenarios"),
        elsewhere("."),
    ]
    .iter()
    .map(Finished::said)
    .collect();
    insta::assert_snapshot!(said.join("\n---\n"));
    for run in [closed, open, counted] {
        run.obeys(&["stop"]);
        let (finished, _) = run.finished();
        assert_eq!(finished.code, Some(130), "{}", finished.said());
        let document = finished.json();
        assert_eq!(document["targets"][0]["rounds"][0]["changes"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn between_rounds_a_run_can_be_stopped_but_not_changed() {
    let project = Project::real();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let arguments = ["manager", "-s=direct", "--url=http://127.0.0.1:1", "--expect-workers=1"];
    let listen = [&format!("--listen={free}"), "--out=run"];
    let mut command = project.command(&[&arguments[..], &listen].concat());
    let manager = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let begin = Instant::now();
    while !project.path("run/ctl.sock").exists() {
        assert!(begin.elapsed() < DEADLINE, "the run has no way in");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let ctl =
        |words: &[&str]| block_in_place(|| project.run(&[&["ctl", "--run=run"], words].concat()));
    insta::assert_snapshot!(ctl(&["users", "5"]).said());
    assert_eq!(ctl(&["stop"]).code, Some(0));
    let finished = Finished::of(block_in_place(|| manager.output()), &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    assert!(finished.stderr.contains("interrupted before anything was measured"));
    assert!(!project.path("run").exists(), "an empty folder is not left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_can_be_typed_on_the_terminal() {
    let server = Counting::start().await;
    let project = Project::real();
    let load = ["--users=2", "--duration=60s", "--out=run", "--no-calibrate", "--no-progress"];
    let mut command = project.command(&[&["-s=direct", "--url", &server.url][..], &load].concat());
    command.stdin(Stdio::inherit()).env("TERM", "xterm");
    block_in_place(|| {
        let mut terminal = spawn_command(command, Some(30_000)).unwrap();
        terminal.exp_string("requests/s").unwrap();
        terminal.send_line("users 9").unwrap();
        terminal.exp_string("9 users from second").unwrap();
        terminal.send_line("faster").unwrap();
        terminal.exp_string("unknown_request: unknown request \"faster\"").unwrap();
        terminal.exp_string("write `users N`, `rate R` or `stop`").unwrap();
        terminal.send_line("rate 5").unwrap();
        terminal.exp_string("change the number of users instead").unwrap();
        terminal.send_line("stop").unwrap();
        terminal.exp_string("the run ends").unwrap();
        let rest = terminal.exp_eof().unwrap();
        assert!(rest.contains("load changed during the run: 9 users from second"), "{rest}");
        let status = terminal.process().wait().unwrap();
        assert!(matches!(status, WaitStatus::Exited(_, 130)), "{status:?}\n{rest}");
    });
}
