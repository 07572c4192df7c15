//! The quick form of an experiment: arms that share one start, and claims that the machine cannot bear.

use std::fs;

use serde_json::{Value, json};

use crate::common::program::{Finished, Project};

const SCENARIO: &str = "[[step]]\nname = \"hello\"\nget = \"/\"\n";

/// Returns an experiment with two arms of different loads and targets, and these claims.
fn experiment(quick_time: &str, claims: &str) -> String {
    format!(
        "quick_time = \"{quick_time}\"\n\
         [[group]]\nname = \"mine\"\nscenario = \"hello.toml\"\nwarmup = \"50ms\"\n\
         quick = {{ one_start = true }}\n\
         [[group.arm]]\nname = \"few\"\ntarget = \"fastapi\"\nload = {{ users = 2, iterations = 60 }}\n\
         [[group.arm]]\nname = \"many\"\ntarget = \"sanic\"\nload = {{ users = 4, iterations = 80 }}\n\
         [[group.arm]]\nname = \"spare\"\ntarget = \"fastapi\"\nload = {{ users = 2, iterations = 60 }}\n\
         [[group]]\nname = \"rates\"\nscenario = \"hello.toml\"\ncapacity = {{}}\nquick = false\n\
         [[group.arm]]\ntarget = \"flask\"\n{claims}"
    )
}

const CLEAR: &str = "[[claim]]\nmetric = \"error_rate\"\narm = \"few\"\nis = \"<= 50%\"\n";

/// No interval is that narrow.
const OPEN: &str =
    "[[claim]]\nmetric = \"mean\"\nratio = [\"few\", \"spare\"]\nbetween = [0.999, 1.001]\n";

fn measured(file: &str) -> (Project, Finished, Value) {
    let project = Project::real().file("hello.toml", SCENARIO).file("mine.toml", file);
    let arguments = ["experiment", "mine.toml", "--quick", "--no-calibrate", "--out=result"];
    let finished = project.run(&arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.said());
    let saved = fs::read_to_string(project.path("result/experiment.json")).unwrap();
    let record = serde_json::from_str(&saved).unwrap();
    (project, finished, record)
}

/// Returns the number of rounds of each arm, and checks that all of them share one start.
#[track_caller]
fn rounds_of_one_start(project: &Project, record: &Value) -> Vec<usize> {
    let mut all = Vec::new();
    for run in record["groups"][0]["runs"].as_array().unwrap() {
        assert_eq!(run["load"]["one_start"], json!(true));
        let test = &run["comparison"]["test"];
        assert!(test.is_null() || *test == json!("one_start"), "{test}");
        for target in run["targets"].as_array().unwrap() {
            let rounds = target["rounds"].as_array().unwrap();
            assert_eq!(run["load"]["rounds"].as_u64(), Some(rounds.len() as u64));
            all.push(rounds.len());
            let name = target["name"].as_str().unwrap();
            let logs = fs::read_dir(project.path("result")).unwrap();
            let logs = logs.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
            let of_arm = |log: &String| log.starts_with(&format!("mine-{name}-"));
            assert_eq!(logs.filter(of_arm).count(), 1, "{name} was started once");
        }
    }
    all
}

#[test]
fn arms_share_a_start_and_clear_claims_end_the_rounds() {
    let (project, finished, record) = measured(&experiment("10m", CLEAR));
    assert_eq!(rounds_of_one_start(&project, &record), [5, 5, 5], "{}", finished.said());
    let claim = &record["claims"][0];
    assert_eq!(claim["finding"], json!("held"), "{claim}");
    let changed = record["groups"][0]["changed"].as_array().unwrap();
    assert!(changed.contains(&json!("one start of all arms instead of one for each round")));
    assert_eq!(record["groups"][1]["capacity"], Value::Null, "the quick form leaves it out");
    assert!(finished.stdout.contains("not in the quick form"), "{}", finished.stdout);
}

#[test]
fn open_claims_get_the_time_that_is_left() {
    let (project, finished, record) = measured(&experiment("1ms", OPEN));
    assert_eq!(rounds_of_one_start(&project, &record), [5, 5, 5], "{}", finished.said());
    let (project, finished, record) = measured(&experiment("1h", OPEN));
    assert!(finished.stderr.contains("open after 5 rounds: 3 more rounds"), "{}", finished.said());
    let rounds = rounds_of_one_start(&project, &record);
    // All of them unless the noise of the machine settles the claim, which no true difference does.
    assert!(rounds[0] >= 8 && rounds == [rounds[0]; 3], "{rounds:?}: {}", finished.said());
    let interval = &record["claims"][0]["evidence"][0]["confidence_95"];
    let [low, high] = [0, 1].map(|end| interval[end].as_f64().unwrap());
    assert!((high / low).ln() / 2.0 > 0.055, "what another start would bring: {interval}");
}

#[test]
fn a_claim_that_the_quick_form_would_misjudge_is_left_to_the_full_form() {
    let full_only = OPEN.to_owned() + "full_only = \"errors come late\"\n";
    let (_, finished, record) = measured(&experiment("10m", &(CLEAR.to_owned() + &full_only)));
    let [judged, left] = [0, 1].map(|claim| &record["claims"][claim]);
    assert_eq!(judged["finding"], json!("held"), "{judged}");
    assert_eq!(left["finding"], json!("could_not_be_shown"), "{left}");
    assert_eq!(left["why"], json!("not comparable in the quick form: errors come late"));
    let said = "1 of 2 claims cannot be judged: not comparable in the quick form: errors come late";
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
    let rounds = record["groups"][0]["runs"][0]["targets"][0]["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 5, "the open claim gets no more");
}

#[test]
fn a_claim_that_needs_more_cpus_is_not_measured_and_said_before() {
    let needs = "[[claim]]\nsays = \"many cores help\"\nmetric = \"rate\"\n\
                 order = [\"spare\", \"few\"]\nneeds_cpus = 4096\n";
    let (_, finished, record) = measured(&experiment("1ms", &(CLEAR.to_owned() + needs)));
    let why = record["claims"][1]["why"].as_str().unwrap();
    assert!(
        why.starts_with("not comparable here: needs 4,096 CPUs for the targets, which have"),
        "{why}"
    );
    let said = format!("1 of 2 claims cannot be judged: {why}");
    let (before, _) = finished.stderr.split_once("[1/").unwrap();
    assert!(before.contains(&said), "{}", finished.stderr);
    let arms = record["groups"][0]["arms"].as_array().unwrap();
    assert_eq!(arms[2]["left_out"], json!(why), "only that claim is about it");
    assert_eq!(arms[0]["left_out"], Value::Null, "another claim is about it, too");
    let measured: Vec<&Value> = record["groups"][0]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|run| run["targets"].as_array().unwrap())
        .map(|target| &target["name"])
        .collect();
    assert_eq!(measured, [&json!("few"), &json!("many")]);
}
