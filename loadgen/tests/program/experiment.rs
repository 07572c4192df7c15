//! Experiments of a user's own file: measured, saved, shown again, and checked.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Counting;
use crate::common::processes::{Started, assert_gone, signal, tree};
use crate::common::program::{Finished, Project};
use rustix::process::Signal;
use serde_json::Value;

const SCENARIO: &str = "[[step]]\nname = \"hello\"\nget = \"/\"\n";

const EXPERIMENT: &str = r#"
title = "Few users or many"
source = { title = "A page", year = 2022, differs = ["one server instead of two"] }

[[group]]
name = "users"
scenario = "hello.toml"
rounds = 5

[[group.arm]]
name = "few"
load = { users = 2, iterations = 200 }
warmup = "50ms"
quick = { load = { users = 2, iterations = 20 }, warmup = "10ms" }

[[group.arm]]
name = "many"
load = { users = 20, iterations = 200 }

[[published]]
metric = "mean"
best_of_rounds = true
figures = { few = "1ms", many = "20ms" }

[[claim]]
says = "no request fails"
metric = "error_rate"
arm = "many"
is = "< 1%"
"#;

/// Returns a folder that has nothing but the experiment and its scenario.
fn project() -> Project {
    Project::bare().file("hello.toml", SCENARIO).file("mine.toml", EXPERIMENT)
}

