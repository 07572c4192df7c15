//! Several numbers of server workers and of users: all
//! combinations are measured, in the same rounds.

use std::collections::BTreeSet;

use crate::common::Counting;
use crate::common::program::Project;
use serde_json::Value;

fn names(values: &Value, key: &str) -> Vec<String> {
    let name = |value: &Value| value[key].as_str().unwrap().to_owned();
    values.as_array().unwrap().iter().map(name).collect()
}

/// Returns the names of what was measured, in order, from the progress lines.
fn order(stderr: &str) -> Vec<&str> {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix('[')?.split_once("] "));
    lines.map(|(_, rest)| rest.rsplit_once(": ").unwrap().0).collect()
}

#[test]
fn every_target_is_measured_with_each_number_of_workers_and_users() {
    let project = Project::real();
    let finished = project.run(&[
        "-s=direct",
        "-t=fastapi,sanic",
        "--server-workers=1,2",
        "--users=2,4",
        "--rounds=1",
        "--warmup=200ms",
        "--duration=1s",
        "--seed=1",
        "--format=json",
        "--out=run",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    let cells = [
        "fastapi ×1, 2 users",
        "fastapi ×1, 4 users",
        "fastapi ×2, 2 users",
        "fastapi ×2, 4 users",
        "sanic ×1, 2 users",
        "sanic ×1, 4 users",
        "sanic ×2, 2 users",
        "sanic ×2, 4 users",
    ];
    assert_eq!(names(&document["targets"], "name"), cells);
    let measured = order(&finished.stderr);
    let all: BTreeSet<&str> = cells.into();
    for round in measured.chunks(8) {
        assert_eq!(round.iter().copied().collect::<BTreeSet<_>>(), all, "all in each round");
        assert_ne!(round, cells, "in an order of its own");
    }
    assert_eq!(measured.len(), 8);
    let third = &document["targets"][2];
    assert_eq!((&third["target"], &third["users"]), (&"fastapi".into(), &2.into()));
    assert_eq!(third["server"]["workers"], 2);
    assert_eq!(third["rounds"].as_array().unwrap().len(), 1);
    let comparison = &document["comparison"];
    let ranked: BTreeSet<String> = names(&comparison["ranking"], "target").into_iter().collect();
    // If other programs use the machine, the generator may have been the limit in a cell.
    let unranked = comparison["unranked"].as_array().unwrap();
    let unranked: BTreeSet<String> =
        unranked.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(&ranked | &unranked, all.iter().map(|name| (*name).to_owned()).collect());
    let both =
        |way: &&str| ["fastapi", "sanic"].iter().all(|t| ranked.contains(&format!("{t} {way}")));
    let ways = ["×1, 2 users", "×1, 4 users", "×2, 2 users", "×2, 4 users"];
    let rivals = ways.iter().filter(|way| both(way)).count();
    assert_eq!(comparison["pairs"].as_array().unwrap().len(), rivals, "two targets in a cell");
    if unranked.is_empty() {
        assert_eq!(comparison["scaling"].as_array().unwrap().len(), 8, "four lines of each target");
    }
    for log in ["fastapi-1w-2u-1", "sanic-2w-4u-1"] {
        assert!(project.path(&format!("run/{log}.log")).is_file(), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_measured_with_each_number_of_users() {
    let server = Counting::start().await;
    // Slow answers, so that the generator is not the limit.
    let scenario = "load = { iterations = 100 }\n[[step]]\nname = \"slow\"\nget = \"/slow/5\"\n";
    let project = Project::real().file("mine.toml", scenario);
    let arguments = ["-s=mine.toml", "--url", &server.url, "--users=1,3", "--warmup=0s"];
    let finished = tokio::task::block_in_place(|| {
        project.run(&[&arguments[..], &["--format=json", "--workers=2"]].concat())
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(server.requests(), 2 * 5 * 101, "five rounds, each with a verification");
    let document = finished.json();
    let users = |target: &Value| -> u64 {
        let workers = target["workers"].as_array().unwrap();
        workers.iter().map(|worker| worker["users"].as_u64().unwrap()).sum()
    };
    let targets = document["targets"].as_array().unwrap();
    assert_eq!(targets.iter().map(users).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(document["comparison"]["pairs"], Value::Array(Vec::new()));
    assert_eq!(document["comparison"]["scaling"][0]["rounds"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn running_servers_are_compared_by_their_names() {
    let (old, new) = (Counting::start().await, Counting::start().await);
    // Slow answers, so that the generator is not the limit.
    let scenario =
        "load = { users = 2, iterations = 100 }\n[[step]]\nname = \"slow\"\nget = \"/slow/5\"\n";
    let project = Project::real().file("mine.toml", scenario);
    let urls = format!("--url=old={},new={}/", old.url, new.url);
    let finished = tokio::task::block_in_place(|| {
        project.run(&["-s=mine.toml", &urls, "--warmup=0s", "--seed=1", "--format=json"])
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(names(&document["targets"], "name"), ["old", "new"]);
    assert_eq!(names(&document["targets"], "url"), [old.url.as_str(), new.url.as_str()]);
    for server in [&old, &new] {
        assert_eq!(server.requests(), 5 * 101, "five rounds, each with a verification");
    }
    let measured = order(&finished.stderr);
    let both: BTreeSet<&str> = ["old", "new"].into();
    assert!(measured.chunks(2).all(|round| round.iter().copied().collect::<BTreeSet<_>>() == both));
    assert!(measured.chunks(2).any(|round| round[0] == "new"), "in an order of its own each");
    let comparison = &document["comparison"];
    assert_eq!(comparison["ranking"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&comparison["pairs"][0]["rounds"], &comparison["test"]),
        (&5.into(), &"paired".into())
    );
}

#[test]
fn numbers_that_form_no_matrix_are_refused() {
    let project = Project::real();
    let said = |arguments: &[&str]| project.run(&[&["-s=direct"], arguments].concat()).said();
    let url = "--url=http://127.0.0.1:1";
    insta::assert_snapshot!(
        [
            said(&["--users=5,10,5"]),
            said(&["--users=5,0"]),
            said(&["--users=5,x"]),
            said(&["--server-workers=1,257"]),
            said(&["--replicas=2,65"]),
            said(&["--replicas=2,2"]),
            said(&["--users=5,10", "--rate=50"]),
            said(&["--server-workers=1,2", url]),
            said(&["--replicas=2", url]),
            said(&["--server-workers=1,2", "--aa", "-t=sanic"]),
        ]
        .join("\n")
    );
}
