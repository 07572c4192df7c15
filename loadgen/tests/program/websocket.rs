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
    assert_eq!(target["counters"]["echoed"], 400, "{echo}");
    for round in target["rounds"].as_array().unwrap() {
        assert_eq!(round["connections"]["opened"], 4);
    }
    assert_eq!(document["verdicts"].to_string().matches("more_connections").count(), 0);
}

#[test]
fn each_step_is_explained() {
    let project = Project::real().file("mine.toml", &scenario("users = 4"));
    let explained = project.run(&["check", "./mine.toml"]);
    assert_eq!(explained.code, Some(0), "{}", explained.said());
    insta::assert_snapshot!(explained.stdout.trim_end(), @r#"
    mine: ok
      Text messages that a WebSocket sends back
      targets     sanic
      load        closed model, 4 users, for 10s
      transport   http1
      start       open: WEBSOCKET /ws, expects 101 within 30s
      step        echo: SEND, expects a message with a string at "/id", a number at "/user" within 30s, counts echoed
                    {"id":"{{ uuid }}","user":{{ user }},"sent":1}
      stop        close: CLOSE, expects the server's close frame within 30s
    "#);
}