/// Measures the experiment, and returns the URL of the server with what loadgen said.
async fn measured(project: &Project, more: &[&str]) -> (Counting, Finished) {
    let server = Counting::start().await;
    let arguments =
        ["experiment", "mine.toml", "--url", &server.url, "--warmup=0s", "--out=result"];
    let all = [&arguments, more].concat();
    let finished = tokio::task::block_in_place(|| project.run(&all));
    (server, finished)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_loads_on_a_server_are_compared_from_an_empty_folder() {
    let project = project();
    let (server, finished) = measured(&project, &[]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let saved = fs::read_to_string(project.path("result/experiment.json")).unwrap();
    let record: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(record["schema"], "loadgen.experiment/1");
    let runs = record["groups"][0]["runs"].as_array().unwrap();
    let counted = |run: &Value| {
        let target = &run["targets"][0];
        assert_eq!(target["rounds"].as_array().unwrap().len(), 5);
        (target["name"].as_str().unwrap().to_owned(), target["total"]["requests"].as_u64().unwrap())
    };
    let counted: Vec<(String, u64)> = runs.iter().map(counted).collect();
    assert_eq!(counted, [("few".to_owned(), 1_000), ("many".to_owned(), 1_000)]);
    // Each round begins with one request that verifies the target.
    assert_eq!(server.requests(), 2_000 + 10);
    let arm = &record["groups"][0]["arms"][1];
    assert_eq!(arm["load"], "closed model, 20 users, 200 iterations in total");
    let published = &arm["published"][0];
    assert_eq!((&published["published"], &published["unit"]), (&20.0.into(), &"ms".into()));
    assert!(published["best_round"].as_f64() <= published["measured"].as_f64());
    let claim = &record["claims"][0];
    // Other tests on this machine may have held up the generator, whose rounds then show nothing.
    let held_up = claim["why"] == "loadgen itself limited the load on many";
    assert!(claim["finding"] == "held" || held_up, "{claim}: {}", finished.said());
    assert_eq!(claim["evidence"].as_array().unwrap().len(), 1);
    assert_eq!(claim["evidence"][0]["figure"].is_null(), held_up, "{claim}");
    for words in ["few", "many", "published", " no request fails ", "saved in result"] {
        assert!(finished.stdout.contains(words), "{words}: {}", finished.stdout);
    }
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{}", finished.stdout);

    fs::remove_file(project.path("result/report.html")).unwrap();
    let again = project.run(&["report", "result"]);
    assert_eq!((again.code, again.stdout), (Some(0), finished.stdout));
    let page = fs::read_to_string(project.path("result/report.html")).unwrap();
    assert!(page.contains("no request fails") && page.contains("<h1>mine</h1>"));
    let csv = project.run(&["report", "result", "--format=csv"]);
    assert!(csv.stdout.starts_with("group,arm,target,scenario,users,"), "{}", csv.stdout);
    let refused = project.run(&["compare", "result", "result"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("cannot compare an experiment"), "{}", refused.stderr);
    let picture = project.run(&["report", "result", "--format=svg"]).stdout;
    assert!(picture.starts_with("<svg ") && picture.contains("no request fails"), "{picture}");
    let refused = project.run(&["compare", "result", "result", "--format=svg"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("[possible values: table, json, csv, markdown]"),
        "{}",
        refused.stderr
    );
}

/// Returns the saved result as Markdown, in one line.
fn in_full(project: &Project) -> String {
    let text = project.run(&["report", "result", "--format=markdown"]).stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quick_form_names_what_it_changes_and_shows_no_claim_with_few_rounds() {
    let project = project();
    let (server, finished) = measured(&project, &["--quick", "--rounds=1"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(server.requests(), 20 + 200 + 2);
    assert!(finished.stdout.contains(" changed: 1 round instead of 5; "), "{}", finished.stdout);
    let text = in_full(&project);
    for words in [
        "Few users or many (after \"A page\", 2022), quick form",
        "1 round instead of 5; warm-up of 0ms instead of 50ms; warm-up of 0ms instead of 1s; closed model, 2 users, 20 iterations in total instead of closed model, 2 users, 200 iterations in total",
        "could not be shown: no request fails (users)",
        "Different from the source: - one server instead of two",
    ] {
        assert!(text.contains(words), "{words}: {}", finished.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arm_has_a_warm_up_of_its_own() {
    let project = project();
    let server = Counting::start().await;
    let arguments =
        ["experiment", "mine.toml", "--url", &server.url, "--rounds=1", "--quick", "--out=result"];
    let finished = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = result(&project);
    let runs = record["groups"][0]["runs"].as_array().unwrap();
    let warmups: Vec<&Value> = runs.iter().map(|run| &run["load"]["warmup_s"]).collect();
    assert_eq!(warmups, [&Value::from(0.01), &Value::from(1.0)], "{}", finished.said());
    let text = in_full(&project);
    for said in ["warm-up of 10ms instead of 50ms", "few: warm-up of 10ms; many: warm-up of 1s"] {
        assert!(text.contains(said), "{said}: {}", finished.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_follows_the_rounds_and_has_a_table_of_its_own() {
    let most = search("most", "hello.toml", 2) + "[[published]]";
    let file = EXPERIMENT.replace("rounds = 5", "rounds = 1").replace("[[published]]", &most);
    let project = project().file("mine.toml", &file);
    let (server, finished) = measured(&project, &["--no-calibrate"]).await;
    // The server may carry more than this machine can send: that is a bound.
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = result(&project);
    let [users, most] = [&record["groups"][0], &record["groups"][1]];
    assert_eq!(users["runs"].as_array().unwrap().len(), 2, "{}", finished.said());
    assert_eq!((&users["capacity"], &most["runs"]), (&Value::Null, &Value::Array(Vec::new())));
    let capacity = &most["capacity"];
    assert_eq!(capacity["schema"], "loadgen.capacity/1");
    let target = &capacity["targets"][0];
    assert_eq!((&target["name"], &capacity["search"]["rounds"]), (&"any".into(), &2.into()));
    let of_trials: u64 = target["trials"].as_array().unwrap().iter().map(requests).sum();
    assert!(server.requests() >= of_trials + 400, "{} and {of_trials}", server.requests());
    assert!(target["capacity"]["rate_per_s"].as_f64().unwrap() > 1.0, "{target}");
    for said in ["most, 2 searches over each arm", "capacity/s", " any "] {
        assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
    }
    assert!(in_full(&project).contains("a rate passes if"));
    let page = fs::read_to_string(project.path("result/report.html")).unwrap();
    assert!(page.contains("Latency over throughput") && page.contains("Distribution of latency"));
    let again = project.run(&["report", "result"]);
    assert_eq!((again.code, again.stdout), (Some(0), finished.stdout));
}

/// Returns a group that searches for the capacity of the only server, as text.
fn search(name: &str, scenario: &str, rounds: u32) -> String {
    format!(
        "[[group]]\nname = \"{name}\"\nscenario = \"{scenario}\"\nrounds = {rounds}\n\
         capacity = {{ users = 50, duration = \"200ms\", precision = \"50%\" }}\n\
         [[group.arm]]\nname = \"any\"\n\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn each_search_has_a_result_and_one_without_a_rate_exits_with_3() {
    let strict = format!("{SCENARIO}[thresholds]\nmax = \"< 1us\"\n");
    let file = search("loose", "hello.toml", 1) + &search("strict", "strict.toml", 1);
    let project = project().file("strict.toml", &strict).file("mine.toml", &file);
    let (_, finished) = measured(&project, &["--no-calibrate"]).await;
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let record = result(&project);
    let found = |group: usize| &record["groups"][group]["capacity"]["targets"][0]["capacity"];
    assert!(found(0)["rate_per_s"].as_f64().unwrap() > 1.0, "{}", found(0));
    assert_eq!(found(1)["bound"], "below", "{}", found(1));
    for said in ["loose, 1 search over each arm", "strict, 1 search over each arm"] {
        assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_during_a_search_keeps_the_rounds_and_the_trials() {
    let rounds = EXPERIMENT.replace("rounds = 5", "rounds = 1");
    let file =
        rounds.replace("[[published]]", &(search("most", "hello.toml", 100) + "[[published]]"));
    let project = project().file("mine.toml", &file);
    let server = Counting::start().await;
    let arguments =
        ["experiment", "mine.toml", "--url", &server.url, "--warmup=0s", "--out=result"];
    let mut command = project.command(&arguments);
    let child = Started::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let deadline = Instant::now() + Duration::from_secs(60);
    // The rounds have 400 requests, and the first trial has 140.
    while server.requests() < 800 {
        assert!(Instant::now() < deadline, "the second trial has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pids = tree(child.id());
    signal(child.id(), Signal::TERM);
    let output = tokio::task::block_in_place(|| child.output());
    let finished = Finished::of(output, &project.path(""));
    assert_eq!(finished.code, Some(130), "{}", finished.said());
    let record = result(&project);
    let [users, most] = [&record["groups"][0], &record["groups"][1]];
    assert_eq!(
        (&record["interrupted"], &most["capacity"]["interrupted"]),
        (&true.into(), &true.into())
    );
    assert_eq!(users["runs"].as_array().unwrap().len(), 2, "{}", finished.said());
    let trials = most["capacity"]["targets"][0]["trials"].as_array().unwrap();
    assert!(!trials.is_empty(), "{}", finished.said());
    assert_gone(&pids, Duration::from_secs(1));
}

fn requests(trial: &Value) -> u64 {
    trial["total"]["requests"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_are_not_in_force_are_named() {
    let limited = EXPERIMENT.replace("rounds = 5", "rounds = 1\ncpus = 1\nmemory = \"1g\"");
    let project = project().file("mine.toml", &limited);
    let (_, finished) = measured(&project, &["--no-calibrate"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let text = in_full(&project);
    let named = "few, many: no limit instead of 1 CPU, 1 GiB (loadgen sets no limits of a \
                 server at --url)";
    assert!(text.contains(named), "{}", finished.stdout);
}

#[test]
fn check_explains_an_experiment_and_warns_of_claims_that_prove_nothing() {
    let claim = "\n[[claim]]\nmetric = \"mean\"\norder = [\"few\", \"many\"]\n";
    let few = EXPERIMENT.replace("rounds = 5", "rounds = 3") + claim;
    let other = few.replace("name = \"many\"", "name = \"many\"\nserver_workers = 2");
    let project = project().file("mine.toml", &few).file("other.toml", &other);
    let checked = project.run(&["check", "mine.toml", "other.toml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    insta::assert_snapshot!(checked.stdout);
}

#[test]
fn faults_of_an_experiment_are_usage_errors() {
    let faulty = EXPERIMENT.replace("arm = \"many\"", "arm = \"most\"");
    let project = project().file("faulty.toml", &faulty);
    for (arguments, words) in [
        (&["experiment", "faulty.toml", "--url=http://127.0.0.1:1"][..], "unknown arm"),
        (&["check", "faulty.toml"], "unknown arm"),
        (&["experiment", "none.toml", "--url=http://127.0.0.1:1"], "cannot read the experiment"),
        (&["experiment", "mine.toml", "--url=a=http://127.0.0.1:1,b=http://127.0.0.1:2"], "target"),
        (&["experiment", "hello.toml", "--url=http://127.0.0.1:1"], "has no group"),
    ] {
        let refused = project.run(arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.said());
        assert!(refused.stderr.contains(words), "{arguments:?}: {}", refused.stderr);
    }
    assert!(!project.path("runs").exists(), "nothing was begun");
}

#[test]
fn an_unknown_experiment_suggests_the_nearest() {
    let project = Project::real();
    let refused = project.run(&["experiment", "web-server"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.stderr.contains("did you mean \"web-servers\"?"), "{}", refused.stderr);
    let listed = project.run(&["list"]);
    assert!(listed.stdout.contains("  web-servers        Web servers side by side\n"));
}

/// A group whose backends hold profiles and are measured alone. The target reads none of them.
fn alone(backend: &str) -> (Project, Finished) {
    let scenario = "backends = [\"redis\", \"postgres\"]\nexisting_profiles = 300\n\
                    [[step]]\nget = \"/\"\n";
    let experiment = format!(
        "[[group]]\nname = \"alone\"\nscenario = \"mine.toml\"\nbackend_alone = \"{backend}\"\n\
         rounds = 2\nquick = {{ rounds = 1 }}\ntarget = \"fastapi\"\n\
         load = {{ users = 3, iterations = 30 }}\n[[group.arm]]\nname = \"one\"\n"
    );
    let project = Project::real().file("mine.toml", scenario).file("alone.toml", &experiment);
    let arguments = ["experiment", "alone.toml", "--quick", "--no-calibrate", "--out=result"];
    let finished = project.run(&arguments);
    (project, finished)
}

#[test]
fn targets_get_only_the_backends_of_their_scenario() {
    let scenario = |status: u16, backends: &str| {
        format!(
            "backends = [{backends}]\n[[step]]\nget = \"/redis3\"\nexpect = {{ status = {status} }}\n"
        )
    };
    let group = |name: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nscenario = \"{name}.toml\"\ntarget = \"fastapi\"\nrounds = 1\n\
             load = {{ users = 1, iterations = 10 }}\n[[group.arm]]\nname = \"an arm\"\n"
        )
    };
    // Redis, which the first group has started, still runs in the second.
    let project = Project::real()
        .file("with.toml", &scenario(200, "\"redis\""))
        .file("without.toml", &scenario(500, ""))
        .file("two.toml", &(group("with") + &group("without")));
    let finished =
        project.run(&["experiment", "two.toml", "--warmup=0s", "--no-calibrate", "--out=result"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = result(&project);
    for group in record["groups"].as_array().unwrap() {
        assert_eq!(group["runs"][0]["targets"][0]["total"]["requests"], 10, "{}", group["name"]);
    }
}

fn result(project: &Project) -> Value {
    let saved = fs::read_to_string(project.path("result/experiment.json")).unwrap();
    serde_json::from_str(&saved).unwrap()
}

#[test]
fn postgres_is_measured_alone_before_the_servers() {
    let (project, finished) = alone("postgres");
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = result(&project);
    let alone = &record["groups"][0]["runs"][0]["backend_alone"];
    assert_eq!((&alone["program"], &alone["clients"]), (&"pgbench".into(), &3.into()), "{alone}");
    assert!(alone["rate_per_s"].as_f64().unwrap() > 1.0, "{alone}");
    assert_eq!(alone["why_not"], Value::Null);
    let log = fs::read_to_string(project.path("result/postgres-alone.log")).unwrap();
    assert!(log.contains("number of failed transactions: 0"), "{log}");
    for said in ["postgres alone: ", "operations/s (pgbench, 3 clients: 95 % look-ups"] {
        assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
    }
    assert!(in_full(&project).contains("server ÷"));
}

#[test]
fn redis_is_measured_alone_or_the_report_says_why_not() {
    let (project, finished) = alone("redis");
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let record = result(&project);
    let alone = &record["groups"][0]["runs"][0]["backend_alone"];
    let is_here = std::process::Command::new("redis-benchmark").arg("--version").output().is_ok();
    if is_here {
        assert_eq!(alone["program"], "redis-benchmark", "{alone}");
        assert!(alone["rate_per_s"].as_f64().unwrap() > 1.0, "{alone}");
    } else {
        assert_eq!(alone["why_not"], "redis-benchmark is not on the PATH");
        assert!(finished.stdout.contains("redis alone: not measured: "), "{}", finished.stdout);
    }
}
