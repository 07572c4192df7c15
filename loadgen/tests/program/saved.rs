//! Saved runs, shown again and compared with each other.

use std::fs;
use std::path::Path;

use crate::common::Counting;
use crate::common::program::{Finished, Project};
use serde_json::Value;

const SCENARIO: &str =
    "load = { users = 4, iterations = 400 }\n[[step]]\nname = \"hello\"\nget = \"/\"\n";

/// Creates a project with a run of two rounds in `before`.
async fn measured() -> Project {
    let server = Counting::start().await;
    let project = Project::real().file("mine.toml", SCENARIO);
    let arguments =
        ["-s=mine.toml", "--url", &server.url, "--rounds=2", "--warmup=0s", "--out=before"];
    let finished = tokio::task::block_in_place(|| project.run(&arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    project
}

/// Saves the record of `before`, changed by `change`, as the run `name`.
fn changed(project: &Project, name: &str, change: impl FnOnce(&mut Value)) {
    let mut record: Value =
        serde_json::from_slice(&fs::read(project.path("before/run.json")).unwrap()).unwrap();
    change(&mut record);
    fs::create_dir(project.path(name)).unwrap();
    fs::write(project.path(name).join("run.json"), record.to_string()).unwrap();
}

/// Gives a record five rounds at about `rate`.
fn at_rate(rate: f64) -> impl FnOnce(&mut Value) {
    move |record| {
        let first = record["targets"][0]["rounds"][0].clone();
        let rounds = [0.0, 0.01, -0.01, 0.005, -0.005].into_iter().zip(1..).map(|(noise, n)| {
            let mut round = first.clone();
            round["round"] = n.into();
            round["bottleneck"] = Value::Null;
            round["total"]["rate_per_s"] = (rate * (1.0 + noise + f64::from(n % 2) / 1e3)).into();
            round
        });
        record["targets"][0]["rounds"] = rounds.collect();
        record["verdicts"] = Value::Array(Vec::new());
        // Other tests on this machine may have held up the generator.
        record["targets"][0]["bottleneck"] = Value::Null;
    }
}

fn page(folder: &Path) -> String {
    fs::read_to_string(folder.join("report.html")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_run_has_a_page_and_can_be_shown_again() {
    let project = measured().await;
    let folder = project.path("before");
    let first = page(&folder);
    assert!(first.starts_with("<!DOCTYPE html>"), "{}", &first[..100]);
    fs::remove_file(folder.join("report.html")).unwrap();
    let shown = project.run(&["report", "before"]);
    assert_eq!(shown.code, Some(0), "{}", shown.said());
    assert!(
        shown.stdout.starts_with("mine: 4 users, 2 rounds of 400 iterations"),
        "{}",
        shown.stdout
    );
    assert_eq!(page(&folder), first, "the record has all that the page shows");
    let all = project.run(&["report", "before", "before/run.json", "--format=csv"]);
    assert_eq!(all.stdout.matches("scenario,target").count(), 2, "{}", all.stdout);
    let json = project.run(&["report", "before", "--format=json"]).json();
    let command: Vec<&str> =
        json["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(command[1], "-s=mine.toml", "{command:?}");
    let histogram = json["targets"][0]["latency_histograms"]["hello"].as_str().unwrap();
    assert!(histogram.starts_with("HISTFAAA"), "as HdrHistogram writes it: {histogram}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_older_runs_can_be_shown() {
    let project = measured().await;
    changed(&project, "older", |record| {
        record["interrupted"] = true.into();
        record.as_object_mut().unwrap().remove("command");
        let target = record["targets"][0].as_object_mut().unwrap();
        target.remove("latency_histograms");
        target["rounds"][0].as_object_mut().unwrap().remove("steps_seconds");
    });
    let shown = project.run(&["report", "older", "--format=markdown"]);
    assert_eq!(shown.code, Some(0), "{}", shown.said());
    assert!(page(&project.path("older")).contains("did not keep its command line"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_run_is_refused() {
    let project = measured()
        .await
        .file("text.json", "no JSON")
        .file("old.json", "{\"schema\": \"loadgen.run/0\"}");
    changed(&project, "half", |record| drop(record.as_object_mut().unwrap().remove("load")));
    for (run, why) in [
        ("nowhere", "No such file"),
        ("targets", "contains none of run.json, capacity.json and experiment.json"),
        ("text.json", "expected ident at line"),
        ("old.json", "has the schema loadgen.run/0, unknown to this version"),
        ("half", "missing field"),
    ] {
        let refused = project.run(&["report", run]);
        assert_eq!(refused.code, Some(2), "{}", refused.said());
        let on_one_line = refused.stderr.replace("\n  │ ", " ");
        assert!(on_one_line.contains(why), "{}", refused.said());
    }
}

fn compare(project: &Project, arguments: &[&str]) -> Finished {
    project.run(&[&["compare", "before5", "after"], arguments].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_regression_exits_with_3() {
    let project = measured().await;
    changed(&project, "before5", at_rate(1_000.0));
    changed(&project, "after", |record| {
        at_rate(900.0)(record);
        record["environment"]["kernel"] = "6.99".into();
    });
    let plain = compare(&project, &[]);
    assert_eq!(plain.code, Some(0), "{}", plain.said());
    assert!(
        plain.stdout.contains("after serves 0.90 times the requests of before5"),
        "{}",
        plain.stdout
    );
    assert!(plain.stdout.contains("environment.kernel differs"), "{}", plain.stdout);
    let failed = compare(&project, &["--fail-on-regression=5%"]);
    assert_eq!(failed.code, Some(3), "{}", failed.said());
    let said = failed.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("regression: http") && said.contains("(after) has -10.0 % requests/s"),
        "{said}"
    );
    let within = compare(&project, &["--fail-on-regression=15"]);
    assert_eq!(within.code, Some(0), "{}", within.said());
    let back = project.run(&["compare", "after", "before5", "--fail-on-regression=5%"]);
    assert_eq!(back.code, Some(0), "a gain: {}", back.said());
    let json = compare(&project, &["--format=json", "--fail-on-regression=5"]).json();
    assert_eq!(json["schema"], "loadgen.compare/1");
    assert_eq!(json["gate"]["judged"][0]["judgement"], "slower");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_loadgen_limited_passes_no_gate() {
    let project = measured().await;
    changed(&project, "before5", at_rate(1_000.0));
    changed(&project, "after", |record| {
        at_rate(999.0)(record);
        record["targets"][0]["bottleneck"] = "generator".into();
    });
    assert_eq!(compare(&project, &[]).code, Some(0), "nobody asked for a verdict");
    let gate = compare(&project, &["--fail-on-regression=5%"]);
    assert_eq!(gate.code, Some(1), "{}", gate.said());
    let why = "after has a rate that loadgen itself limited";
    let said = gate.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(why), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_rounds_pass_no_gate() {
    let project = measured().await;
    changed(&project, "after", |_| {});
    let compared = project.run(&["compare", "before", "after"]);
    assert_eq!(compared.code, Some(0), "{}", compared.said());
    let gate = project.run(&["compare", "before", "after", "--fail-on-regression=5%"]);
    assert_eq!(gate.code, Some(1), "{}", gate.said());
    assert!(gate.stderr.contains("cannot judge"), "{}", gate.stderr);
    let one = project.run(&["compare", "before"]);
    assert_eq!(one.code, Some(2), "{}", one.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_sent_different_requests_are_not_compared() {
    let server = Counting::start().await;
    let project = Project::real();
    let run = |out: &str, scenario: &str| {
        let project = &project;
        std::fs::write(project.path("s.toml"), scenario).unwrap();
        let out = format!("--out={out}");
        let fixed = ["-s=s.toml", "--rounds=5", "--iterations=20", "--warmup=0s", "--users=2"];
        let arguments = [&fixed[..], &["--url", &server.url, &out]].concat();
        let finished = tokio::task::block_in_place(|| project.run(&arguments));
        assert_eq!(finished.code, Some(0), "{}", finished.said());
    };
    // Slow answers, so that loadgen cannot be the limit of the rate.
    let scenario =
        "[[step]]\nname = \"a\"\nget = \"/slow/20\"\nheaders = { authorization = \"a\" }\n";
    run("before", scenario);
    run("same", &scenario.replace("\"a\" }", "\"b\" }"));
    run("path", &scenario.replace("/slow/20", "/slow/21"));
    run("transport", &format!("http = {{ transport = \"reqwest\" }}\n{scenario}"));
    let gate = |later: &str| {
        tokio::task::block_in_place(|| {
            project.run(&["compare", "before", later, "--fail-on-regression=99%"])
        })
    };
    assert_eq!(gate("same").code, Some(0), "{}", gate("same").said());
    for (later, what) in [
        ("path", "the requests differ: another path of step \"a\""),
        ("transport", "the requests differ: another transport (reqwest, not http1)"),
    ] {
        let refused = gate(later);
        assert_eq!(refused.code, Some(1), "{}", refused.said());
        // Undoes the wrapping of long lines.
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = joined(&refused.stdout);
        assert!(said.contains(&format!("{later} and before are not compared: {what}")), "{said}");
        assert!(joined(&refused.stderr).contains("cannot judge"), "{}", refused.stderr);
    }
    // A record of an earlier version does not say what was sent.
    changed(&project, "old", |record| drop(record.as_object_mut().unwrap().remove("sent")));
    let unknown = gate("old");
    assert_eq!(unknown.code, Some(0), "{}", unknown.said());
    assert!(
        unknown.stdout.contains("it is unknown whether old and before sent the same"),
        "{}",
        unknown.stdout
    );
}
