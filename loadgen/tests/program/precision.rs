//! `--precision`: a run decides how many rounds it needs.

use serde_json::Value;

use crate::common::Counting;
use crate::common::program::{Finished, Project};

async fn run(path: &str, arguments: &[&str]) -> Finished {
    let (one, other) = (Counting::start().await, Counting::start().await);
    let scenario = format!("[load]\nusers = 2\n[[step]]\nget = \"{path}\"\n");
    let project = Project::real().file("mine.toml", &scenario);
    let url = format!("--url=a={},b={}", one.url, other.url);
    let fixed = ["-s=mine.toml", "--duration=200ms", "--warmup=0s", "--format=json", &url];
    tokio::task::block_in_place(|| project.run(&[&fixed, arguments].concat()))
}

fn rounds(document: &Value) -> usize {
    document["targets"][0]["rounds"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_precision_that_the_first_stage_reaches_needs_no_more() {
    let finished = run("/slow/5", &["--precision=50%", "--rounds=5"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!((rounds(&document), &document["load"]["rounds"]), (5, &5.into()));
    assert_eq!(document["comparison"]["stages"], serde_json::json!([5]));
    let precision = &document["precision"];
    assert!(precision["reached_percent"].as_f64().unwrap() <= 50.0, "{precision}");
    assert!(precision["took_s"].as_f64().unwrap() >= 2.0, "{precision}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_follow_until_the_greatest_number() {
    // So many answers that their number differs from round to round: equal numbers would be as precise as wanted.
    let finished = run("/", &["--precision=0.1", "--rounds=5", "--rounds-max=8"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!((rounds(&document), &document["load"]["rounds"]), (8, &8.into()));
    assert_eq!(document["comparison"]["stages"], serde_json::json!([5, 8]));
    let pair = &document["comparison"]["pairs"][0];
    assert_eq!((&pair["rounds"], &pair["freedom"]), (&8.into(), &4.0.into()), "of the first stage");
    assert!(document["precision"]["rounds_needed"].as_u64().unwrap() > 8);
    let told = "3 more rounds for ±0.1 % (";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    // The numbers of rounds go on.
    let numbers: Vec<u64> = document["targets"][1]["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["round"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stage_begins_that_the_time_does_not_allow() {
    let finished = run("/slow/5", &["--precision=0.1", "--rounds=5", "--time-max=1s"]).await;
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert_eq!(rounds(&finished.json()), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_has_the_precision_of_its_rate() {
    let server = Counting::start().await;
    let project =
        Project::real().file("mine.toml", "[load]\nusers = 2\n[[step]]\nget = \"/slow/5\"\n");
    let url = format!("--url={}", server.url);
    let arguments = ["-s=mine.toml", "--duration=200ms", "--warmup=0s", &url];
    let finished = tokio::task::block_in_place(|| {
        project.run(&[&arguments[..], &["--precision=50", "--rounds=5", "--out=run"]].concat())
    });
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    assert!(finished.stdout.contains("the rate is known within ±50 %"), "{}", finished.stdout);
}

#[test]
fn a_first_stage_needs_five_rounds() {
    let project = Project::real();
    for (arguments, why) in [
        (&["--precision=3", "--rounds=4"][..], "at least 5 rounds in its first stage"),
        (&["--precision=3", "--rounds=20", "--rounds-max=10"], "is more than --rounds-max 10"),
        (&["--precision=0"], "from 0.1 to 50"),
        (&["--rounds-max=10"], "--precision"),
    ] {
        let finished = project.run(&[&["-s=direct"], arguments].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.contains(why), "{}", finished.stderr);
    }
}
