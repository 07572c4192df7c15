//! Manifests that a user gives to kubectl.

use std::fs;

use tokio::task::block_in_place;

use crate::support::{Run, kubectl, left, until};

/// Renders manifests, and gives them to the cluster after a change.
fn create(run: &Run, words: &[&str], change: impl FnOnce(String) -> String) {
    let output = block_in_place(|| run.command("render", words).output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = change(String::from_utf8(output.stdout).unwrap());
    let path = run.project.path("job.yaml");
    fs::write(&path, text).unwrap();
    kubectl(&["create", "--validate=strict", "--filename", path.to_str().unwrap()]);
}

fn delete(run: &Run, name: &str) {
    let path = run.project.path("job.yaml");
    kubectl(&["delete", "--cascade=foreground", "--filename", path.to_str().unwrap()]);
    until("something is left", || left(name).is_empty());
}

/// Waits for a condition of the Job, and returns its reason and message.
fn condition(name: &str, kind: &str) -> String {
    let path = format!(
        "jsonpath={{range .status.conditions[?(@.type==\"{kind}\")]}}{{.reason}}: {{.message}}{{end}}"
    );
    let get = || kubectl(&["get", "job", name, "--output", &path]);
    until(kind, || !get().is_empty());
    get()
}

#[tokio::test(flavor = "multi_thread")]
async fn rendered_manifests_run_and_print_the_result() {
    let run = Run::new("rendered").await;
    let words = [&run.url("/"), "-u", "4", "-d", "2s", "--workers", "2"];
    create(&run, &words, |text| text);
    let why = condition("rendered", "Complete");
    assert!(why.contains("Matched rules at index 0"), "{why}");
    let log = kubectl(&["logs", &run.pod(0)]);
    assert!(log.contains("requests/s") && log.contains("2 of 2"), "{log}");
    delete(&run, "rendered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_threshold_ends_the_job_with_its_code() {
    let run = Run::new("strict").await;
    let scenario = "[load]\nusers = 2\nduration = \"1s\"\n[[step]]\nget = \"/\"\n[thresholds]\np50 = \"< 1us\"\n";
    fs::write(run.project.path("strict.toml"), scenario).unwrap();
    let server = run.url("");
    create(&run, &["--scenario", "strict.toml", "--url", &server], |text| text);
    let why = condition("strict", "Failed");
    assert!(why.contains("PodFailurePolicy") && why.contains("exit code 3"), "{why}");
    delete(&run, "strict");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_the_join_document_of_another_run_is_kept_out() {
    let run = Run::new("foreign").await;
    let words = [&run.url("/"), "-u", "4", "-d", "60s", "--workers", "1"];
    let other = block_in_place(|| run.command("render", &words).output().unwrap());
    let other = String::from_utf8(other.stdout).unwrap();
    let join = |text: &str| {
        let (_, after) = text.split_once("\"1\": >-\n").unwrap();
        after.lines().next().unwrap().to_owned()
    };
    create(&run, &words, |text| {
        let changed = text.replace(&join(&text), &join(&other)).replace("--wait=11m", "--wait=8s");
        assert_ne!(changed, text);
        changed
    });
    condition("foreign", "Failed");
    let (manager, worker) = (kubectl(&["logs", &run.pod(0)]), kubectl(&["logs", &run.pod(1)]));
    let manager = manager.replace('│', "");
    let manager = manager.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["0 of 1 workers", "check that the workers run"] {
        assert!(manager.contains(said), "{said}: {manager}");
    }
    assert!(worker.contains("not_the_manager"), "{worker}");
    assert_eq!(run.server.requests(), 0, "no load");
    delete(&run, "foreign");
}
