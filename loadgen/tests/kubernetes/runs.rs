//! Whole runs.

use serde_json::Value;

use crate::support::Run;

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_and_three_workers_share_the_load_of_a_run() {
    let run = Run::new("whole").await;
    let url = run.url("/");
    let words = ["-u", "6", "-d", "2s", "--workers", "3", "--seed", "7", "--out", "result"];
    let finished = run.run(&[&[url.as_str()], &words[..]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("requests/s"), "{}", finished.stdout);
    assert!(finished.stdout.contains("saved in result"), "{}", finished.stdout);
    for said in ["of 4 pods run", "3 of 3"] {
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
    }
    let record = run.record("result");
    assert_eq!(record["seed"], 7);
    assert_eq!(record["command"][1], "k8s", "{}", record["command"]);
    let workers = record["targets"][0]["workers"].as_array().unwrap();
    let hosts: Vec<&str> = workers.iter().filter_map(|worker| worker["host"].as_str()).collect();
    assert_eq!(hosts, ["whole-1 on node-a", "whole-2 on node-a", "whole-3 on node-a"]);
    assert!(run.project.path("result/report.html").exists());
    assert!(run.project.path("result/latencies.hlog").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_comes_with_its_rows_its_files_and_its_secrets() {
    let run = Run::new("packed").await;
    let scenario = "[load]\nusers = 2\niterations = 3\n[rows.users]\nfile = \"users.csv\"\nuse = \"once\"\n[[step]]\n\
                    post = \"/remember\"\nheaders = { authorization = \"Bearer {{ env TOKEN }}\" }\n\
                    body = { text = \"{{ users.name }}-{{ env TOKEN }}\" }\n";
    let project = &run.project;
    std::fs::write(project.path("mine.toml"), scenario).unwrap();
    std::fs::write(project.path("users.csv"), "name\nann\nbob\ncleo\ndora\n").unwrap();
    let mut command = run.command(
        "run",
        &["--scenario", "mine.toml", "--url", &run.url(""), "-w", "2", "--out", "result", "--json"],
    );
    let output = tokio::task::block_in_place(|| command.env("TOKEN", "s3cret").output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["scenario"], "mine");
    let remembered: Vec<String> = run.server.take_remembered().into_iter().collect();
    for name in ["ann", "bob", "cleo"] {
        assert!(remembered.contains(&format!("{name}-s3cret")), "{remembered:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_is_that_of_loadgen() {
    let run = Run::new("codes").await;
    let scenario = "[load]\nusers = 2\nduration = \"1s\"\n[[step]]\nget = \"/\"\n[thresholds]\np50 = \"< 1us\"\n";
    std::fs::write(run.project.path("strict.toml"), scenario).unwrap();
    let server = run.url("");
    let finished = run.run(&[
        "--scenario",
        "strict.toml",
        "--url",
        &server,
        "--out",
        "strict",
        "--junit=j.xml",
    ]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!(run.project.path("strict/run.json").exists());
    assert!(std::fs::read_to_string(run.project.path("j.xml")).unwrap().contains("<failure"));
    // What the manager says, when it measures nothing.
    let finished = run.run(&[&run.url("/status/500"), "-d", "1s"]);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    assert!(finished.stderr.contains("500"), "{}", finished.stderr);
    assert!(
        !run.project.path("runs").exists()
            || std::fs::read_dir(run.project.path("runs")).unwrap().next().is_none()
    );
}
