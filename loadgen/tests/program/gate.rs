//! `--fail-on-regression` within a run: the exit code and what is said.

use serde_json::Value;

use crate::common::Counting;
use crate::common::program::{Finished, Project};

/// Measures two servers, of which `new` has this path, and `old` the path `slow`.
async fn gate(new: &str, arguments: &[&str]) -> (Project, Finished) {
    let (old, server) = (Counting::start().await, Counting::start().await);
    let project = Project::real().file("mine.toml", "[load]\nusers = 2\n[[step]]\nget = \"/10\"\n");
    let url = format!("--url=old={}/slow,new={}/{new}", old.url, server.url);
    let fixed = ["-s=mine.toml", "--duration=300ms", "--warmup=0s", "--out=run", &url];
    let finished = tokio::task::block_in_place(|| project.run(&[&fixed, arguments].concat()));
    (project, finished)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shown_loss_ends_with_code_3() {
    let arguments = ["--fail-on-regression=10%", "--junit=gate.xml", "--rounds=5"];
    let (project, finished) = gate("slower", &arguments).await;
    assert_eq!(finished.code, Some(3), "{}", finished.said());
    let said = finished.stdout.replace("\n  ", "");
    assert!(said.contains("regression: new has -"), "{said}");
    let xml = std::fs::read_to_string(project.path("gate.xml")).unwrap();
    assert!(xml.contains("loses at most 10 %") && xml.contains("failures=\"1\""), "{xml}");
    let saved = std::fs::read_to_string(project.path("run/run.json")).unwrap();
    let document: Value = serde_json::from_str(&saved).unwrap();
    let judged = &document["gate"]["judged"][0];
    assert_eq!((&judged["target"], &judged["judgement"]), (&"new".into(), &"slower".into()));
    let loss = judged["loss_percent"].as_f64().unwrap();
    assert!((30.0..70.0).contains(&loss), "half the rate, on a machine with other tests: {loss}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gain_passes() {
    let (old, server) = (Counting::start().await, Counting::start().await);
    let project = Project::real().file("mine.toml", "[load]\nusers = 2\n[[step]]\nget = \"/10\"\n");
    let url = format!("--url=old={}/slower,new={}/slow", old.url, server.url);
    let arguments = ["-s=mine.toml", "--duration=300ms", "--warmup=0s", &url, "--rounds=5"];
    let finished = tokio::task::block_in_place(|| {
        project.run(&[&arguments[..], &["--fail-on-regression=5"]].concat())
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stdout.contains(" no regression: new has +"), "{}", finished.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_rounds_cannot_be_judged() {
    let (_, finished) = gate("slow", &["--fail-on-regression=10", "--rounds=2"]).await;
    assert_eq!(finished.code, Some(1), "{}", finished.said());
    let said = "new cannot be judged against old: 5 whole rounds are needed, and 2 ran";
    assert!(finished.stdout.contains(said), "{}", finished.stdout);
}

#[test]
fn a_gate_needs_two_targets() {
    let project = Project::real();
    for (arguments, why) in [
        (["-s=direct", "-t=sanic"], "compares at least two targets"),
        (["-s=direct", "--server-workers=1,2"], "takes only one number of users"),
    ] {
        let finished = project.run(&[&arguments[..], &["--fail-on-regression=5"]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.contains(why), "{}", finished.stderr);
    }
}
