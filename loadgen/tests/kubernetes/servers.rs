//! Servers that the cluster runs for a run.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::program::Finished;
use crate::support::{Run, kubectl, left, until};

/// Targets of the image that the cluster has, and one whose image it lacks.
const TARGETS: &str = r#"
[target.shop]
image = "localhost/target:test"
port = 8080
user = 65534
ready = "/healthz"
command = ["--port={port}", "--slow-start=2"]
env = { GREETING = "hello" }
replicas = 2

[target.slow]
image = "localhost/target:test"
port = 8080
user = 65534
ready = "/healthz"
command = ["--port={port}"]
cpus = 0.2
start_timeout = "90s"

[target.absent]
image = "localhost/absent:test"
user = 65534

[target.unready]
image = "localhost/target:test"
port = 9999
user = 65534
command = ["--port=8080"]
start_timeout = "2s"

[target.root]
image = "localhost/target:test"
"#;

/// Each request takes 2 ms of CPU time.
const SCENARIO: &str = "[load]\nusers = 4\nduration = \"3s\"\n[[step]]\nget = \"/?busy_ms=2\"\n";

/// The node has fewer CPUs than the servers would ask for.
const REQUESTS: &str = "--target-requests=cpu=50m,memory=64Mi";

pub async fn project(name: &'static str) -> Run {
    let run = Run::new(name).await;
    std::fs::write(run.project.path("loadgen.toml"), TARGETS).unwrap();
    std::fs::write(run.project.path("busy.toml"), SCENARIO).unwrap();
    run
}

pub fn begin(run: &Run, words: &[&str]) -> Child {
    run.command("run", &[&["--scenario", "busy.toml", REQUESTS], words].concat()).spawn().unwrap()
}

/// Waits for the end of a run, and checks that nothing of it is left in the cluster.
pub fn end(run: &Run, name: &str, child: Child) -> Finished {
    let finished = run.end_of(child);
    assert_eq!(left(name), Vec::<String>::new(), "{}", finished.stderr);
    finished
}

/// Returns what a run said, in one line.
pub fn said(finished: &Finished) -> String {
    let words = finished.stderr.split_whitespace().filter(|word| *word != "│");
    words.collect::<Vec<_>>().join(" ")
}

