//! A process that measures beside the load.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone, named, signal, tree};
use crate::common::program::{Finished, Project};

/// A light load, whose users and iterations can be told apart.
const SCENARIO: &str = "load = { users = 3, think_time = \"5ms\" }\n\
                        [[step]]\npost = \"/remember\"\nbody = { text = \"{{ user }}\" }\n";

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field}: {value}"))
}

/// Returns the number of requests that were sent.
fn sent(summary: &Value) -> u64 {
    number(summary, "requests") + number(summary, "cancelled")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_counts_apart_from_the_load() {
    for workers in [&[][..], &["--workers=2"]] {
        let server = Counting::start().await;
        let project = Project::real().file("mine.toml", SCENARIO);
        let fixed = ["-s=mine.toml", "--url", &server.url, "--format=json", "--out=run"];
        let short = ["--rounds=2", "--warmup=0s", "--duration=2s", "--probe=50"];
        let finished =
            tokio::task::block_in_place(|| project.run(&[&fixed[..], &short, workers].concat()));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
        let document = finished.json();
        assert_eq!(document["load"]["probe_per_s"], 50.0);
        let target = &document["targets"][0];
        let rounds = target["rounds"].as_array().unwrap();
        let mut of_probe = 0;
        for round in rounds {
            let probe = &round["probe"];
            assert_eq!((number(probe, "errors"), number(probe, "unsent")), (0, 0), "{probe}");
            // 100 on average, with a standard deviation of 10.
            assert!((40..160).contains(&number(probe, "requests")), "{probe}");
            assert!(probe["latency_us"]["p50"].is_u64(), "{probe}");
            of_probe += sent(probe);
            assert_eq!(round["whole"], true);
            let used = &round["resources"]["latency probe"];
            assert!(used["cpu_s"].as_f64().is_some(), "{}", round["resources"]);
        }
        assert_eq!(sent(&target["probe"]["total"]), of_probe);
        let of_load: u64 = rounds.iter().map(|round| sent(&round["total"])).sum();
        assert!(of_load > 4 * of_probe, "the load is not the probe's: {of_load}");
        // Each round begins with a verification.
        assert_eq!(server.requests(), of_load + of_probe + 2);
        // Three users, the user of the verification, and up to a hundred of the probe.
        let users: BTreeSet<u32> =
            server.take_remembered().iter().map(|user| user.parse().unwrap()).collect();
        assert!(users.is_superset(&(0..4).collect()), "{users:?}");
        assert!(users.iter().any(|user| *user > 3) && users.iter().all(|user| *user < 104));
        let ratio = &target["probe"]["ratios"]["p50"];
        assert!(ratio["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{target}");
        assert_eq!(ratio["p_holm"], Value::Null, "two rounds are too few");
        assert!(project.path("run/probe-0.log").is_file());
        let page = std::fs::read_to_string(project.path("run/report.html")).unwrap();
        assert!(page.contains("a probe of 50 requests/s") && page.contains("probe of http://"));
    }
}

#[test]
fn a_probe_measures_each_target_in_each_round() {
    let project = Project::real();
    let finished = project.run(&[
        "-s=direct",
        "-t=sanic,fastapi",
        "--probe",
        "--rounds=2",
        "--users=5",
        "--warmup=300ms",
        "--duration=1s",
        "--format=json",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["load"]["probe_per_s"], 20.0);
    for target in document["targets"].as_array().unwrap() {
        assert!(number(&target["probe"]["total"], "requests") > 5, "{}", target["probe"]);
        assert_eq!(number(&target["probe"]["total"], "errors"), 0, "{}", target["probe"]);
        let cpu = |service: &str| target["resources"][service]["cpu_us_per_request"].as_f64();
        assert!(cpu("target").is_some() && cpu("latency probe").is_some(), "{target}");
    }
    let cpus = &document["environment"]["cpus"];
    if cpus["generator"].as_array().is_some_and(|cpus| !cpus.is_empty()) {
        assert_eq!(cpus["probe"].as_array().unwrap().len(), 1, "{cpus}");
    }
    assert!(finished.stderr.contains("starting the probe"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_probe_ends_the_run() {
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", SCENARIO);
    let fixed = ["-s=mine.toml", "--url", &server.url, "--out=run", "--probe", "--rounds=2"];
    let mut command = project.command(&[&fixed[..], &["--warmup=0s", "--duration=20s"]].concat());
    let child = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.requests() < 1_000 {
        assert!(Instant::now() < deadline, "the load has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pids = tree(child.id());
    let [probe] = named(&pids, "loadgen worker")[..] else { panic!("{pids:?}") };
    signal(probe, Signal::KILL);
    let finished = tokio::task::block_in_place(|| Finished::of(child.output(), &project.path("")));
    assert_eq!(finished.code, Some(5), "{}", finished.said());
    assert_gone(&pids, Duration::from_secs(2));
    let document: Value =
        serde_json::from_slice(&std::fs::read(project.path("run/run.json")).unwrap()).unwrap();
    let rounds = document["targets"][0]["rounds"].as_array().unwrap();
    assert_eq!((rounds.len(), &rounds[0]["whole"]), (1, &Value::Bool(false)));
    let reason = document["degraded"]["reason"].as_str().unwrap();
    let said = "the probe was lost: its process ended (signal: 9 (SIGKILL))";
    assert!(reason.starts_with("round 1") && reason.ends_with(said), "{reason}");
}

#[test]
fn a_load_that_a_probe_cannot_measure_is_refused() {
    let rows = "[rows.accounts]\nfile = \"accounts.csv\"\nuse = \"once\"\n";
    let project = Project::real()
        .file("accounts.csv", "id\n1\n2\n3\n")
        .file("once.toml", &format!("{rows}[[step]]\nget = \"/{{{{ accounts.id }}}}\"\n"))
        .file(
            "stages.toml",
            "load = { stages = [{ users = 2, over = \"1s\" }] }\n[[step]]\nget = \"/\"\n",
        )
        .file(
            "flows.toml",
            "assign = \"user\"\n\
             [[flow]]\nname = \"one\"\n[[flow.step]]\nget = \"/\"\n\
             [[flow]]\nname = \"other\"\n[[flow.step]]\nget = \"/other\"\n",
        );
    let url = "--url=http://127.0.0.1:1";
    for (arguments, why) in [
        (&["-s=once.toml", url][..], "--probe has no rows of its own: each row of `accounts`"),
        (&["-s=stages.toml", url], "--probe needs a load that ends after a duration"),
        (&["-s=flows.toml", url], "--probe takes flows by iteration"),
        (&["-s=direct", url, "--iterations=5"], "cannot be used with"),
        (&["-s=direct", "-t=sanic", "--duet", "--aa"], "cannot be used with"),
        (
            &["manager", "-s=direct", url, "--listen=127.0.0.1:7447", "--expect-workers=1"],
            "--probe measures from this host",
        ),
        (&["capacity", "-s=direct", url], "unexpected argument '--probe'"),
        (&["experiment", "web-servers"], "unexpected argument '--probe'"),
    ] {
        let finished = project.run(&[arguments, &["--probe"]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.replace("\n  │ ", " ").contains(why), "{}", finished.stderr);
    }
    let fast = project.run(&["-s=direct", url, "--probe=5000"]);
    assert_eq!(fast.code, Some(2), "{}", fast.said());
    assert!(fast.stderr.contains("from 0.1 to 1000"), "{}", fast.stderr);
}
