//! Two targets that are loaded at the same time.

use serde_json::Value;

use crate::common::program::Project;

const SHORT: [&str; 4] = ["--warmup=300ms", "--duration=1s", "--format=json", "--out=run"];

#[test]
fn both_targets_are_loaded_at_once_on_the_same_cpus() {
    let project = Project::real();
    let arguments = ["-s=direct", "-t=sanic", "--aa", "--duet", "--rounds=2", "--seed=2"];
    let finished = project.run(&[&arguments[..], &SHORT[..], &["--users=8"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let rounds: Vec<&str> = finished
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("] "))
        .map(|(_, rest)| rest.split(':').next().unwrap())
        .collect();
    let [mut first, mut second] = ["sanic beside sanic (again)", "sanic (again) beside sanic"];
    if rounds[0] == second {
        (first, second) = (second, first);
    }
    assert_eq!(
        rounds,
        [first, second],
        "the one that starts first alternates: {}",
        finished.stderr
    );
    let document = finished.json();
    let [one, other] = [0, 1].map(|at| &document["targets"][at]["rounds"]);
    for round in 0..2 {
        let [one, other] = [&one[round], &other[round]];
        assert_eq!((&one["round"], &one["whole"]), (&other["round"], &Value::Bool(true)));
        assert_ne!(one["partner"]["is_first"], other["partner"]["is_first"]);
        assert_eq!(one["partner"]["name"], "sanic (again)");
        let cpu_s = |of: &Value, service: &str| of["resources"][service]["cpu_s"].as_f64().unwrap();
        assert!(cpu_s(one, "target") > 0.05 && cpu_s(other, "target") > 0.05, "{one}");
        assert_eq!(cpu_s(one, "target"), cpu_s(other, "duet partner"));
        assert_eq!(cpu_s(one, "generator"), cpu_s(other, "generator"));
        // loadgen's CPU time is for the requests of both.
        let each = |of: &Value| of["resources"]["generator"]["cpu_us_per_request"].clone();
        assert_eq!(each(one), each(other));
        assert_eq!([one, other].map(|it| it["total"]["errors"].as_u64()), [Some(0); 2]);
    }
    assert_eq!(document["duet"]["base"], "sanic");
    assert_eq!(document["duet"]["pairs"][0]["rounds"], 2);
    assert_eq!(document["load"]["duet"], true);
    for log in ["sanic-1", "sanic-2", "sanic-again-1", "sanic-again-2"] {
        assert!(project.path(&format!("run/{log}.log")).is_file(), "{log}");
    }
    let page = std::fs::read_to_string(project.path("run/report.html")).unwrap();
    assert!(page.contains("no figure here is that of a server alone"));
}

#[test]
fn proofs_and_thresholds_are_not_judged_and_the_user_is_told() {
    let project = Project::real().file(
        "mine.toml",
        "backends = [\"redis\"]\n\
         [load]\nusers = 4\nduration = \"500ms\"\n\
         [[step]]\nget = \"/\"\n\
         [[proof]]\nredis = \"DBSIZE\"\nvalue = 0\n\
         [thresholds]\np99 = \"< 1us\"\n",
    );
    let finished = project.run(&[
        "-s=mine.toml",
        "-t=sanic,fastapi",
        "--duet",
        "--rounds=1",
        "--warmup=0s",
        "--format=json",
        "--out=run",
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let document = finished.json();
    assert_eq!(document["thresholds"], serde_json::json!([]));
    assert_eq!(document["targets"][0]["proofs"], serde_json::json!([]));
    for told in ["proofs are skipped: in a duet", "thresholds are not judged: in a duet"] {
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
}

#[test]
fn what_cannot_be_a_duet_is_refused() {
    let stages = "[load]\nstages = [{ users = 5, over = \"1s\" }]\n[[step]]\nget = \"/\"\n";
    let once = "rows.ids = { file = \"ids.csv\", use = \"once\" }\n[load]\nduration = \"1s\"\n\
                [[step]]\nget = \"/?id={{ ids.id }}\"\n";
    let project = Project::real()
        .file("stages.toml", stages)
        .file("once.toml", once)
        .file("ids.csv", "id\n1\n2\n");
    let two = "-t=sanic,fastapi";
    for (arguments, why) in [
        (&["-s=direct", "-t=sanic"][..], "--duet compares at least two targets"),
        (&["-s=direct", two, "--users=5,6"], "--duet takes only one number of users"),
        (&["-s=direct", two, "--server-workers=1,2"], "--duet takes only one number of users"),
        (&["-s=direct", two, "--runtime=podman"], "--duet runs its targets as processes"),
        (&["-s=stages.toml", two], "--duet needs a load that ends after a duration"),
        (&["-s=once.toml", two], "--duet would send each row of a file"),
        (&["-s=direct", two, "--workers=2"], "cannot be used with"),
        (&["-s=direct", "--url=http://127.0.0.1:1"], "cannot be used with"),
        (&["-s=direct", two, "--fail-fast"], "cannot be used with"),
        (&["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"], "a server at a URL runs already"),
    ] {
        let finished = project.run(&[arguments, &["--duet"]].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.said());
        assert!(finished.stderr.replace("\n  │ ", " ").contains(why), "{}", finished.stderr);
    }
}
