//! `loadgen k8s experiment`: what it refuses and what it would do. The cluster itself is in the tests of `kubernetes`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::program::{Finished, Project};

const TARGETS: &str = r#"
[target.shop]
image = "registry/shop:1"
[target.local]
command = ["serve", "--port={port}"]
[target.stored]
image = "registry/stored:1"
env = { DATABASE_URL = "{postgres}" }
"#;

const EXPERIMENT: &str = r#"
title = "Sizes"

[[group]]
name = "sizes"
scenario = "a.toml"
rounds = 5
load = { users = 2, duration = "1s" }

[[group.arm]]
name = "small"
target = "shop"
cpus = 0.5

[[group.arm]]
name = "huge"
target = "shop"
replicas = 16
needs_cpus = 16

[[group.arm]]
name = "here"
target = "local"

[[group.arm]]
name = "rows"
target = "stored"

[[group]]
name = "highest"
scenario = "a.toml"
capacity = {}

[[group.arm]]
name = "one"
target = "shop"

[[claim]]
group = "sizes"
metric = "rate"
order = ["huge", "small"]

[[claim]]
group = "sizes"
metric = "error_rate"
arm = "small"
is = "< 1%"
"#;

/// `kubectl` of a cluster with one node of 3.5 CPUs, or of one that does not tell its nodes.
const KUBECTL: &str = r#"#!/bin/sh
case "$*" in *"get nodes"*"pool=app"*) ;; *"get nodes"*) exec cat nodes.json ;; *) echo "unexpected: $*" >&2; exit 1 ;; esac
echo 'Error from server (Forbidden): nodes is forbidden: User "me" cannot list resource "nodes"' >&2
exit 1
"#;

const NODES: &str = r#"{"items": [{"spec": {}, "status": {
    "allocatable": {"cpu": "3500m"}, "conditions": [{"type": "Ready", "status": "True"}]
}}]}"#;

fn project() -> Project {
    let project = Project::bare()
        .file("loadgen.toml", TARGETS)
        .file("a.toml", "[[step]]\nget = \"/\"\n")
        .file("mine.toml", EXPERIMENT)
        .file("nodes.json", NODES)
        .file("kubectl", KUBECTL);
    fs::set_permissions(project.path("kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    project
}

fn run(project: &Project, words: &[&str]) -> Finished {
    let fixed = ["k8s", "experiment", "mine.toml", "--image=loadgen:1"];
    let mut command = project.command(&[&fixed[..], words].concat());
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", project.path("").display()));
    Finished::of(command.output().unwrap(), &project.path(""))
}

/// Returns a text in one line.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn a_check_says_what_the_cluster_would_measure() {
    let project = project();
    let checked = run(&project, &["--check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    for line in [
        "  measures    sizes: 5 rounds over each of 2 arms: small, rows\n",
        "  measures    highest: nothing\n",
        "  left out    huge (sizes): not comparable here: needs 16 CPUs for the targets, which have 3\n",
        "  left out    local: has no image: --target-image local=IMAGE\n",
        "  left out    one (highest): searches for capacities",
        "  not judged  by rate, best first: huge, small (sizes): not comparable here",
    ] {
        assert!(checked.stdout.contains(line), "{line}: {}", checked.stdout);
    }
    assert!(!project.path("runs").exists(), "nothing was begun");
    // An image on the command line is as good as one in the file.
    let checked = run(&project, &["--check", "--target-image=local=registry/local:1"]);
    let line = "sizes: 5 rounds over each of 3 arms: small, here, rows\n";
    assert!(checked.stdout.contains(line), "{}", checked.stdout);
}

#[test]
fn without_a_right_on_nodes_all_arms_are_measured_and_a_note_says_so() {
    let checked = run(&project(), &["--check", "--target-node-selector=pool=app"]);
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    assert!(checked.stdout.contains("3 arms: small, huge, rows\n"), "{}", checked.stdout);
    assert!(words(&checked.stderr).contains("does not tell you the CPUs"), "{}", checked.stderr);
}

#[test]
fn what_no_experiment_in_a_cluster_has_is_refused() {
    let project = project();
    for (given, said) in [
        (&["--url=shop=http://shop"][..], "--url has no effect on"),
        (&["--no-calibrate"], "--no-calibrate has no effect on"),
        (&["--web"], "--web has no effect on"),
        (&["--quick"], "--quick chooses the quick form, but the experiment has none"),
        (&["--runtime=podman"], "run in pods of the cluster"),
        (&["--backend-image=redis=r:1"], "no target asks for redis"),
        (
            &["--target-image=registry/python:1"],
            "none of the lab's targets in Python is measured here",
        ),
        (&["--target-image=other=registry/other:1"], "other is not measured here"),
        (&["--target-image=shop="], "expected IMAGE or NAME=IMAGE"),
        (&["--target-image=shop=a,shop=b"], "second image of the same"),
        (&["--target-toleration=a:b"], "expected KEY[=VALUE][:EFFECT]"),
        (
            &["--name=a-name-of-forty-nine-letters-which-leaves-no-room"],
            "with the number of a group",
        ),
    ] {
        let finished = run(&project, given);
        assert_eq!(finished.code, Some(2), "{given:?}: {}", finished.said());
        assert!(words(&finished.stderr).contains(said), "{said}: {}", finished.stderr);
    }
    let finished = project.run(&["experiment", "mine.toml", "--runtime=kubernetes"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("loadgen k8s experiment NAME"), "{}", finished.stderr);
}

#[test]
fn an_experiment_of_which_the_cluster_can_run_nothing_fails_before_it_begins() {
    let only = "title = \"One\"\n[[group]]\nname = \"one\"\nscenario = \"a.toml\"\n\
                [[group.arm]]\nname = \"a\"\ntarget = \"local\"\n";
    let project = project().file("mine.toml", only);
    let finished = run(&project, &[]);
    assert_eq!(finished.code, Some(4), "{}", finished.said());
    let said = "the cluster can run no target of the experiment: a: has no image: --target-image local=IMAGE";
    assert!(words(&finished.stderr).contains(said), "{}", finished.stderr);
    assert!(!project.path("runs").exists(), "nothing was begun");
}
