//! gRPC calls through the real binary, against a target of the lab.

use std::fs;

use crate::common::program::{Project, checkout};

/// Returns the path of the services that the lab's target has.
fn proto() -> String {
    checkout().join("targets/greeter.proto").to_str().unwrap().to_owned()
}

/// Returns the shipped scenario, with this load.
fn shipped(load: &str) -> String {
    let text = fs::read_to_string(checkout().join("scenarios/grpc.toml")).unwrap();
    let (begin, rest) = text.split_once("users = 50\nduration = \"5s\"").unwrap();
    format!("{begin}{load}{rest}").replace("../targets/greeter.proto", &proto())
}

/// Redis counts the calls that the target serves. The verification before the round is one of them, and
/// the proof counts it, too.
#[test]
fn the_lab_serves_as_many_calls_as_are_counted() {
    let text = format!(
        r#"
        backends = ["redis"]

        [load]
        users = 4
        iterations = 200

        [grpc]
        proto = "{}"

        [[step]]
        name = "add"
        grpc = "loadgen.Greeter/Add"
        body = {{ json = {{ key = "loadgen:calls", number = 3 }} }}
        expect = {{ json = {{ "/added" = 3 }}, json_type = {{ "/total" = "number" }} }}
        counters = {{ added = "/added" }}

        [[step]]
        name = "missing"
        grpc = "loadgen.Greeter/Get"
        body = {{ json = {{ key = "loadgen:missing" }} }}
        expect = {{ not = {{ json_type = {{ "/value" = "string" }} }} }}

        [[proof]]
        redis = "GET loadgen:calls"
        counter = "added"
        "#,
        proto()
    );
    let project = Project::real().file("mine.toml", &text);
    let args = ["-s=mine.toml", "-t=grpc", "--rounds=2", "--no-calibrate", "--json", "--workers=2"];
    let finished = project.run(&args);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = &document["targets"][0];
    for step in target["steps"].as_array().unwrap() {
        assert_eq!((&step["requests"], &step["errors"]), (&400.into(), &0.into()), "{step}");
    }
    assert_eq!(target["counters"]["added"], 3 * 400, "{target}");
    for round in target["rounds"].as_array().unwrap() {
        assert_eq!(round["connections"]["versions"]["HTTP/2"], 4, "{round}");
    }
    for proof in target["proofs"].as_array().unwrap() {
        assert_eq!((&proof["agrees"], &proof["counted"]), (&true.into(), &600.into()), "{proof}");
        let [held, uncounted] = ["held", "uncounted"].map(|name| proof[name].as_u64().unwrap());
        assert_eq!(held, 600 + uncounted, "{proof}");
    }
}

#[test]
fn the_shipped_scenario_runs() {
    let text = shipped("users = 4\niterations = 100");
    let project = Project::real().file("mine.toml", &text);
    let finished = project.run(&["-s=mine.toml", "--no-calibrate", "--json", "--rounds=1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    assert_eq!((&target["target"], &target["requests"]), (&"grpc".into(), &100.into()), "{target}");
}

#[test]
fn each_call_is_explained() {
    let project = Project::real().file("mine.toml", &shipped("users = 4"));
    let explained = project.run(&["check", "./mine.toml"]);
    assert_eq!(explained.code, Some(0), "{}", explained.said());
    insta::assert_snapshot!(explained.stdout.trim_end(), @"");
}
