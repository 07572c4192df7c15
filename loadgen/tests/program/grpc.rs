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

/// The lab's target streams in each direction, and in both.
#[test]
fn streams_of_messages_are_measured() {
    let text = format!(
        r#"
        load = {{ users = 4, iterations = 50 }}
        grpc = {{ proto = "{}" }}

        [[step]]
        name = "again"
        grpc = "loadgen.Greeter/HelloAgain"
        body = {{ json = {{ name = "{{{{ name }}}}", times = 20 }} }}
        expect = {{ stream = {{ events = 20 }}, json_size = {{ "" = 20 }} }}

        [[step]]
        name = "all"
        grpc = "loadgen.Greeter/HelloAll"
        body = {{ json = [{{ name = "Ada" }}, {{ name = "u{{{{ user }}}}" }}] }}
        expect = {{ regex = 'Hello Ada, u\d' }}

        [[step]]
        name = "each"
        grpc = "loadgen.Greeter/HelloEach"
        body = {{ repeat = 10, json = {{ name = "Ada" }} }}
        expect = {{ stream = {{ events = 10 }}, json = {{ "/9/message" = "Hello Ada" }} }}

        [[step]]
        name = "some"
        grpc = "loadgen.Greeter/HelloAgain"
        body = {{ json = {{ times = 1_000_000 }} }}
        expect = {{ stream = {{ events = 5, close = true }} }}
        "#,
        proto()
    );
    let project = Project::real().file("mine.toml", &text);
    let arguments = ["-s=mine.toml", "-t=grpc", "--rounds=1", "--warmup=0s", "--json"];
    let finished = project.run(&[&arguments[..], &["--no-calibrate"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let steps = document["targets"][0]["steps"].as_array().unwrap();
    for (step, events) in steps.iter().zip([Some(20 * 50), None, Some(10 * 50), Some(5 * 50)]) {
        assert_eq!((&step["requests"], &step["errors"]), (&50.into(), &0.into()), "{step}");
        let stream = &step["stream"];
        let closed = if step["name"] == "some" { 50 } else { 0 };
        match events {
            None => assert!(stream.is_null(), "{step}"),
            Some(events) => {
                assert_eq!(
                    (&stream["events"], &stream["closed"]),
                    (&events.into(), &closed.into())
                );
            }
        }
    }
}

#[test]
fn the_shipped_scenario_runs() {
    let text = shipped("users = 4\niterations = 100");
    let project = Project::real().file("mine.toml", &text);
    let finished = project.run(&["-s=mine.toml", "--no-calibrate", "--json", "--rounds=1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let target = &finished.json()["targets"][0];
    assert_eq!(
        (&target["target"], &target["total"]["requests"]),
        (&"grpc".into(), &100.into()),
        "{target}"
    );
}

/// Without Redis, the target fails the call, and says why.
#[test]
fn a_failed_call_is_shown_with_its_status_and_its_message() {
    let text = format!(
        "[load]\nusers = 2\niterations = 20\n[grpc]\nproto = \"{}\"\n[[step]]\nname = \"get\"\n\
         grpc = \"loadgen.Greeter/Get\"\nverify = false\n",
        proto()
    );
    let project = Project::real().file("mine.toml", &text);
    let finished = project.run(&["-s=mine.toml", "-t=grpc", "--no-calibrate", "--rounds=1"]);
    assert_eq!(finished.code, Some(1), "no call succeeds: {}", finished.said());
    let said = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "100.00 % of requests failed: 20 × status (expected grpc-status OK, got UNKNOWN: \
                    Unexpected <class 'RuntimeError'>: REDIS_URL is not set)";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("set `expect.grpc_status` of the step"), "{said}");
}

#[test]
fn each_call_is_explained() {
    let project = Project::real().file("mine.toml", &shipped("users = 4"));
    let explained = project.run(&["check", "./mine.toml"]);
    assert_eq!(explained.code, Some(0), "{}", explained.said());
    insta::assert_snapshot!(explained.stdout.trim_end(), @r#"
    mine: ok
      Unary gRPC calls with a message of one field
      targets     grpc
      load        closed model, 4 users, for 10s
      transport   http2, for HTTP/2
      step        hello: GRPC loadgen.Greeter/Hello, expects grpc-status OK with a body that matches '"Hello \w+ \w+"' within 30s
                    content-type: application/grpc
                    {"name":"{{ name }}"}
    "#);
}
