//! Targets that are up at the same time and are loaded in turn, several times in each start.

use std::collections::{BTreeSet, HashSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone, tree};
use crate::common::program::{Finished, Project};

const SCENARIO: &str = "[load]\nusers = 2\n[[step]]\nget = \"/slow/2\"\n";

/// Returns the names of the targets in the order in which they were loaded, from the progress lines.
fn order(finished: &Finished) -> Vec<&str> {
    let lines = finished.stderr.lines().filter_map(|line| line.strip_prefix('[')?.split_once("] "));
    lines.map(|(_, rest)| rest.split(':').next().unwrap()).collect()
}

fn rounds(target: &Value) -> &Vec<Value> {
    target["rounds"].as_array().unwrap()
}

/// Measures two servers that run already.
async fn servers(arguments: &[&str]) -> (Finished, [u64; 2]) {
    let (one, other) = (Counting::start().await, Counting::start().await);
    let project = Project::real().file("mine.toml", SCENARIO);
    let url = format!("--url=a={},b={}", one.url, other.url);
    let fixed = ["-s=mine.toml", "--warmup=0s", "--format=json", "--out=run", &url];
    let finished = tokio::task::block_in_place(|| project.run(&[&fixed, arguments].concat()));
    (finished, [one.requests(), other.requests()])
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_are_counterbalanced_and_starts_are_the_unit() {
    let (finished, _) = servers(&["--slices=4", "--rounds=5", "--duration=400ms"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let loaded = order(&finished);
    assert_eq!(loaded.len(), 2 * 4 * 5);
    let [first, second] = [loaded[0], loaded[1]];
    let expected: Vec<&str> = [first, second, second, first].repeat(10);
    assert_eq!(loaded, expected, "AB, BA over all starts");
    let document = finished.json();
    let load = &document["load"];
    assert_eq!((&load["slices"], &load["rounds"]), (&json!(4), &json!(5)));
    assert_eq!(load["duration_s"], json!(0.1), "of each slice");
    for target in document["targets"].as_array().unwrap() {
        for (number, round) in (1..).zip(rounds(target)) {
            let place =
                json!({ "start": (number - 1) / 4 + 1, "number": (number - 1) % 4 + 1, "of": 4 });
            assert_eq!((&round["round"], &round["slice"]), (&json!(number), &place));
            assert_eq!((&round["whole"], &round["held_s"]), (&json!(true), &json!(0.1)));
            assert!(round["total"]["requests"].as_u64().unwrap() > 0, "{round}");
        }
        assert_eq!(rounds(target).len(), 20);
    }
    let pair = &document["comparison"]["pairs"][0];
    assert_eq!((&pair["rounds"], &pair["freedom"]), (&json!(5), &json!(4.0)));
    let variation = &document["slices"]["pairs"][0];
    assert_eq!(variation["starts"], json!(5));
    assert!(variation["slices_deviation_percent"].as_f64().unwrap() > 0.0, "{variation}");
    assert!(variation["starts_deviation_percent"].as_f64().is_some(), "{variation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_load_slices() {
    let arguments = ["--slices=2", "--rounds=1", "--duration=400ms", "--workers=2"];
    let (finished, received) = servers(&arguments).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    for (target, received) in document["targets"].as_array().unwrap().iter().zip(received) {
        assert_eq!(rounds(target).len(), 2);
        let counted: u64 =
            rounds(target).iter().map(|round| round["total"]["requests"].as_u64().unwrap()).sum();
        assert!(counted > 0 && counted <= received, "{counted} {received}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_precision_adds_starts() {
    let arguments =
        ["--slices=2", "--rounds=5", "--precision=0.1", "--rounds-max=6", "--duration=200ms"];
    let (finished, _) = servers(&arguments).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["comparison"]["stages"], json!([5, 6]));
    assert_eq!(document["comparison"]["pairs"][0]["rounds"], json!(6));
    let last = rounds(&document["targets"][0]).last().unwrap();
    assert_eq!((&last["round"], &last["slice"]["start"]), (&json!(12), &json!(6)));
}

#[test]
fn each_server_is_started_once_for_all_slices_of_a_start() {
    let project = Project::real();
    let finished = project.run(&[
        "-s=direct",
        "-t=sanic,fastapi",
        "--users=4",
        "--slices=3",
        "--rounds=2",
        "--duration=1500ms",
        "--warmup=300ms",
        "--format=json",
        "--out=run",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let log = |name: &str| std::fs::read_to_string(project.path(&format!("run/{name}.log"))).ok();
    for start in [1, 2] {
        let sanic = log(&format!("sanic-{start}")).unwrap();
        assert_eq!(sanic.matches("Worker ready").count(), 1, "{sanic}");
        assert!(log(&format!("fastapi-{start}")).is_some());
    }
    assert_eq!(log("sanic-3"), None, "there are six slices, but two starts");
    let document = finished.json();
    let mut urls = BTreeSet::new();
    for target in document["targets"].as_array().unwrap() {
        assert_eq!(target["total"]["errors"], json!(0));
        urls.insert(target["url"].as_str().unwrap().to_owned());
        for round in rounds(target) {
            let used = |service: &str| round["resources"][service]["cpu_s"].as_f64().unwrap();
            // The target that is loaded works, and the other one does not.
            assert!(used("target") > 10.0 * used("idle targets"), "{round}");
            assert_eq!(round["postgres"], Value::Null);
        }
        let resources = &target["resources"];
        assert_eq!(resources["idle targets"]["cpu_us_per_request"], Value::Null);
        let idle = |service: &str| resources[service]["memory_idle_bytes"].as_u64();
        assert!(idle("target").is_some(), "before the first slice of each start: {resources}");
    }
    assert_eq!(urls.len(), 2, "both are up at the same time");
    let page = std::fs::read_to_string(project.path("run/report.html")).unwrap();
    assert!(page.contains("2 starts of 3 slices of 500ms"));
}

#[test]
fn thresholds_are_judged_and_proofs_are_skipped() {
    let project = Project::real().file(
        "mine.toml",
        "backends = [\"redis\"]\n\
         [load]\nusers = 4\nduration = \"600ms\"\n\
         [[step]]\nget = \"/\"\n\
         [[proof]]\nredis = \"DBSIZE\"\nvalue = 0\n\
         [thresholds]\np50 = \"< 1us\"\n",
    );
    let fixed = ["-s=mine.toml", "-t=sanic,fastapi", "--rounds=1", "--warmup=0s", "--format=json"];
    let finished = project.run(&[&fixed[..], &["--slices=2", "--out=run"]].concat());
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["thresholds"][0]["passed"], json!(false));
    assert_eq!(document["targets"][0]["proofs"], json!([]));
    assert!(finished.stderr.contains("proofs are skipped: with --slices"), "{}", finished.stderr);
}

/// A slice that a threshold ends is the last of the run, and no server outlives it.
#[test]
fn a_failed_threshold_ends_the_run_within_a_start() {
    let project = Project::real().file(
        "mine.toml",
        "[load]\nusers = 4\nduration = \"4s\"\n[[step]]\nget = \"/\"\n[thresholds]\nmax = \"< 1us\"\n",
    );
    let fixed = ["-s=mine.toml", "-t=sanic,fastapi", "--rounds=3", "--warmup=0s", "--format=json"];
    let arguments = [&fixed[..], &["--slices=2", "--fail-fast", "--out=run"]].concat();
    let mut command = project.command(&arguments);
    let child = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let (pid, ended) = (child.id(), AtomicBool::new(false));
    let (output, pids) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut pids = HashSet::new();
            while !ended.load(Ordering::Relaxed) {
                pids.extend(tree(pid));
                thread::sleep(Duration::from_millis(20));
            }
            pids
        });
        let output = child.output();
        ended.store(true, Ordering::Relaxed);
        (output, watch.join().unwrap())
    });
    assert!(pids.len() > 2, "loadgen, and two servers: {pids:?}");
    assert_gone(&pids, Duration::from_secs(2));
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["stopped_early"]["round"], json!(1));
    let measured = document["targets"].as_array().unwrap();
    assert_eq!((measured.len(), rounds(&measured[0]).len()), (1, 1), "{}", finished.said());
    for log in ["sanic-1", "fastapi-1"] {
        assert!(project.path(&format!("run/{log}.log")).is_file(), "{log}");
    }
}

#[test]
fn what_cannot_be_sliced_is_refused() {
    let project = Project::real()
        .file(
            "stages.toml",
            "[load]\nstages = [{ users = 5, over = \"1s\" }]\n[[step]]\nget = \"/\"\n",
        )
        .file("ids.csv", "id\n1\n2\n")
        .file(
            "once.toml",
            "rows.ids = { file = \"ids.csv\", use = \"once\" }\n[load]\nduration = \"2s\"\n\
             [[step]]\nget = \"/{{ ids.id }}\"\n",
        );
    let two = "-t=sanic,fastapi";
    for (arguments, why) in [
        (&["-s=direct", "-t=sanic"][..], "--slices compares at least two targets"),
        (&["-s=direct", two, "--runtime=podman"], "as processes and not in containers"),
        (&["-s=stages.toml", two], "--slices needs a load that ends after a duration"),
        (&["-s=direct", two, "--ramp-up=1s"], "--slices takes no ramp-up"),
        (&["-s=once.toml", two], "--slices would send each row of a file"),
        (&["-s=direct", two, "--duration=399ms"], "a slice lasts at least 100ms"),
        (&["-s=direct", two, "--duet"], "cannot be used with"),
        (&["-s=direct", two, "--iterations=9"], "cannot be used with"),
        (&["http://127.0.0.1:1/a"], "--slices compares at least two targets"),
    ] {
        let finished = project.run(&[arguments, &["--slices=4"]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        let said = finished.stderr.replace("\n  │ ", " ");
        assert!(said.contains(why) && said.contains("help"), "{}", finished.stderr);
    }
    assert!(!project.path("runs").exists(), "nothing was begun");
}

/// Each of these targets opens ten connections for each of its worker processes, 320 in all: PostgreSQL's limit
/// would be the lab's fault.
#[test]
fn idle_targets_leave_no_target_without_a_connection() {
    let scenario = "backends = [\"postgres\"]\n[load]\nusers = 40\n[[step]]\npost = \"/items\"\nexpect.status = 201\n\
                    [step.body]\njson = [{ sku = \"{{ uuid }}\", name = \"a\", quantity = 1, price_cents = 50 }]\n";
    let project = Project::real().file("mine.toml", scenario);
    let arguments = [
        "-s=mine.toml",
        "--target=fastapi,quart,aiohttp,sanic",
        "--server-workers=8",
        "--slices=2",
        "--rounds=1",
        "--duration=6s",
        "--warmup=0s",
        "--no-calibrate",
        "--format=json",
        "--out=run",
    ];
    let finished = project.run(&arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    for target in finished.json()["targets"].as_array().unwrap() {
        assert_eq!(target["total"]["errors"], json!(0), "{}: {}", target["name"], finished.said());
    }
}
