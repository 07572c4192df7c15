//! Experiments whose servers and load are pods of the cluster.

use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::common::program::Finished;
use crate::support::{Run, interrupt, kubectl, left, until};

const TARGETS: &str = r#"
[target.shop]
image = "localhost/target:test"
port = 8080
user = 65534
ready = "/healthz"
command = ["--port={port}"]
"#;

const EXPERIMENT: &str = r#"
title = "Sizes and users"

[[group]]
name = "sizes"
scenario = "busy.toml"
rounds = 5
load = { users = 4, duration = "1s" }
quick = { one_start = true, load = { users = 4, duration = "600ms" } }

[[group.arm]]
name = "one"
target = "shop"
replicas = 1
cpus = 0.2

[[group.arm]]
name = "two"
target = "shop"
replicas = 2
cpus = 0.2

[[group.arm]]
name = "huge"
target = "shop"
replicas = 64
needs_cpus = 1000

[[group]]
name = "users"
scenario = "busy.toml"
rounds = 5
load = { users = 2, duration = "1s" }
quick = { one_start = true, load = { users = 2, duration = "600ms" } }

[[group.arm]]
name = "few"
target = "shop"

[[group.arm]]
name = "many"
target = "shop"
load = { users = 8, duration = "1s" }

[[claim]]
group = "users"
metric = "error_rate"
arm = "many"
is = "< 1%"

[[claim]]
group = "sizes"
metric = "rate"
order = ["two", "one"]

[[claim]]
group = "sizes"
metric = "rate"
order = ["huge", "two"]
"#;

/// Each request takes 2 ms of CPU time.
const SCENARIO: &str = "[load]\nusers = 4\nduration = \"1s\"\n[[step]]\nget = \"/?busy_ms=2\"\n";

async fn project(name: &'static str) -> Run {
    let run = Run::new(name).await;
    let file = |name: &str, text: &str| std::fs::write(run.project.path(name), text).unwrap();
    file("loadgen.toml", TARGETS);
    file("busy.toml", SCENARIO);
    file("mine.toml", EXPERIMENT);
    run
}

fn begin(run: &Run, words: &[&str]) -> Child {
    let fixed = ["mine.toml", "--target-requests=cpu=50m,memory=64Mi", "--out=result"];
    run.command("experiment", &[&fixed[..], words].concat()).spawn().unwrap()
}

/// Waits for the end of an experiment, and checks that nothing of its groups is left in the cluster.
fn end(run: &Run, groups: [&str; 2], child: Child) -> Finished {
    let finished = run.end_of(child);
    for group in groups {
        assert_eq!(left(group), Vec::<String>::new(), "{}", finished.stderr);
    }
    finished
}