pub fn f64_at(record: &Value, pointer: &str) -> f64 {
    record.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_of_two_targets_are_loaded_in_turn_and_observed() {
    let run = project("servers").await;
    let words = ["--target", "shop,slow", "--rounds", "2", "--workers", "2", "--out", "result"];
    let finished = end(&run, "servers", begin(&run, &words));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = run.record("result");
    assert_eq!(record["environment"]["runtime"], "kubernetes");
    assert_eq!(record["environment"]["images"]["shop"], "localhost/target:test");
    assert_eq!(record["environment"]["limits"]["slow"]["cpus"], 0.2);
    let targets = record["targets"].as_array().unwrap();
    assert_eq!(targets.iter().map(|of| &of["name"]).collect::<Vec<_>>(), ["shop", "slow"]);
    for (target, replicas) in targets.iter().zip([2, 1]) {
        assert_eq!(target["server"]["replicas"], replicas);
        let rounds = target["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            assert_eq!(round["whole"], true);
            // The server burns 2 ms for each request, and needs some more for all else.
            let each = f64_at(round, "/resources/target/cpu_us_per_request");
            assert!((1_900.0..30_000.0).contains(&each), "{each} µs for a request");
            assert!(f64_at(round, "/resources/target/memory_mean_bytes") > 1e6);
            assert!(f64_at(round, "/resources/target/memory_idle_bytes") > 1e6);
            let processes = round["resources"]["target"]["processes_percent"].as_array().unwrap();
            assert!(processes.len() >= replicas, "{processes:?}");
            // No process of the generator is on this machine.
            assert_eq!(round["resources"].as_object().unwrap().len(), 1);
        }
    }
    assert_eq!(f64_at(&targets[1], "/rounds/0/target_pods/cpus"), 0.2);
    assert_eq!(targets[1]["bottleneck"], "target", "it may use a fifth of a CPU");
    // The order of the rounds is that of any run: the targets are compared in pairs.
    assert!(record["comparison"]["pairs"].as_array().is_some_and(|pairs| !pairs.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_replicas_are_contenders() {
    let run = project("numbers").await;
    let words =
        ["--target", "slow", "--replicas", "1,2", "--cpus", "0.5", "-R", "1", "-o", "result"];
    let finished = end(&run, "numbers", begin(&run, &words));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = run.record("result");
    let targets = record["targets"].as_array().unwrap();
    let names: Vec<&Value> = targets.iter().map(|of| &of["name"]).collect();
    assert_eq!(names, ["slow, 1 replica", "slow, 2 replicas"]);
    assert!(targets.iter().all(|of| of["target"] == "slow"), "two sizes of one target");
    let cpus = targets.iter().map(|target| f64_at(target, "/rounds/0/target_pods/cpus"));
    assert_eq!(cpus.collect::<Vec<_>>(), [0.5, 1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_of_a_server_that_is_gone_ends_the_run_and_is_named() {
    let run = project("gone").await;
    let words = ["--target", "shop", "--duration", "5m", "--out", "result", "-R", "3"];
    let child = begin(&run, &words);
    let pods = || {
        let selector = "--selector=app.kubernetes.io/name=loadgen-target";
        let ready = "--output=jsonpath={range .items[?(@.status.containerStatuses[1].ready==true)]}{.metadata.name} {end}";
        kubectl(&["get", "pods", selector, ready])
    };
    until("the servers are ready", || pods().split_whitespace().count() == 2);
    // The manager looks at them, and then loads them.
    std::thread::sleep(Duration::from_secs(8));
    let pod = pods().split_whitespace().next().unwrap().to_owned();
    let begun = Instant::now();
    kubectl(&["delete", "pod", &pod, "--grace-period=1", "--wait=false"]);
    let finished = end(&run, "gone", child);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(said(&finished).contains(&format!("pod {pod} on node-a:")), "{}", finished.stderr);
    assert!(begun.elapsed() < Duration::from_secs(60), "the round goes on for five minutes");
    let record = run.record("result");
    let round = record["targets"][0]["rounds"].as_array().unwrap().last().unwrap();
    assert_eq!(round["whole"], false);
    assert!(round["target_ended"].as_str().is_some_and(|why| why.contains(&pod)), "{round}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_the_cluster_does_not_start_are_named() {
    let run = project("absent").await;
    let words = ["--target", "absent", "--start-timeout", "8s"];
    let finished = end(&run, "absent", begin(&run, &words));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(said(&finished).contains("ImagePull"), "{}", finished.stderr);
    let finished = end(&run, "absent", begin(&run, &["--target", "root", "--start-timeout", "5s"]));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(said(&finished).contains("violates PodSecurity"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_become_ready_is_told_with_its_failed_check() {
    let run = project("unready").await;
    let finished = end(&run, "unready", begin(&run, &["--target", "unready"]));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let said = said(&finished);
    for part in ["servers_not_started", "Startup probe failed", "connection refused", "`port`"] {
        assert!(said.contains(part), "{part}: {}", finished.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_scaled_in_a_run_is_another_one() {
    let run = project("scaled").await;
    let words = ["--target", "shop", "--duration", "5s", "-R", "9", "-o", "result"];
    let child = begin(&run, &words);
    let ready = "--output=jsonpath={.items[*].status.readyReplicas}";
    until("the servers are ready", || kubectl(&["get", "deployments", ready]) == "2");
    std::thread::sleep(Duration::from_secs(8));
    let deployments = kubectl(&["get", "deployments", "--output=name"]);
    kubectl(&["scale", deployments.trim(), "--replicas=3"]);
    let finished = end(&run, "scaled", child);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(said(&finished).contains("somebody has scaled its Deployment"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_restarted_between_rounds_is_another_one() {
    let run = project("again").await;
    let words =
        ["--target", "shop,slow", "--seed", "1", "--duration", "8s", "-R", "2", "-o", "result"];
    let child = begin(&run, &words);
    let addresses = || {
        let selector = "--selector=app.kubernetes.io/name=loadgen-target";
        let ready = "--output=jsonpath={range .items[?(@.status.containerStatuses[1].ready==true)]}{.status.podIP} {end}";
        kubectl(&["get", "pods", selector, ready])
    };
    until("the servers are ready", || addresses().split_whitespace().count() == 3);
    // The first round is over, or not: the server is loaded now, or in another round.
    std::thread::sleep(Duration::from_secs(8));
    let address = addresses().split_whitespace().next().unwrap().to_owned();
    let mut server = TcpStream::connect((address.as_str(), 8080)).unwrap();
    server.write_all(b"GET /exit?code=3 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let finished = end(&run, "again", child);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(said(&finished).contains("has ended, or was started again"), "{}", finished.stderr);
    assert!(
        said(&finished).contains("its server was restarted: exit code 3"),
        "{}",
        finished.stderr
    );
}
