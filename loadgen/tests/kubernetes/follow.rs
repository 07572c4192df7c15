//! Runs that are taken up again, after the loadgen that began them was killed or has lost them.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::common::program::Finished;
use crate::link::Link;
use crate::support::{NAMESPACE, Run, interrupt, kubectl, left, until};

/// Returns an error as one line.
fn said(finished: &Finished) -> String {
    let words: Vec<&str> = finished.stderr.split_whitespace().filter(|word| *word != "│").collect();
    words.join(" ")
}

#[track_caller]
fn assert_fails(finished: &Finished, parts: &[&str]) {
    let said = said(finished);
    assert_eq!(finished.code, Some(1), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(finished.stdout, "");
}

/// Returns the exit code of the program in a pod; empty while it runs.
fn exit_code(pod: &str) -> String {
    let path = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}";
    kubectl(&["get", "pod", pod, "--output", path])
}

/// Waits until the Job has this condition.
fn until_job(name: &str, condition: &str) {
    let path = format!("jsonpath={{.status.conditions[?(@.type==\"{condition}\")].status}}");
    until(condition, || kubectl(&["get", "job", name, "--output", &path]) == "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_client_was_killed_is_followed_to_its_end() {
    let run = Run::new("followed").await;
    run.begin_and_kill(&[&run.url("/"), "-u", "4", "-d", "8s", "--workers", "2"]);
    let finished = run.end(run.follow(&["--out", "result"]));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("saved in result"), "{}", finished.stdout);
    assert!(finished.stderr.contains("2 of 2"), "lines of the manager: {}", finished.stderr);
    let record = run.record("result");
    assert_eq!(record["interrupted"], false);
    assert_eq!(record["command"][2], "run", "{}", record["command"]);
    assert_eq!(record["targets"][0]["workers"].as_array().unwrap().len(), 2);
    assert!(run.project.path("result/report.html").exists());
    assert_eq!(left("followed"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_over_waits_without_its_workers_and_hands_its_result_over() {
    let run = Run::new("over").await;
    let scenario = "[load]\nusers = 4\nduration = \"3s\"\n[[step]]\nget = \"/\"\n[thresholds]\np50 = \"< 1us\"\n";
    fs::write(run.project.path("strict.toml"), scenario).unwrap();
    run.begin_and_kill(&["--scenario", "strict.toml", "--url", &run.url(""), "--workers", "2"]);
    let workers = [run.pod(1), run.pod(2)];
    until("workers go on", || workers.iter().all(|pod| exit_code(pod) == "0"));
    assert_eq!(exit_code(&run.pod(0)), "", "the manager waits");
    let finished = run.end(run.follow(&["--out", "result", "--json", "--junit", "j.xml"]));
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert_eq!(finished.json(), run.record("result"));
    assert_eq!(finished.json()["interrupted"], false);
    assert!(fs::read_to_string(run.project.path("j.xml")).unwrap().contains("<failure"));
    assert_eq!(left("over"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_a_run_that_was_taken_up() {
    let run = Run::new("stopped-later").await;
    run.begin_and_kill(&[&run.url("/"), "-u", "4", "-d", "10m", "--workers", "2"]);
    let log = run.project.path("log");
    let mut command = run.follow(&["--out", "result"]);
    let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
    until("nothing is shown", || fs::read_to_string(&log).unwrap().contains("2 of 2"));
    interrupt(&child);
    let finished = run.end_of(child);
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(finished.code, Some(130), "{log}");
    assert!(log.contains("stopping the run"), "{log}");
    assert_eq!(run.record("result")["interrupted"], true);
    assert_eq!(left("stopped-later"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_no_run_are_errors_that_say_where_it_was_looked_for() {
    let run = Run::new("nobody").await;
    let place = "there is no run nobody in the namespace restricted of the current context";
    assert_fails(&run.end(run.follow(&[])), &["no_run", place, "kubectl get jobs --selector"]);
    kubectl(&["create", "job", "nobody", "--image=localhost/none:1"]);
    let finished = run.end(run.follow(&[]));
    let jobs = kubectl(&["get", "jobs", "--output=name"]);
    kubectl(&["delete", "job", "nobody"]);
    assert_fails(&finished, &["not_a_run", "the job nobody is not a run of loadgen"]);
    assert!(jobs.contains("job.batch/nobody"), "{jobs}");
    assert!(!run.project.path("runs").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_never_began_is_told_from_one_that_has() {
    let run = Run::new("suspended").await;
    // In place of the order to begin, the client is killed.
    let programs = run.project.path("programs");
    fs::create_dir(&programs).unwrap();
    let path = env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' patch job '*) kill -9 $PPID; exit 1;; esac\n\
         PATH={path} exec kubectl \"$@\"\n"
    );
    let mut file = File::create(programs.join("kubectl")).unwrap();
    file.write_all(script.as_bytes()).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o755)).unwrap();
    drop(file);
    let mut command = run.command("run", &[&run.url("/"), "-d", "1s"]);
    let killed = run.end({
        command.env("PATH", format!("{}:{path}", programs.display()));
        command
    });
    assert_eq!(killed.code, None, "{}", killed.stderr);
    let parts = ["run_suspended", "has not begun", "`kubectl delete job suspended`"];
    assert_fails(&run.end(run.follow(&[])), &parts);
    assert!(left("suspended").contains(&"job.batch/suspended".to_owned()));
    kubectl(&["delete", "job", "suspended", "--cascade=foreground"]);
    until("something is left", || left("suspended").is_empty());
    assert_eq!(run.server.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_follow_one_run_get_its_result_or_say_who_has_it() {
    let run = Run::new("shared").await;
    let words = [&run.url("/"), "-u", "4", "-d", "8s", "--workers", "2", "--out", "first"];
    let first = run.command("run", &words).spawn().unwrap();
    run.until_loaded();
    let second = run.follow(&["--out", "second"]).spawn().unwrap();
    let ended = [("first", run.end_of(first)), ("second", run.end_of(second))];
    for (folder, finished) in &ended {
        if finished.code == Some(0) {
            assert_eq!(run.record(folder)["interrupted"], false);
            continue;
        }
        let said = said(finished);
        assert_eq!(finished.code, Some(1), "{said}");
        assert!(said.contains("result_gone") || said.contains("run_removed"), "{said}");
        assert!(!run.project.path(folder).exists());
    }
    assert!(ended.iter().any(|(_, finished)| finished.code == Some(0)));
    assert_eq!(left("shared"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_result_was_taken_by_another_says_so() {
    let run = Run::new("overtaken").await;
    let link = Link::start(&run.project).await;
    let words = [&run.url("/"), "-u", "4", "-d", "5s", "--workers", "2", "--out", "first"];
    let mut command = run.command("run", &words);
    let first = command.env("KUBECONFIG", run.project.path("kubeconfig")).spawn().unwrap();
    run.until_loaded();
    until("the result is not awaited, or the log not shown", || link.connections() >= 2);
    link.cut();
    let second = run.end(run.follow(&["--out", "second"]));
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(left("overtaken"), Vec::<String>::new());
    link.mend();
    let first = run.end_of(first);
    let parts =
        ["loadgen k8s follow overtaken --namespace restricted", "run_removed", "another loadgen"];
    assert_fails(&first, &parts);
    assert!(!run.project.path("first").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_taken_before_is_gone_and_its_job_stays() {
    let run = Run::new("taken-before").await;
    run.begin_and_kill(&[&run.url("/"), "-u", "4", "-d", "1s"]);
    let pod = run.pod(0);
    // What a client does that is killed before it removes the run.
    let words = ["exec", "--stdin", &pod, "--", "loadgen", "hand-over"];
    let mut command = Command::new("kubectl");
    command.arg("--namespace").arg(NAMESPACE).args(words).stdin(Stdio::piped());
    let log = run.project.path("archive");
    let mut taker = command.stdout(File::create(&log).unwrap()).spawn().unwrap();
    until("it is not over", || fs::read(&log).unwrap().windows(5).any(|it| it == b"over "));
    taker.stdin.take().unwrap().write_all(b"taken\n").unwrap();
    until_job("taken-before", "Complete");
    let _ = taker.wait();
    let parts =
        ["result_gone", "another loadgen has taken it", "`kubectl delete job taken-before`"];
    assert_fails(&run.end(run.follow(&["--out", "result"])), &parts);
    assert!(!run.project.path("result").exists());
    assert!(left("taken-before").contains(&"job.batch/taken-before".to_owned()));
    kubectl(&["delete", "job", "taken-before", "--cascade=foreground"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rendered_runs_and_results_that_nobody_took_are_told() {
    let run = Run::new("untaken").await;
    let output = run.command("render", &[&run.url("/"), "-u", "4", "-d", "1s"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let path = run.project.path("job.yaml");
    let create = |text: &str| {
        fs::write(&path, text).unwrap();
        kubectl(&["create", "--filename", path.to_str().unwrap()]);
        until_job("untaken", "Complete");
    };
    let delete = || {
        kubectl(&["delete", "--cascade=foreground", "--filename", path.to_str().unwrap()]);
        until("something is left", || left("untaken").is_empty());
    };
    create(&text);
    let parts = ["no_hand_over", "prints its result in its log", "kubectl logs --follow"];
    assert_fails(&run.end(run.follow(&[])), &parts);
    assert!(!left("untaken").is_empty());
    delete();
    // As `k8s run` has it, but with less patience.
    let impatient = text.replacen("- --wait=11m", "- --wait=11m\n        - --hand-over=1s", 1);
    assert_ne!(impatient, text);
    create(&impatient);
    let parts = ["result_gone", "nobody took it while its manager waited"];
    assert_fails(&run.end(run.follow(&[])), &parts);
    delete();
}
