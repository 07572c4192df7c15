//! WebSocket steps through the real binary, against a target of the lab.

use std::fs;

use crate::common::program::{Project, checkout};

/// Returns the shipped scenario, with this load.
fn scenario(load: &str) -> String {
    let text = fs::read_to_string(checkout().join("scenarios/websocket.toml")).unwrap();
    let (begin, rest) = text.split_once("users = 50\nduration = \"5s\"").unwrap();
    format!("{begin}{load}{rest}")
}

#[test]
fn the_lab_echoes_as_many_messages_as_are_sent() {
    let project = Project::real().file("mine.toml", &scenario("users = 4\niterations = 200"));
    let finished =
        project.run(&["-s=mine.toml", "-t=sanic", "--rounds=2", "--no-calibrate", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let target = &document["targets"][0];
    let steps = target["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["open", "echo", "close"]);
    let echo = &steps[1];
    assert_eq!((&echo["requests"], &echo["errors"]), (&400.into(), &0.into()), "{echo}");
    // Each echoed message adds one.
    assert_eq!(echo["counters"]["echoed"]["total"], 400, "{echo}");
    for round in target["rounds"].as_array().unwrap() {
        assert_eq!(round["connections"]["opened"], 4);
    }
    assert_eq!(document["verdicts"].to_string().matches("more_connections").count(), 0);
}

#[test]
fn each_step_is_explained_and_tried() {
    let project = Project::real().file("mine.toml", &scenario("users = 4"));
    let explained = project.run(&["check", "./mine.toml"]);
    assert_eq!(explained.code, Some(0), "{}", explained.said());
    insta::assert_snapshot!(explained.stdout, @"");
}