fn record(run: &Run, path: &str) -> Value {
    let path = run.project.path(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the names of the targets of a group's runs, with the number of their rounds.
fn measured(record: &Value, group: usize) -> Vec<(String, usize)> {
    let runs = record["groups"][group]["runs"].as_array().unwrap();
    let targets = runs.iter().flat_map(|run| run["targets"].as_array().unwrap());
    let of = |target: &Value| {
        let rounds = target["rounds"].as_array().unwrap().len();
        (target["name"].as_str().unwrap().to_owned(), rounds)
    };
    targets.map(of).collect()
}

fn deployments() -> Vec<String> {
    let words = ["get", "deployments", "--output=jsonpath={.items[*].metadata.name}"];
    kubectl(&words).split_whitespace().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_measured_one_after_another_and_make_one_result() {
    let run = project("groups").await;
    let child = begin(&run, &["--workers=2"]);
    until("the servers of the first group are there", || deployments().len() == 2);
    until("those of the second group are there", || {
        deployments().iter().any(|name| name.starts_with("groups-2-"))
    });
    assert_eq!(deployments(), ["groups-2-shop-1"], "one server for few and for many users");
    assert_eq!(left("groups-1"), Vec::<String>::new());
    let finished = end(&run, ["groups-1", "groups-2"], child);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);

    let whole = record(&run, "result/experiment.json");
    assert_eq!((&whole["interrupted"], &whole["quick"]), (&false.into(), &false.into()));
    assert!(whole["command"][1] == "k8s" && whole["command"][2] == "experiment");
    let five = |name: &str| (name.to_owned(), 5);
    assert_eq!(measured(&whole, 0), [five("one"), five("two")]);
    assert_eq!(measured(&whole, 1), [five("few"), five("many")]);
    let first = &whole["groups"][0]["runs"][0];
    assert_eq!(first["environment"]["runtime"], "kubernetes");
    assert_eq!(first["environment"]["images"]["shop"], "localhost/target:test");
    assert_eq!(first["environment"]["limits"]["two"]["cpus"], 0.2);
    assert_eq!(first["load"]["one_start"], true, "the servers are up for all rounds");
    assert_eq!(first["targets"][1]["server"]["replicas"], 2);
    let used = &first["targets"][0]["rounds"][0]["resources"]["target"];
    assert!(used["memory_idle_bytes"].as_f64().unwrap() > 1e6, "{used}");
    let changed = whole["groups"][0]["changed"].as_array().unwrap();
    // The tests have no warm-up; all limits are in force.
    let one_start = "one start of all arms instead of one for each round";
    assert_eq!(changed, &[one_start, "warm-up of 0ms instead of 1s"]);
    let seeds = [0, 1].map(|group| &whole["groups"][group]["runs"][0]["seed"]);
    assert!(seeds[0].is_number() && seeds[0] == seeds[1], "{seeds:?}");

    let claims = whole["claims"].as_array().unwrap();
    let of: Vec<&str> = claims.iter().map(|claim| claim["group"].as_str().unwrap()).collect();
    assert_eq!(of, ["users", "sizes", "sizes"], "in the order of the file");
    assert_eq!(claims[0]["evidence"][0]["figure"], 0.0, "{}", claims[0]);
    assert_eq!(claims[1]["evidence"][0]["rounds"], 5);
    let why = claims[2]["why"].as_str().unwrap();
    assert!(why.contains("needs 1,000 CPUs for the targets, which have "), "{why}");

    assert!(run.project.path("result/report.html").is_file());
    assert!(finished.stdout.contains("saved in result"), "{}", finished.stdout);
    let again = run.project.run(&["report", "result"]);
    assert_eq!(again.stdout, finished.stdout);
    for group in ["1-sizes", "2-users"] {
        let own = record(&run, &format!("result/{group}/experiment.json"));
        assert_eq!(own["groups"].as_array().unwrap().len(), 1);
    }
    let said = &finished.stderr;
    assert!(said.contains("group users: 2 of 2"), "{said}");
    assert!(said.contains("huge (sizes) is left out: not comparable here"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_a_group_keeps_the_groups_before_it() {
    let run = project("stopped").await;
    let child = begin(&run, &["--quick"]);
    until("the server of the second group is there", || {
        deployments().iter().any(|name| name.starts_with("stopped-2-"))
    });
    std::thread::sleep(Duration::from_secs(1));
    interrupt(&child);
    let finished = end(&run, ["stopped-1", "stopped-2"], child);
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    let whole = record(&run, "result/experiment.json");
    assert_eq!((&whole["interrupted"], &whole["quick"]), (&true.into(), &true.into()));
    let rounds: Vec<usize> = measured(&whole, 0).into_iter().map(|(_, rounds)| rounds).collect();
    assert!(rounds.len() == 2 && rounds.iter().all(|rounds| *rounds >= 5), "{rounds:?}");
    let changed = whole["groups"][0]["changed"].to_string();
    assert!(changed.contains("one start of all arms"), "{changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_the_cluster_does_not_start_ends_the_experiment() {
    let run = project("refused").await;
    let absent = "[target.absent]\nimage = \"localhost/absent:test\"\nuser = 65534\n";
    std::fs::write(run.project.path("loadgen.toml"), format!("{TARGETS}{absent}")).unwrap();
    let (first, second) = EXPERIMENT.split_once("name = \"users\"").unwrap();
    let second = second.replacen("target = \"shop\"", "target = \"absent\"", 1);
    let text = format!("{first}name = \"users\"{second}");
    std::fs::write(run.project.path("mine.toml"), text).unwrap();
    let words = ["--rounds=1", "--start-timeout=20s"];
    let finished = end(&run, ["refused-1", "refused-2"], begin(&run, &words));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(finished.stderr.contains("ImagePull"), "{}", finished.stderr);
    let whole = record(&run, "result/experiment.json");
    assert_eq!(measured(&whole, 0).len(), 2, "the first group is kept");
    assert_eq!(measured(&whole, 1), []);
}
