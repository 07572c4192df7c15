//! Pods that the cluster takes away, or does not start.

use std::env;
use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::task::block_in_place;

use crate::common::program::{Finished, checkout};
use crate::link::Link;
use crate::support::{Changed, Run, kubectl, left, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_deleted_is_named_with_its_node() {
    let run = Run::new("worker-gone").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "2", "--out", "result"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    kubectl(&["delete", "pod", &run.pod(2), "--wait=false"]);
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(5), "{}", finished.stderr);
    let record = run.record("result");
    let degraded = record["degraded"].to_string();
    assert!(degraded.contains("\"worker\":1"), "{degraded}");
    let gone = record["targets"][0]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|worker| worker["worker"] == 1);
    assert_eq!(gone.unwrap()["host"], "worker-gone-2 on node-a");
    assert!(finished.stderr.contains("pod worker-gone-2-"), "{}", finished.stderr);
    assert!(finished.stderr.contains(" on node-a: "), "{}", finished.stderr);
    assert_eq!(left("worker-gone"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_without_a_worker_names_its_pod() {
    let run = Run::new("goes-on").await;
    let url = run.url("/");
    let words = [&url, "-u", "4", "-d", "12s", "--workers", "2", "--on-worker-loss=continue"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    // Time for the client to have seen all pods.
    std::thread::sleep(std::time::Duration::from_secs(5));
    kubectl(&["delete", "pod", &run.pod(2), "--wait=false"]);
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(5), "{}", finished.stderr);
    assert!(finished.stderr.contains("pod goes-on-2-"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_is_made_again() {
    let run = Run::new("cut").await;
    let link = Link::start(&run.project).await;
    let words = [&run.url("/"), "-u", "4", "-d", "8s", "--workers", "2", "--out", "result"];
    let mut command = run.command("run", &words);
    let child = command.env("KUBECONFIG", run.project.path("kubeconfig")).spawn().unwrap();
    run.until_loaded();
    until("the result is not awaited, or the log not shown", || link.connections() >= 2);
    link.cut();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    link.mend();
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("trying again"), "{}", finished.stderr);
    assert_eq!(run.record("result")["interrupted"], false);
    assert_eq!(left("cut"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_an_error_and_what_has_it_stays() {
    let run = Run::new("taken").await;
    kubectl(&["create", "job", "taken", "--image=localhost/none:1"]);
    let output =
        block_in_place(|| run.command("run", &[&run.url("/"), "-d", "1s"]).output().unwrap());
    let finished = Finished::of(output, &run.project.path(""));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("name_taken"), "{}", finished.stderr);
    kubectl(&["delete", "job", "taken"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_that_the_docs_name_are_enough_and_are_needed() {
    let run = Run::new("rights").await;
    let page = fs::read_to_string(checkout().join("docs/how-to/use-kubernetes.md")).unwrap();
    let role = page.split("```yaml\n").nth(1).unwrap().split("    ```").next().unwrap();
    let role: String =
        role.lines().map(|line| format!("{}\n", line.get(4..).unwrap_or(line))).collect();
    fs::write(run.project.path("role.yaml"), role).unwrap();
    let path = run.project.path("role.yaml");
    kubectl(&["create", "serviceaccount", "user"]);
    let token = kubectl(&["create", "token", "user"]);
    let admin = fs::read_to_string(env::var("KUBECONFIG").unwrap()).unwrap();
    let (before, after) = admin.split_once("user: {token: ").unwrap();
    let (_, after) = after.split_once('}').unwrap();
    let own = format!("{before}user: {{token: {}}}{after}", token.trim());
    fs::write(run.project.path("kubeconfig"), own).unwrap();
    let as_user = || {
        let mut command = run.command("run", &[&run.url("/"), "-d", "1s"]);
        let command = command.env("KUBECONFIG", run.project.path("kubeconfig"));
        Finished::of(block_in_place(|| command.output().unwrap()), &run.project.path(""))
    };
    let without = as_user();
    kubectl(&["create", "--filename", path.to_str().unwrap()]);
    kubectl(&[
        "create",
        "rolebinding",
        "user",
        "--role=loadgen",
        "--serviceaccount=restricted:user",
    ]);
    let with = as_user();
    kubectl(&["delete", "rolebinding/user", "role/loadgen", "serviceaccount/user"]);
    assert_eq!(without.code, Some(1), "{}", without.stderr);
    assert!(without.stderr.contains("no_rights"), "{}", without.stderr);
    assert_eq!(with.code, Some(0), "{}", with.stderr);
    assert_eq!(left("rights"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_does_not_fit_is_kept_elsewhere_or_in_the_cluster() {
    let run = Run::new("full").await;
    let full = run.project.path("full");
    fs::create_dir(&full).unwrap();
    let words = ["-t", "tmpfs", "-o", "size=40k", "tmpfs", full.to_str().unwrap()];
    if !Command::new("mount").args(words).status().unwrap().success() {
        println!("skipped: this machine does not let a test mount a small disk");
        return;
    }
    let finished = run.run(&[&run.url("/"), "-d", "1s", "--out", "full/result"]);
    fs::remove_dir_all(full.join("result")).unwrap();
    // No other folder has room either.
    let words = [&run.url("/"), "-d", "1s", "--out", "full/other"];
    let nowhere = run.end({
        let mut command = run.command("run", &words);
        command.env("TMPDIR", &full);
        command
    });
    assert!(Command::new("umount").arg(&full).status().unwrap().success());
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("result_waits"), "{}", nowhere.stderr);
    let taken = run.end(run.follow(&["--out", "result"]));
    assert_eq!(taken.code, Some(0), "{}", taken.stderr);
    assert_eq!(run.record("result")["interrupted"], false);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let said = finished.stderr.replace("\n  │ ", " ");
    let (_, after) = said.split_once("; it is in ").unwrap();
    let elsewhere = after.split_whitespace().next().unwrap();
    assert!(std::path::Path::new(elsewhere).join("run.json").exists(), "{said}");
    fs::remove_dir_all(elsewhere).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_deleted_hands_over_what_it_has() {
    let run = Run::new("manager-gone").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "2", "--out", "result"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    kubectl(&["delete", "pod", &run.pod(0), "--wait=false"]);
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert_eq!(run.record("result")["interrupted"], true);
    assert!(finished.stderr.contains("pod manager-gone-0-"), "{}", finished.stderr);
    assert_eq!(left("manager-gone"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_killed_is_an_error_that_names_it() {
    let run = Run::new("manager-killed").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "2", "--out", "result"];
    let child = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    let is_manager =
        |words: &str| words.contains("pod --index=0") && words.contains("manager-killed-0:7447");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let manager = all.filter_map(|of| of.file_name().to_str()?.parse::<i32>().ok()).find(|pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_manager(&String::from_utf8_lossy(&words).replace('\0', " "))
    });
    kill_process(Pid::from_raw(manager.unwrap()).unwrap(), Signal::KILL).unwrap();
    let finished = run.end_of(child);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let said = finished.stderr.replace('\n', " ");
    for part in ["manager_pod_gone", "manager-killed-0-", "code 137"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(left("manager-killed"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_room_is_an_error_with_the_clusters_words() {
    let run = Run::new("no-room").await;
    let cordoned = Changed::cordoned();
    let finished = run.run(&[&run.url("/"), "-d", "1s", "--start-timeout", "3s"]);
    drop(cordoned);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    for said in ["pods_not_started", "0 of 2 pods run", "Unschedulable", "wait longer"] {
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
    }
    assert_eq!(run.server.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_missing_ends_the_wait_at_once() {
    let run = Run::new("no-image").await;
    let mut words = vec!["k8s", "run", "--name", "no-image", "--namespace=restricted"];
    let url = run.url("/");
    words.extend(["--image=localhost/missing:1", "--image-pull-policy=Never", "-d", "1s", &url]);
    words.push("--requests=cpu=50m");
    let finished = block_in_place(|| run.project.run(&words));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("ErrImageNeverPull"), "{}", finished.stderr);
    assert_eq!(left("no-image"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_a_quota_forbids_are_an_error_with_the_clusters_words() {
    let run = Run::new("quota").await;
    let quota = Changed::quota();
    let finished = run.run(&[&run.url("/"), "-d", "1s", "--start-timeout", "3s"]);
    drop(quota);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("exceeded quota"), "{}", finished.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_its_limit_of_cpu_stops_is_named() {
    let run = Run::new("limited").await;
    let words = [&run.url("/"), "-u", "20", "-d", "4s", "--out", "result", "--limits=cpu=100m"];
    let finished = run.run(&words);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let record = run.record("result");
    let percent = &record["targets"][0]["workers"][0]["throttled_percent"];
    assert!(percent.as_f64().is_some_and(|percent| percent > 10.0), "{percent}");
    let said = record["verdicts"].to_string();
    assert!(said.contains("slow_worker") && said.contains("stopped by its limit of CPU"), "{said}");
    // The workers' limits bound the rate, and nothing is known of the server.
    assert_eq!(record["targets"][0]["bottleneck"], "generator", "{percent}");
    assert!(said.contains("generator_bound"), "{said}");
    assert_eq!(record["targets"][0]["resources"], json!({}), "the manager is not the generator");
}
