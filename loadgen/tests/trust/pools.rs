//! The lab's connection pools, compared with a connection for each user.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::program::{Project, checkout};

const TARGETS: [&str; 3] = ["sanic", "quart", "fastapi"];
const USERS: u32 = 100;

/// Maximum ratio of p99 with ten connections, for which 100 users queue in turn, to p99 with a
/// connection for each user. With a queue that lets newcomers overtake, Sanic's ratio is six.
const MOST: f64 = 2.0;

#[test]
#[ignore = "make trust: four minutes, and on a busy machine it says little"]
fn a_target_is_no_slower_with_the_labs_pools_than_with_a_connection_for_each_user() {
    let project = with_both_pools();
    let users = format!("--users={USERS}");
    let targets = TARGETS.map(|name| format!("{name},{name}-each")).join(",");
    let targets = format!("--target={targets}");
    let arguments: [&str; 6] =
        ["--scenario=redis3", &targets, &users, "--rounds=5", "--duration=4s", "--format=json"];
    let finished = project.run(&arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let p99 = |name: &str| {
        let targets = document["targets"].as_array().unwrap();
        let target = targets.iter().find(|target| target["name"] == *name).unwrap();
        target["total"]["latency_us"]["p99"].as_f64().unwrap() / 1e3
    };
    let mut slower = Vec::new();
    for target in TARGETS {
        let (pool, each) = (p99(target), p99(&format!("{target}-each")));
        println!("{target:8} p99 {pool:7.1} ms, with {USERS} connections {each:7.1}");
        if pool > MOST * each {
            slower.push(format!("{target}: {pool:.1} ms, not {each:.1}"));
        }
    }
    assert!(slower.is_empty(), "{slower:#?}");
}

/// Creates a project with each target as it is, and again with as many pooled connections as users.
fn with_both_pools() -> Project {
    let real = checkout().join("targets");
    let manifest = fs::read_to_string(real.join("targets.toml")).unwrap();
    let entry = |name: &str| {
        let (_, after) = manifest.split_once(&format!("\n[{name}]\n")).unwrap();
        after.split("\n[").next().unwrap().to_owned()
    };
    let both = TARGETS.map(|name| {
        let entry = entry(name);
        let size = format!("env = {{ POOL_SIZE = \"{USERS}\" }}");
        format!("[{name}]\n{entry}\n[{name}-each]\n{entry}\n{size}\n")
    });
    let project = Project::with_targets(&both.concat());
    for file in fs::read_dir(&real).unwrap().flatten() {
        let inside = project.path("targets").join(file.file_name());
        if !inside.exists() {
            symlink(file.path(), inside).unwrap();
        }
    }
    project
}
