//! `--on-worker-loss`: one of three workers is lost, and the run goes on without it.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::machine;
use crate::common::processes::{assert_gone, named, signal, tree};
use crate::common::program::Project;
use rustix::process::Signal;
use serde_json::Value;

/// A light load, which leaves the machine time to notice the loss.
const SCENARIO: &str = "load = { users = 6, think_time = \"5ms\" }\n[[step]]\nget = \"/\"\n";

/// Outcome of a run that lost a worker.
struct Lossy {
    /// Time from the signal to the line on stderr that reports the loss.
    seen_after: Duration,
    exit_code: Option<i32>,
    /// Report on stdout, with the port replaced by letters of the same width.
    report: String,
    document: Value,
}

/// Sends `how` to one of a run's three workers, 2.5 s into the first round.
async fn lose(how: Signal, reaction: &str, rounds: &str, duration: &str) -> Lossy {
    let _alone = machine::alone().await;
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", SCENARIO);
    let fixed = ["-s=mine.toml", "--url", &server.url, "--workers=3", "--out=run"];
    let reaction = format!("--on-worker-loss={reaction}");
    let lossy = [&reaction, "--warmup=300ms", "--no-calibrate", rounds, duration];
    let mut command = project.command(&[&fixed[..], &lossy[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let telling = thread::spawn(move || {
        let told = lines.map_while(Result::ok).map(|line| (Instant::now(), line));
        told.collect::<Vec<_>>()
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.requests() < 100 {
        assert!(Instant::now() < deadline, "the load has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let pids = tree(child.id());
    let mut workers = named(&pids, "loadgen worker");
    workers.sort_unstable();
    assert_eq!(workers.len(), 3);
    let harmed = Instant::now();
    signal(workers[1], how);
    let mut report = String::new();
    let exit_code = tokio::task::block_in_place(|| {
        child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        child.wait().unwrap().code()
    });
    let told = telling.join().unwrap();
    let (seen, line) = told.iter().find(|(_, line)| line.contains("was lost")).unwrap();
    assert!(line.ends_with("; the other workers continue"), "{line}");
    assert_gone(&pids, Duration::from_secs(2));
    let document =
        serde_json::from_slice(&std::fs::read(project.path("run/run.json")).unwrap()).unwrap();
    let port = server.url.rsplit(':').next().unwrap();
    let report = report.replace(port, &"P".repeat(port.len()));
    Lossy { seen_after: seen.duration_since(harmed), exit_code, report, document }
}

/// Returns the report's lines about the loss, with the numbers of the worker and the second hidden.
fn degraded(report: &str) -> String {
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let lines = report.lines().skip_while(|line| !line.starts_with(" ! degraded"));
    let said: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    // The kernel decides which worker has which number, and the machine's speed decides the second.
    let hidden = |text: &str, behind: &str| match text.split_once(behind) {
        Some((before, after)) => format!("{before}{behind}N{}", &after[1..]),
        None => text.to_owned(),
    };
    hidden(&hidden(&said.join("\n"), "worker "), "in second ")
}

fn check_document(lossy: &Lossy, rounds: usize) {
    let target = &lossy.document["targets"][0];
    let measured = target["rounds"].as_array().unwrap();
    assert_eq!(measured.len(), rounds, "the run went on");
    let lost = &lossy.document["degraded"]["lost"];
    assert_eq!(lost.as_array().unwrap().len(), 1, "{lost}");
    assert_eq!(lost[0]["users"], 2, "{lost}");
    assert_eq!((&lost[0]["round"], &lost[0]["target"]), (&1.into(), &target["name"]));
    assert!((1..=7).contains(&lost[0]["second"].as_u64().unwrap()), "{lost}");
    for round in measured {
        assert_eq!((&round["users_planned"], &round["users_achieved"]), (&6.into(), &4.into()));
        assert_eq!((&round["whole"], &round["total"]["errors"]), (&false.into(), &0.into()));
        assert_eq!(round["held_s"], lossy.document["load"]["duration_s"], "to its planned end");
    }
    let workers = target["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 3);
    assert!(workers.iter().all(|worker| worker["requests"].as_u64().unwrap() > 0), "{workers:?}");
    assert!(workers.iter().all(|worker| worker["lag_max_ms"].is_f64()), "{workers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_without_a_killed_worker() {
    let lossy = lose(Signal::KILL, "continue", "--rounds=2", "--duration=4s").await;
    println!("seen after {:?}", lossy.seen_after);
    assert!(lossy.seen_after < Duration::from_secs(1), "{:?}", lossy.seen_after);
    assert_eq!(lossy.exit_code, Some(5), "{}", lossy.report);
    check_document(&lossy, 2);
    let why = &lossy.document["degraded"]["lost"][0]["why"];
    assert_eq!(why, "its process ended (signal: 9 (SIGKILL))");
    insta::assert_snapshot!(degraded(&lossy.report));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_without_a_paused_worker() {
    let lossy = lose(Signal::STOP, "continue", "--rounds=1", "--duration=8s").await;
    println!("seen after {:?}", lossy.seen_after);
    assert!(lossy.seen_after < Duration::from_secs(4), "{:?}", lossy.seen_after);
    assert_eq!(lossy.exit_code, Some(5), "{}", lossy.report);
    check_document(&lossy, 1);
    let why = &lossy.document["degraded"]["lost"][0]["why"];
    assert_eq!(why, "it no longer answers, although its process runs");
    insta::assert_snapshot!(degraded(&lossy.report));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_with_the_load_of_a_killed_worker() {
    let lossy = lose(Signal::KILL, "redistribute", "--rounds=2", "--duration=4s").await;
    assert_eq!(lossy.exit_code, Some(5), "{}", lossy.report);
    let target = &lossy.document["targets"][0];
    let rounds = target["rounds"].as_array().unwrap();
    let is_whole: Vec<_> = rounds.iter().map(|round| round["whole"].as_bool().unwrap()).collect();
    assert_eq!(is_whole, [false, true], "the round of the loss is marked");
    for round in rounds {
        let users = (&round["users_planned"], &round["users_achieved"]);
        assert_eq!(users, (&6.into(), &6.into()), "all users were there at the end");
        assert_eq!(round["total"]["errors"], 0);
    }
    let lost = &lossy.document["degraded"]["lost"];
    assert_eq!((lost.as_array().unwrap().len(), &lost[0]["users"]), (1, &2.into()), "{lost}");
    let (second, taken) = (lost[0]["second"].as_f64().unwrap(), lost[0]["taken_over_s"].as_f64());
    assert!(taken.is_some_and(|taken| taken > second && taken < second + 3.0), "{lost}");
    let words: Vec<&str> = lossy.report.split_whitespace().collect();
    let said = words.join(" ");
    assert!(said.contains("and the others carried its load from second"), "{said}");
    assert!(lossy.report.lines().all(|line| line.chars().count() <= 80), "{}", lossy.report);
}

#[test]
fn what_others_cannot_take_over_is_refused() {
    let once = "[load]\nusers = 2\nduration = \"1s\"\n[rows.codes]\nfile = \"codes.csv\"\nuse = \"once\"\n\
                [[step]]\nget = \"/{{ codes.code }}\"\n";
    let shared = "[load]\nusers = 2\nduration = \"1s\"\n[http]\nversion = \"2\"\nconnections = 2\n[[step]]\n\
                  get = \"/\"\n";
    let project = Project::bare().file("codes.csv", "code\na\nb\nc\n");
    let project = project.file("once.toml", once).file("shared.toml", shared);
    for (scenario, why) in
        [("once.toml", "rows that are used once"), ("shared.toml", "to users that share")]
    {
        let words = ["-s", scenario, "--url=http://127.0.0.1:1", "--workers=2"];
        let finished = project.run(&[&words[..], &["--on-worker-loss=redistribute"]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.contains(why), "{}", finished.said());
    }
}

#[test]
fn an_unknown_reaction_to_a_loss_is_refused() {
    let finished = Project::real().run(&["-s=direct", "--on-worker-loss=retry"]);
    assert_eq!(finished.code, Some(2), "{}", finished.said());
    assert!(
        finished.stderr.contains("[possible values: fail, continue, redistribute]"),
        "{}",
        finished.said()
    );
}
