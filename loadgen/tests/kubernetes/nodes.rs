//! Runs over two nodes, of which pods run on the second only if they tolerate its taint.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::servers::{begin, end, project, said};
use crate::support::{Changed, Run, kubectl, left, until};

/// Taint of the second node.
const TOLERATED: &str = "--toleration=second";
const TARGET_TOLERATED: &str = "--target-toleration=second";

/// Returns the nodes of the workers of a target.
fn of_workers(target: &Value) -> BTreeSet<String> {
    let hosts = target["workers"].as_array().unwrap().iter().map(|of| of["host"].as_str().unwrap());
    hosts.map(|host| host.rsplit_once(" on ").unwrap().1.to_owned()).collect()
}

/// Returns the nodes of the pods of a target.
fn of_target(target: &Value) -> BTreeSet<String> {
    let busy = &target["rounds"][0]["target_pods"]["nodes_busy_percent"];
    busy.as_object().unwrap().keys().cloned().collect()
}

fn named<const N: usize>(nodes: [&str; N]) -> BTreeSet<String> {
    nodes.map(str::to_owned).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_spread_over_the_nodes() {
    let run = Run::new("spread").await;
    let words = [&run.url("/"), "-u", "6", "-d", "2s", "--workers", "3", "--out", "result"];
    let finished = run.run(&[&words[..], &[TOLERATED]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = run.record("result");
    assert_eq!(of_workers(&record["targets"][0]), named(["node-a", "node-b"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn load_and_servers_have_different_nodes_if_there_are_enough() {
    let run = project("apart").await;
    let words = ["--target", "slow", "--rounds", "1", "--workers", "3", "--out", "result"];
    let child = begin(&run, &[&words[..], &[TOLERATED, TARGET_TOLERATED]].concat());
    let finished = end(&run, "apart", child);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = run.record("result");
    let target = &record["targets"][0];
    let [load, servers] = [of_workers(target), of_target(target)];
    assert!(load.is_disjoint(&servers), "{load:?} {servers:?}");
    assert!(!record["verdicts"].to_string().contains("shared_node"), "{}", record["verdicts"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_wait_for_servers_to_have_nodes_and_whoever_takes_the_run_up_lets_them_begin() {
    let run = project("held").await;
    let words = ["--target", "slow", "--rounds", "1", "--workers", "2", TARGET_TOLERATED];
    let selector = "--target-node-selector=test=held";
    let mut child = begin(&run, &[&words[..], &[selector]].concat());
    let pods = |of: &str| kubectl(&["get", "pods", of, "--output=name"]);
    until("the manager runs", || pods("--field-selector=status.phase=Running").contains("/held-0"));
    // Time for the client to ask twice.
    std::thread::sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let of_job = pods("--selector=batch.kubernetes.io/job-name=held");
    assert_eq!(of_job.lines().count(), 1, "{of_job}");
    let labelled = Changed::labelled();
    let finished = end(&run, "held", run.follow(&["--out", "result"]).spawn().unwrap());
    drop(labelled);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(of_target(&run.record("result")["targets"][0]), named(["node-b"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_of_nodes_is_kept() {
    let run = project("selected").await;
    let words = ["--target", "shop", "--rounds", "1", "--workers", "2", "--out", "result"];
    let selector = "--target-node-selector=kubernetes.io/hostname=node-b";
    let child = begin(&run, &[&words[..], &[TARGET_TOLERATED, selector]].concat());
    let finished = end(&run, "selected", child);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let target = &run.record("result")["targets"][0];
    assert_eq!(of_workers(target), named(["node-a"]));
    assert_eq!(of_target(target), named(["node-b"]), "both replicas");
    let verdicts = &run.record("result")["verdicts"];
    assert!(!verdicts.to_string().contains("shared_node"), "{verdicts}");
}

/// All processes of a node, which stand still until this is dropped: as if the node hung.
struct Still(Vec<Pid>);

impl Still {
    fn node(name: &str) -> Self {
        let state = Path::new(&env::var("KUBECONFIG").unwrap()).parent().unwrap().to_owned();
        let own = format!("{}/", state.join(name).display());
        let mut still = Self(Vec::new());
        // The kubelet and containerd first, which would see that pods stand still.
        let numbered = |of: &fs::DirEntry| of.file_name().to_str()?.parse::<i32>().ok();
        for pid in fs::read_dir("/proc").unwrap().flatten().filter_map(|of| numbered(&of)) {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&words).contains(&own) {
                still.stop(pid);
            }
        }
        for pid in in_cgroups(&cgroup(name)) {
            still.stop(pid);
        }
        still
    }

    fn stop(&mut self, pid: i32) {
        let pid = Pid::from_raw(pid).unwrap();
        if kill_process(pid, Signal::STOP).is_ok() {
            self.0.push(pid);
        }
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

/// Returns the cgroup of a node's pods; with version 1 of cgroups, that of one controller.
fn cgroup(node: &str) -> PathBuf {
    let root = Path::new("/sys/fs/cgroup");
    let of = if root.join("cgroup.controllers").exists() { "" } else { "memory" };
    root.join(of).join("lgk0").join(node)
}

/// Returns the processes of a cgroup and of those within it.
fn in_cgroups(folder: &Path) -> Vec<i32> {
    let own = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let inner = fs::read_dir(folder).into_iter().flatten().flatten();
    let inner = inner.filter(|of| of.file_type().is_ok_and(|of| of.is_dir()));
    let inner: Vec<i32> = inner.flat_map(|of| in_cgroups(&of.path())).collect();
    own.lines().filter_map(|pid| pid.parse().ok()).chain(inner).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_hangs_ends_the_run_and_is_named() {
    let run = Run::new("hangs").await;
    let words = ["-u", "4", "-d", "5m", "--workers", "3", "--out", "result", TOLERATED];
    let child = run.command("run", &[&[run.url("/").as_str()], &words[..]].concat()).spawn();
    let child = child.unwrap();
    run.until_loaded();
    // Time for the client to have seen all pods.
    std::thread::sleep(Duration::from_secs(3));
    let manager = kubectl(&["get", "pod", &run.pod(0), "--output=jsonpath={.spec.nodeName}"]);
    let other = if manager == "node-a" { "node-b" } else { "node-a" };
    let begun = Instant::now();
    let still = Still::node(other);
    assert!(still.0.len() > 3, "kubelet, containerd, shims and pods: {:?}", still.0);
    let finished = run.end_of(child);
    let took = begun.elapsed();
    drop(still);
    until("the pods are gone", || left("hangs").is_empty());
    assert_eq!(finished.code, Some(5), "{}", finished.stderr);
    assert!(said(&finished).contains(&format!("on {other}")), "{}", finished.stderr);
    assert!(took < Duration::from_secs(60), "{took:?}: {}", finished.stderr);
}
